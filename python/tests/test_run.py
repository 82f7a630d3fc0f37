"""The module says what the command line says."""

import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings
from importlib import metadata

import pytest
import systole_tpu
from conftest import PADDED, RECOMPILE, SAMPLES, command, samples


def test_values_match_the_command_line(run, said):
    assert run.verdict.statement == said["verdict"]["report"]["statement"]
    assert str(run.verdict) == run.verdict.statement
    hints = said["hints"]["report"]["hints"]
    assert [hint.id for hint in run.hints] == [hint["id"] for hint in hints] != []
    assert [hint.saving_ps for hint in run.hints] == [hint["saving_ps"] for hint in hints]
    assert run.hints[0].evidence[0].unit == hints[0]["evidence"][0]["unit"]
    steps = said["steps"]["report"]["steps"]
    assert [step.time_ps for step in run.steps] == [step["time_ps"] for step in steps] != []
    assert run.utilization["mfu_window_percent"].unit == "percent"


@pytest.mark.parametrize("path", samples(), ids=lambda path: path.name)
def test_tables_of_every_sample_match_the_command_line(path):
    run = systole_tpu.open(path, progress=False)
    listed = json.loads(command("query", path, "--list", "--format", "json"))
    assert run.tables == [table["name"] for table in listed["tables"]]
    for table in listed["tables"]:
        ours = run.table(table["name"])
        assert len(ours) == table["rows"], table["name"]
        assert [column.name for column in ours.columns] == [column["name"] for column in table["columns"]]
    for name in ["steps", "tracks"]:
        lines = command("query", path, f"SELECT * FROM {name}", "--format", "ndjson", "--limit", "0").splitlines()
        rows = [json.loads(line) for line in lines]
        assert run.table(name).to_pylist() == rows == list(run.table(name)) != []


def test_files_of_records_are_read():
    records = SAMPLES.parents[1] / "importers" / "tests" / "fixtures" / "host.xplane.riegeli"
    assert systole_tpu.open(records).slice_count > 0


def test_annotations_of_a_server_can_be_told():
    path = SAMPLES / "synthetic_v5e_serving.xplane.pb"
    served = systole_tpu.open(path, serving={"batch": "decode*"}, wait=1, no_cache=True).report("serving")
    assert {one["name"]: one["read_as"] for one in served["annotations"]}["decode"] == "batch"


def test_programs_of_a_dump_are_attached(tmp_path):
    with pytest.raises(systole_tpu.PathError, match="no program there"):
        systole_tpu.open(RECOMPILE, hlo=[tmp_path])


def test_scope_changes_reports_and_slices_but_not_the_trace(run):
    part = run.scope(steps="1..2")
    with_words = json.loads(command("analyze", RECOMPILE, "--only", "ops", "--steps", "1..2", "--format", "json"))
    assert part.report("ops") == with_words["reports"]["ops"]["report"] != run.report("ops")
    assert part.slice_count == run.slice_count
    assert set(part.slices(["step"])["step"]) == {1, 2}
    assert run.scope(steps=1).report("ops") == run.scope(steps="1..1").report("ops")


def test_slices_can_be_filtered_and_columns_chosen(run):
    some = run.slices(["name", "dur_ps"], where="category = 'Collective' AND step = 2")
    assert [column.name for column in some.columns] == ["name", "dur_ps"]
    expected = run.query("SELECT name, dur_ps FROM slices WHERE category = 'Collective' AND step = 2")
    assert some.to_pylist() == expected and len(some) > 3
    assert len(run.slices()) == run.slice_count and "args" not in [column.name for column in run.slices().columns]
    assert some["dur_ps"] == [row["dur_ps"] for row in expected]
    slice_id = run.query("SELECT slice_id FROM slices WHERE args IS NOT NULL LIMIT 1")[0]["slice_id"]
    assert run.args(slice_id)


def test_comparisons_and_predictions_match_the_command_line(run):
    other = systole_tpu.open(PADDED, progress=False)
    comparison = run.compare(other, force=True)
    said = json.loads(command("compare", RECOMPILE, PADDED, "--force", "--format", "json", "--top", "0"))
    assert comparison.report == said
    assert comparison.statement in repr(comparison)
    assert comparison.brief["work"] and comparison.brief == said["brief"]
    assert len(comparison.tables["why"]) > 1
    prediction = run.what_if(ici=2, op={"fusion.*": 0.5})
    said = json.loads(command("whatif", RECOMPILE, "--ici", "2", "--op", "fusion.*", "0.5", "--format", "json"))
    assert prediction.report["reports"] == said["reports"]


def test_errors_are_exceptions_with_command_line_messages(run, tmp_path):
    missing = tmp_path / "missing.xplane.pb"
    with pytest.raises(systole_tpu.PathError) as error:
        systole_tpu.open(missing)
    assert str(error.value) in command("analyze", missing, code=3)
    damaged = tmp_path / "damaged.xplane.pb"
    damaged.write_bytes(b"\x00nothing that is known" * 50)
    with pytest.raises(systole_tpu.FormatError) as error:
        systole_tpu.open(damaged)
    assert str(error.value) in command("analyze", damaged, code=4)
    assert isinstance(error.value, systole_tpu.Error) and error.value.code == 4
    damaged.write_bytes(b"")
    with pytest.raises(systole_tpu.FormatError, match="the argument wait waits until it is complete"):
        systole_tpu.open(damaged)
    for options, message in [
        ({"clock": "fast"}, 'clock "fast": write a clock'),
        ({"device_spec": "v99"}, "device_spec: v99: no file, and known chips are"),
        ({"device": 99}, "device: 99 is not there"),
        ({"serving": {"lunch": "a*"}}, "one of the phases"),
    ]:
        with pytest.raises(systole_tpu.UsageError, match=message):
            systole_tpu.open(RECOMPILE, **options)
    with pytest.raises(systole_tpu.UsageError, match="alpha: write a probability"):
        run.compare(run, alpha=7)
    with pytest.raises(systole_tpu._systole.CommandFailed, match='open has no argument "colour"; it has clock, '):
        systole_tpu._systole.open(str(RECOMPILE), {"colour": 1})
    with pytest.raises(systole_tpu.UsageError, match="steps: the trace has steps 0 to"):
        run.scope(steps="900..901")
    with pytest.raises(ValueError, match="no such column: nme"):
        run.query("SELECT nme FROM slices")
    with pytest.raises(systole_tpu.UsageError, match='there is no table "opps"'):
        run.table("opps")
    with pytest.raises(systole_tpu.UsageError, match='no column "nme"; it has slice_id'):
        run.slices(["nme"])
    with pytest.raises(systole_tpu.UsageError, match="at least one change, for instance another ICI"):
        run.what_if()
    with pytest.raises(systole_tpu.UsageError, match="what_if: .*float"):
        run.what_if(ici=float("nan"))
    for wrong in (lambda: run.table("ops").head(-1), lambda: run.table("ops").select(None, -3), lambda: run.query("SELECT 1", limit=-1)):
        with pytest.raises(systole_tpu.UsageError):
            wrong()
    with pytest.raises(systole_tpu.UsageError, match="constants: ops has a column \"name\""):
        run.table("ops").write("never.parquet", constants={"name": "z"})
    assert list(run.table("ops").select("name").head(1).to_pylist()[0]) == ["name"]
    assert [column.name for column in run.slices("name").columns] == ["name"]
    with pytest.raises(systole_tpu.UsageError, match="no communication between slices"):
        run.report("dcn")


def test_arguments_of_a_file_that_is_gone_are_an_error_or_a_warning(tmp_path):
    path = tmp_path / "w0.xplane.pb"
    path.write_bytes(PADDED.read_bytes())
    run, again = systole_tpu.open(path), systole_tpu.open(PADDED)
    number = next(row["slice_id"] for row in again.slices(["slice_id", "args"]) if row["args"])
    path.unlink()
    with pytest.raises(systole_tpu.PathError, match="w0.xplane.pb"):
        run.args(number)
    with pytest.warns(RuntimeWarning, match="arguments of slices are missing"):
        assert run.table("slices").select(["args"])["args"][number] is None
    with pytest.warns(RuntimeWarning, match="arguments of slices are missing"):
        run.table("slices").write(tmp_path / "slices.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert again.args(number) and again.table("slices")["args"][number]


def test_a_table_is_not_written_over_what_others_wrote(tmp_path):
    path, notes = tmp_path / "w0.xplane.pb", tmp_path / "notes.csv"
    path.write_bytes(PADDED.read_bytes())
    notes.write_text("mine\n")
    table = systole_tpu.open(path).table("ops")
    for file, options in ((path, {}), (path, {"force": True}), (notes, {})):
        before = file.read_bytes()
        with pytest.raises(systole_tpu.UsageError, match="input of this command" if options else "force=True|input of this command"):
            table.write(file, format="csv", **options)
        assert file.read_bytes() == before
    table.write(notes, format="csv", force=True)
    table.write(notes, format="csv")
    assert notes.read_text().startswith("name,")


def test_other_threads_run_while_a_trace_is_opened():
    ticks, stop = [], threading.Event()

    def count():
        while not stop.is_set():
            ticks.append(None)
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = len(ticks)
        run = systole_tpu.open(RECOMPILE)
        run.query("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 300000) SELECT count(*) FROM n")
        assert len(ticks) > before
    finally:
        stop.set()
        thread.join()


def test_query_can_be_interrupted_and_limited(run):
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(systole_tpu.UsageError, match="stopped after 0.2 s"):
        run.query(endless, seconds=0.2)
    main = threading.main_thread().ident
    threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run.query(endless)
    assert run.query("SELECT 1 AS one") == [{"one": 1}]


def test_bytes_and_open_files_are_opened_like_paths(run):
    content = RECOMPILE.read_bytes()
    opened = [systole_tpu.open(content), systole_tpu.open(memoryview(content)), systole_tpu.open(io.BytesIO(content))]
    with RECOMPILE.open("rb") as file:
        opened.append(systole_tpu.open(file))
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        opened.append(systole_tpu.open(file))
    slice_id = run.query("SELECT slice_id FROM slices WHERE args IS NOT NULL AND step = 2 LIMIT 1")[0]["slice_id"]
    for other in opened:
        assert other.verdict == run.verdict and other.slice_count == run.slice_count
        # The copy is there as long as any part of the run.
        part = other.scope(steps=2)
        gc.collect()
        assert part.args(slice_id) == run.args(slice_id)
    assert os.path.basename(opened[3].path) == RECOMPILE.name
    folder = os.path.dirname(opened[0].path)
    part = opened[0].scope(steps=2)
    del opened, other
    gc.collect()
    assert part.args(slice_id) == run.args(slice_id)
    del part
    gc.collect()
    assert not os.path.exists(folder)
    with pytest.raises(systole_tpu.FormatError):
        systole_tpu.open(b"no profile")
    with pytest.raises(TypeError, match="mode"):
        systole_tpu.open(io.StringIO("text"))


def test_parts_are_slices_of_python(run):
    for steps in (slice(1, 3), range(1, 3)):
        assert run.scope(steps=steps).report("steps") == run.scope(steps="1..2").report("steps")
    assert run.scope(steps=slice(None, 2)).report("steps") == run.scope(steps="..1").report("steps")
    assert run.scope(steps=slice(2, None)).report("steps") == run.scope(steps="2..").report("steps")
    half = slice(0, 40_000_000_000)
    assert len(run.scope(range=half).slices()) == len(run.scope(range="0..40ms").slices()) > 0
    assert len(run.scope(range=slice(None)).slices()) == run.slice_count
    for wrong in ({"steps": slice(1, 9, 2)}, {"steps": slice(-2, None)}, {"steps": slice(3, 3)}, {"range": slice(9, 5)}):
        with pytest.raises(systole_tpu.UsageError):
            run.scope(**wrong)


def test_a_run_is_compared_with_a_path(run):
    by_path = run.compare(PADDED)
    assert by_path.statement == run.compare(systole_tpu.open(PADDED)).statement
    assert run.compare(str(PADDED), force=True).statement
    with pytest.raises(systole_tpu.PathError):
        run.compare("/no/such")
    assert len(run.table("ops").head(3)) == 3 and len(run.table("runs").head()) == 1


def test_a_trace_has_no_calls_of_python(monkeypatch, tmp_path):
    class ProfileOptions:
        python_tracer_level = 1

    started = []
    profiler = types.ModuleType("jax.profiler")
    profiler.ProfileOptions = ProfileOptions
    profiler.start_trace = lambda logdir, **options: started.append(options)
    profiler.stop_trace = lambda: None
    jax = types.ModuleType("jax")
    jax.profiler, jax.devices = profiler, list
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.profiler", profiler)
    run = tmp_path / "plugins" / "profile" / "2026_01_01"
    run.mkdir(parents=True)
    own = ProfileOptions()
    for options in ({}, {"profiler_options": own}, {"create_perfetto_link": False}):
        with systole_tpu.trace(tmp_path, **options):
            pass
    assert [options["profiler_options"].python_tracer_level for options in started] == [0, 1, 0]
    assert started[1]["profiler_options"] is own and started[2]["create_perfetto_link"] is False
    assert json.loads((run / "systole.run.json").read_text())["recorded_by"] == "systole_tpu.trace"
    del profiler.ProfileOptions
    with systole_tpu.trace(tmp_path):
        pass
    assert started[3] == {}, "older versions of JAX"


def test_command_and_module_keep_exit_codes():
    assert command("--version").startswith("systole ")
    module = subprocess.run([sys.executable, "-m", "systole_tpu", "analyze", "/no/such"], capture_output=True, text=True)
    assert module.returncode == 3 and "no such" in module.stderr.lower()
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    quiet = subprocess.run([sys.executable, "-c", "import systole_tpu"], capture_output=True, text=True, env=env)
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_pages_render_in_a_notebook(run):
    assert run.html().startswith("<!doctype html>")
    assert run._repr_html_().startswith("<iframe srcdoc=") and "<script" not in run._repr_html_().split("srcdoc")[0]
    table = run.table("hints")._repr_html_()
    assert "<table>" in table and "saving_ps" in table
    assert "rows of" in repr(run.table("ops")) and repr(run).startswith("<systole_tpu.Run ")


def test_module_command_and_wheel_have_one_version():
    assert command("--version").split()[1] == systole_tpu.__version__
    try:
        assert metadata.version("systole-tpu") == systole_tpu.__version__
    except metadata.PackageNotFoundError:
        pytest.skip("the package was not installed from a wheel")


def test_tables_are_written_without_any_library(run, tmp_path):
    run.table("steps").write(tmp_path / "steps.csv", format="csv", constants={"job": "a", "version": None})
    lines = (tmp_path / "steps.csv").read_text().splitlines()
    assert lines[0].startswith("job,version,") and lines[1].startswith("a,,") and len(lines) == 1 + len(run.steps)
    with pytest.raises(systole_tpu.PathError, match="steps.parquet"):
        run.table("steps").write(tmp_path / "none" / "steps.parquet")
    with pytest.raises(systole_tpu.UsageError, match="no format"):
        run.table("steps").write(tmp_path / "steps.xls", format="xls")


def test_pictures_are_those_of_the_command_line(run):
    timeline = run.scope(steps=2).timeline(size="800x400")
    words = ["render", RECOMPILE, "--steps", "2..2", "--size", "800x400"]
    assert timeline.svg == command(*words) and timeline.dark_svg == command(*words, "--dark") != timeline.svg
    page = timeline._repr_html_()
    assert "prefers-color-scheme: dark" in page
    # It is as high as the picture at any width, and there without scripts.
    assert 'style="width:100%;aspect-ratio:800/400;' in page
    before_scripts = timeline.html().split("<script")[0]
    assert timeline.svg in before_scripts and timeline.dark_svg in before_scripts
    # Both stay, because the theme may change, and neither refers to what is in the other.
    assert ".remove()" not in timeline.html()
    light, dark = (set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (timeline.svg, timeline.dark_svg))
    assert light and dark and not light & dark
    with pytest.raises(systole_tpu.UsageError, match="800x4"):
        run.picture("steps", size="800x4")


def test_slices_that_are_not_there_have_no_arguments(run):
    for number in (-1, run.slice_count, 2**70):
        with pytest.raises(IndexError, match=f"there is no slice {number}"):
            run.args(number)


def test_errors_of_captures_name_arguments(tmp_path):
    from systole_tpu._capture import _as_arguments

    for wrong, words in [
        ({"host_level": 4}, "host_level: write a number from 0 to 3"),
        ({"ms": 0}, "ms: write a number from 1"),
        ({"ms": "fast"}, "ms"),
        ({"option": {"": 1}}, "KEY=VALUE"),
    ]:
        with pytest.raises(systole_tpu.UsageError, match=words):
            systole_tpu.capture("localhost:1", tmp_path, **wrong)
    said = []
    with pytest.raises(systole_tpu.PathError, match="cannot connect"):
        systole_tpu.capture(["127.0.0.1:1"], tmp_path, ms=20, progress=said.append)
    assert all(isinstance(stage, str) for stage in said)
    # Options have the names of arguments where there is one.
    text = "--host-level is 0 (--ms), '--python-level <N>' of --xla_dump_to, --delay"
    assert _as_arguments(text) == "host_level is 0 (ms), python_level of --xla_dump_to, --delay"


def test_a_capture_needs_no_other_python(tmp_path):
    folder = os.path.dirname(os.path.dirname(systole_tpu.__file__))
    program = f"import subprocess, sys; subprocess.Popen = None; sys.path.insert(0, {folder!r}); import systole_tpu; systole_tpu.capture('localhost:1', {str(tmp_path / 'logs')!r})"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, env=env)
    assert "PathError" in done.stderr and "cannot connect" in done.stderr, done.stderr


def test_environment_is_recorded_without_secrets(tmp_path, monkeypatch):
    from systole_tpu import _systole

    secret = "hf_0123456789abcdef"
    monkeypatch.setenv("HF_TOKEN", secret)
    monkeypatch.setenv("XLA_FLAGS", f"--xla_a=1 --xla_token={secret}")
    (tmp_path / "my_model-1.2.dist-info").mkdir()
    path = _systole.record_environment(tmp_path, "3.12.1", [str(tmp_path)], ["my-model"], "TPU v6 lite")
    text = open(path).read()
    assert secret not in text
    written = json.loads(text)
    assert written["versions"] == {"my-model": "1.2", "python": "3.12.1"}
    assert written["flags"]["xla_a"] == "1" and written["chip"] == "TPU v6 lite"
    assert written["recorded_by"] == "systole_tpu.trace"
