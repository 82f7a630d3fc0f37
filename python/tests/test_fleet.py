"""Many captures: nothing is lost, nothing is counted twice, and reports say what single runs say."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import systole_tpu
from conftest import RECOMPILE, SAMPLES, command
from systole_tpu.fleet import _engines, _render, _report, _task
from systole_tpu.fleet._captures import find

duckdb = pytest.importorskip("duckdb")

SMALL = ["v5e_8chip_straggler", "v5e_decode", "v5p_ring_overlap", "v5p_ring_serial", "v6e_pallas_waits"]


def sample(name: str) -> Path:
    return SAMPLES / f"synthetic_{name}.xplane.pb"


def put(source: Path, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, to)
    return to


@pytest.fixture(scope="module")
def profiles(tmp_path_factory) -> Path:
    """200 captures: 5 jobs × 4 runs × 10 hosts; one is damaged."""
    root = tmp_path_factory.mktemp("profiles")
    for job, name in enumerate(SMALL):
        for day in range(4):
            for host in range(10):
                put(sample(name), root / f"job{job}/plugins/profile/2026_01_0{day + 1}_12_00_00/w{host}.xplane.pb")
    (root / "job0/plugins/profile/2026_01_01_12_00_00/w7.xplane.pb").write_bytes(b"\0not a profile" * 99)
    # A poorer copy of a capture, and what is no capture.
    put(SAMPLES / "jax_cpu_small.trace.json.gz", root / "job1/plugins/profile/2026_01_01_12_00_00/w0.trace.json.gz")
    (root / "job1/notes.txt").write_text("nothing")
    return root


def rows(dataset: Path, sql: str) -> list:
    source = f"read_parquet('{dataset}/runs/**/*.parquet', hive_partitioning = true, union_by_name = true)"
    return duckdb.sql(sql.replace("RUNS", source)).fetchall()


@pytest.fixture(scope="module")
def filled(profiles, tmp_path_factory):
    """A dataset, made while one worker was killed."""
    dataset, started, killed = tmp_path_factory.mktemp("fleet") / "dataset", [], []
    start = _engines._started

    def remembered():
        started.append(start())
        return started[-1]

    def tick(done, all, failed):
        assert all == 200
        if done == 30:
            victim = next(one for one in started if one.poll() is None)
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim)

    _engines._started = remembered
    try:
        result = systole_tpu.fleet(profiles, dataset, workers=2, progress=tick)
    finally:
        _engines._started = start
    assert killed and killed[0].wait() == -signal.SIGKILL and len(started) == 3
    return dataset, result


def test_a_killed_worker_and_a_damaged_capture_lose_nothing_else(profiles, filled):
    dataset, result = filled
    assert (result.analyzed, result.skipped, len(result.failed)) == (199, 0, 1)
    assert result.failed[0].path.endswith("job0/plugins/profile/2026_01_01_12_00_00/w7.xplane.pb")
    assert result.failed[0].reason in command("analyze", result.failed[0].path, code=4)
    assert "199 captures analyzed" in str(result) and "w7.xplane.pb" in str(result)
    assert rows(dataset, "SELECT count(*), count(DISTINCT path), count(DISTINCT capture) FROM RUNS") == [(199, 199, 199)]
    parts = "SELECT job, CAST(date AS VARCHAR), count(*) FROM RUNS GROUP BY ALL ORDER BY ALL"
    expected = [(f"job{job}", f"2026-01-0{day}", 9 if (job, day) == (0, 1) else 10) for job in range(5) for day in range(1, 5)]
    assert rows(dataset, parts) == expected
    assert not (dataset / "_tmp").exists()
    for job, name in enumerate(SMALL):
        run = systole_tpu.open(sample(name), progress=False)
        for table in ("steps", "ops", "hints"):
            files = f"{dataset}/{table}/date=2026-01-02/job=job{job}/host=w3/*.parquet"
            found = duckdb.sql(f"SELECT * EXCLUDE (capture, run, version, times_from) FROM read_parquet('{files}', hive_partitioning = false)")
            assert [dict(zip(found.columns, row)) for row in found.fetchall()] == run.table(table).to_pylist()


def test_a_damaged_dataset_is_an_error_with_its_cure(tmp_path):
    dataset = tmp_path / "dataset"
    systole_tpu.fleet([put(sample("v5e_decode"), tmp_path / "job/w0.xplane.pb")], dataset, workers=1)
    file = next((dataset / "runs").rglob("*.parquet"))
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(systole_tpu.Error, match="damaged.*--again"):
        systole_tpu.fleet.report(dataset)


def test_a_figure_that_is_a_lower_bound_of_a_capture_is_one_of_its_job(tmp_path):
    dataset = tmp_path / "dataset"
    for host in range(2):
        put(sample("v5e_decode"), tmp_path / f"job/plugins/profile/2026_01_01_12_00_00/w{host}.xplane.pb")
    systole_tpu.fleet(tmp_path / "job", dataset, workers=1)
    is_bound = lambda: [job["mfu_window_is_lower_bound"] for job in systole_tpu.fleet.report(dataset).jobs]
    assert is_bound() == [False]
    file, changed = next((dataset / "runs").rglob("*.parquet")), tmp_path / "changed.parquet"
    bounds = "SELECT * REPLACE ('mfu_steady_percent, mfu_window_percent' AS lower_bounds)"
    duckdb.sql(f"COPY ({bounds} FROM read_parquet('{file}', hive_partitioning = false)) TO '{changed}'")
    changed.replace(file)
    assert is_bound() == [True]


def test_finished_captures_are_skipped_and_changed_ones_replaced(profiles, filled, tmp_path):
    dataset, source = tmp_path / "dataset", tmp_path / "job/plugins/profile/2026_01_01_12_00_00"
    paths = [put(sample("v5e_decode"), source / f"w{host}.xplane.pb") for host in range(3)]
    assert systole_tpu.fleet(tmp_path / "job", dataset, workers=1).analyzed == 3
    again = systole_tpu.fleet(tmp_path / "job", dataset, workers=1)
    assert (again.analyzed, again.skipped) == (0, 3)
    os.utime(paths[0], (1, 1))  # the same content
    put(sample("v5p_ring_serial"), paths[1])
    paths[2].write_bytes(b"damaged" * 99)
    changed = systole_tpu.fleet(tmp_path / "job", dataset, workers=2)
    assert (changed.analyzed, changed.skipped, len(changed.failed)) == (1, 1, 1)
    assert rows(dataset, "SELECT count(*) FROM RUNS WHERE device_type LIKE '%v5p%'") == [(1,)]
    assert systole_tpu.fleet([paths[0], paths[1]], dataset, workers=1).skipped == 2
    # The name of the version is part of each row.
    assert systole_tpu.fleet([paths[0]], dataset, workers=1, version="v2").analyzed == 1
    assert rows(dataset, "SELECT count(*) FROM RUNS WHERE version = 'v2'") == [(1,)]
    result = systole_tpu.fleet(profiles, filled[0], workers=2)
    assert (result.analyzed, result.skipped, len(result.failed)) == (0, 199, 1)


def test_a_worker_that_dies_after_its_work_has_done_it(tmp_path, monkeypatch):
    for host in range(2):
        put(sample("v6e_pallas_waits"), tmp_path / f"in/job/run/w{host}.xplane.pb")
    answer, died = _engines._answer, []

    def dies_once(process, task):
        note = answer(process, task)
        if not died:
            process.kill()
            died.append(note["id"])
            return None
        return note

    monkeypatch.setattr(_engines, "_answer", dies_once)
    result = systole_tpu.fleet(tmp_path / "in", tmp_path / "dataset", workers=1)
    assert died and (result.analyzed, result.skipped, result.failed) == (2, 0, ())


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    for host in range(6):
        put(sample("v6e_pallas_waits"), tmp_path / f"in/job/run/w{host}.xplane.pb")

    def stop(done, all, failed):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        systole_tpu.fleet(tmp_path / "in", tmp_path / "dataset", workers=2, progress=stop)
    result = systole_tpu.fleet(tmp_path / "in", tmp_path / "dataset", workers=2)
    assert result.analyzed + result.skipped == 6 and result.skipped >= 2 and not result.failed
    assert rows(tmp_path / "dataset", "SELECT count(*), count(DISTINCT capture) FROM RUNS") == [(6, 6)]
    assert not (tmp_path / "dataset/_tmp").exists()


def test_a_capture_that_kills_its_workers_is_given_up_and_the_others_are_not(tmp_path, monkeypatch):
    for host in ("a", "poison", "z"):
        put(sample("v6e_pallas_waits"), tmp_path / f"in/job/run/{host}.xplane.pb")
    answer = _engines._answer

    def killing(process, task):
        if "poison" in task["path"]:
            process.kill()
        return answer(process, task)

    monkeypatch.setattr(_engines, "_answer", killing)
    result = systole_tpu.fleet(tmp_path / "in", tmp_path / "dataset", workers=1)
    assert result.analyzed == 2
    assert [one.reason for one in result.failed] == ["the worker died 3 times, last by SIGKILL (out of memory?)"]


def test_paths_and_layouts_name_jobs_runs_and_hosts(tmp_path):
    path = put(sample("v5e_decode"), tmp_path / "llm/v7/night/w1.xplane.pb")
    capture = find(tmp_path, "{job}/{version}/{run}/{host}")[0]
    assert (capture.job, capture.version, capture.run, capture.host) == ("llm", "v7", "night", "w1")
    assert find(str(tmp_path / "**/*.pb")) == find(path) == find([path, tmp_path])
    assert find(path, "{job}/*/{run}/*")[0].run == "night"
    given = find([{"path": str(path), "job": "x", "version": "9"}])[0]
    assert (given.job, given.version, given.run) == ("x", "9", "w1")
    for wrong, error in (("{jbo}/{run}", systole_tpu.UsageError), ("{job}/b/{run}", systole_tpu.UsageError)):
        with pytest.raises(error, match="layout"):
            find(path, wrong)
    remote = "gs://bucket/llm/plugins/profile/night/w1.xplane.pb"
    (capture,) = find(remote)
    assert (capture.path, capture.job, capture.run, capture.host, capture.size) == (remote, "llm", "night", "w1", None)
    for dataset in ("gs://bucket/dataset", Path("gs://bucket/dataset")):
        with pytest.raises(systole_tpu.UsageError, match="a dataset cannot be in a bucket"):
            systole_tpu.fleet(path, dataset)
        with pytest.raises(systole_tpu.UsageError, match="a dataset cannot be in a bucket"):
            systole_tpu.fleet.report(dataset)
    for missing in (tmp_path / "no", tmp_path / "no*", (tmp_path / "empty")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(systole_tpu.PathError):
            find(missing)


def test_directories_that_are_linked_and_packed_runs_are_found(tmp_path):
    real = put(sample("v5e_decode"), tmp_path / "elsewhere/job/r1/w0.xplane.pb")
    inside = put(sample("v5e_decode"), tmp_path / "in/job/r2/w0.xplane.pb")
    packed = tmp_path / "in/packed/r3.systole.zip"
    packed.parent.mkdir()
    command("pack", real, "-o", packed)
    links = {"in/linked": tmp_path / "elsewhere", "in/a-newest": inside.parent, "in/job/up": tmp_path / "in"}
    for link, to in links.items():
        (tmp_path / link).symlink_to(to)
    found = [capture.path for capture in find(tmp_path / "in")]
    assert found == [str(inside), str(tmp_path / "in/linked/job/r1/w0.xplane.pb"), str(packed)]
    assert systole_tpu.fleet(tmp_path / "in", tmp_path / "dataset", workers=1).analyzed == 3


def test_wrong_arguments_are_errors_and_no_damage_of_captures(tmp_path):
    path, dataset = put(sample("v5e_decode"), tmp_path / "in/job/r1/w0.xplane.pb"), tmp_path / "dataset"
    for wrong, message in (({"device_spek": "v5e"}, "device_spek"), ({"device_spec": "v99"}, "known chips"), ({"roles": "/no"}, "roles")):
        with pytest.raises(systole_tpu.Error, match=message):
            systole_tpu.fleet(path, dataset, **wrong)
    assert not dataset.exists()
    assert module("run", path, "-o", dataset, "--device-spec", "v99").returncode == 2
    with pytest.raises(systole_tpu.UsageError, match="jbo"):
        find({"path": path, "jbo": None})
    (capture,) = find({"path": path, "job": None, "version": 3})
    assert (capture.path, capture.job, capture.version) == (str(path), "r1", "3")
    assert systole_tpu.fleet({"path": path, "job": None}, dataset, workers=1, wait=1).analyzed == 1
    with pytest.raises(systole_tpu.UsageError, match="families"):
        systole_tpu.fleet.report(dataset, families=-1)


def test_a_capture_that_fails_later_is_counted_and_said_to_be(tmp_path):
    paths = [put(sample("v5e_decode"), tmp_path / f"in/job/plugins/profile/r/w{host}.xplane.pb") for host in range(2)]
    dataset = tmp_path / "dataset"
    systole_tpu.fleet(tmp_path / "in", dataset, workers=1)
    paths[0].write_bytes(b"")
    paths.append(put(paths[0], tmp_path / "in/job/plugins/profile/r/w2.xplane.pb"))
    assert len(systole_tpu.fleet(tmp_path / "in", dataset, workers=1).failed) == 2
    report = systole_tpu.fleet.report(dataset)
    assert [one["is_counted"] for one in report.failed] == [True, False]
    assert (report.overview["captures"], report.overview["failed"], report.overview["outdated"]) == (2, 2, 1)
    assert report.jobs[0]["failed"] == 2 and "2, 2 failed" in str(report)
    assert "2 failed, of which 1 counted as read of an earlier file" in str(report)
    # What is said later is not how long ago the file was written then.
    assert "before it was read" in str(report) and " ago" not in str(report)


def test_dates_are_those_of_profilers_in_names_of_runs():
    task = {"date": None, "modified_ns": 1_800_000_000 * 10**9}
    dates = {"2026_01_31_12_00_00": "2026-01-31", "llama_2048_1024": "2026-11-20", "20260131": "2026-11-20", "2026_02_31_12_00_00": "2026-11-20"}
    for run, date in dates.items():
        assert _task._date({**task, "run": run}, 1_795_132_800 * 10**9) == (date, "run name" if "01_31" in run else "session start")


def test_the_report_says_what_runs_say(filled):
    dataset, _ = filled
    report = systole_tpu.fleet.report(dataset)
    assert report.overview["captures"] == 199 and report.overview["jobs"] == 5 and report.overview["hosts"] == 10
    assert [one["path"].rsplit("/", 1)[1] for one in report.failed] == ["w7.xplane.pb"]
    by_job = {job["job"]: job for job in report.jobs}
    assert [job["wasted_ps"] for job in report.jobs] == sorted((job["wasted_ps"] for job in report.jobs), reverse=True)
    for number, name in enumerate(SMALL):
        run, job = systole_tpu.open(sample(name), progress=False), by_job[f"job{number}"]
        findings = {finding.id: finding.time_ps for finding in run.verdict.findings}
        wasted = sum(findings.get(id, 0) for id in ("idle", "collective", "async-wait", "host-io"))
        assert job["wasted_ps"] == wasted * job["captures"], name
        hints = [hint for hint in run.hints if hint.severity != "health" and hint.saving_ps]
        if hints:
            assert job["hint"]["hint"] == max(hints, key=lambda hint: hint.saving_ps).id
    # All hosts are copies of one.
    assert report.stragglers == []
    assert [one["finding"] for one in report.regressions if one["finding"] == "changed"] == []
    assert len(report.regressions) == 5 * 3
    waits = next(family for family in report.families if family["family"] == "all-reduce")
    assert waits["above_roofline_ps"] is None and waits["bound_by"] == "links or waiting"
    assert json.loads(report.json())["schema"] == "systole.fleet/1"
    assert "Hosts that keep" not in str(report) and "Wasted" in str(report) and "w7.xplane.pb" in str(report)
    page = report.html()
    assert page.startswith("<!doctype html>") and "http" not in page and "color-scheme: light dark" in page


def test_versions_are_compared_as_by_the_command_line(tmp_path):
    for version, name in (("v9", "v5e_8chip_serial"), ("v10", "v5e_8chip_overlap")):
        put(sample(name), tmp_path / f"in/train/{version}/r/w0.xplane.pb")
    systole_tpu.fleet(tmp_path / "in", tmp_path / "dataset", layout="{job}/{version}/{run}/{host}", workers=1)
    (found,) = systole_tpu.fleet.report(tmp_path / "dataset").regressions
    said = json.loads(command("compare", sample("v5e_8chip_serial"), sample("v5e_8chip_overlap"), "--format", "json"))
    assert (found["base"], found["cand"], found["by"]) == ("v9", "v10", "version")
    assert found["statement"] == said["statement"]
    assert found["change_percent"] == pytest.approx(said["steps"][0]["change_percent"])


def test_captures_without_a_version_are_compared_from_day_to_day(tmp_path):
    sources = [("v5e_8chip_serial", "v1"), ("v5e_8chip_serial", None), ("v5e_8chip_overlap", None)]
    captures = []
    for day, (name, version) in enumerate(sources):
        path = put(sample(name), tmp_path / f"{day}.xplane.pb")
        captures.append({"path": path, "job": "x", "run": f"r{day}", "date": f"2026-01-0{day + 1}", "version": version})
    systole_tpu.fleet(captures, tmp_path / "dataset", workers=1)
    (found,) = systole_tpu.fleet.report(tmp_path / "dataset").regressions
    assert (found["by"], found["base"], found["cand"], found["finding"]) == ("date", "2026-01-02", "2026-01-03", "too-few")


def test_runs_of_one_name_in_two_versions_are_two_runs(tmp_path):
    for version in ("v1", "v2"):
        for host in range(3):
            name = "v5e_8chip_straggler" if version == "v1" else "v5e_decode"
            put(sample(name), tmp_path / f"in/train/{version}/r/w{host}.xplane.pb")
    systole_tpu.fleet(tmp_path / "in", tmp_path / "dataset", layout="{job}/{version}/{run}/{host}", workers=1)
    for file in (tmp_path / "dataset/runs").rglob("host=w1/*.parquet"):
        work = "SELECT * REPLACE (step_work_ps + 0.1 * step_time_ps AS step_work_ps)"
        changed = tmp_path / "changed.parquet"
        duckdb.sql(f"COPY ({work} FROM read_parquet('{file}', hive_partitioning = false)) TO '{changed}'")
        changed.replace(file)
    report = systole_tpu.fleet.report(tmp_path / "dataset")
    assert report.jobs[0]["runs"] == 2
    assert [(one["host"], one["runs"], one["slowest_in"]) for one in report.stragglers] == [("w1", 2, 2)]


def test_above_roofline_says_of_how_much_time(tmp_path):
    put(sample("v5e_decode"), tmp_path / "in/job/r/w0.xplane.pb")
    systole_tpu.fleet(tmp_path / "in", tmp_path / "dataset", workers=1)
    file = next((tmp_path / "dataset/ops").rglob("*.parquet"))
    ops = f"read_parquet('{file}', hive_partitioning = false)"
    changed = tmp_path / "changed.parquet"
    rated = "CASE WHEN row_number() OVER (ORDER BY self_time_ps) = 1 THEN"
    parts = f"REPLACE ('fusion.1' AS name, 'fusion' AS category, {rated} 25.0 END AS efficiency_percent, {rated} 'HBM' END AS bound_by)"
    duckdb.sql(f"COPY (SELECT * {parts} FROM {ops} WHERE self_time_ps > 0 AND occurrences > 0) TO '{changed}'")
    changed.replace(file)
    ((least, all),) = duckdb.sql(f"SELECT min(self_time_ps), sum(self_time_ps) FROM {ops}").fetchall()
    report = systole_tpu.fleet.report(tmp_path / "dataset")
    (family,) = report.families
    assert (family["rated_ps"], family["self_time_ps"], family["bound_by"]) == (least, all, None)
    assert f"{_render.time(0.75 * least)} of {_render.time(least)}" in str(report)


def test_a_host_stands_out_by_how_often_it_is_the_slowest():
    def hosts(runs):
        for run in range(runs):
            for host in range(8):
                yield {"job": "j", "run": f"{run}", "host": f"w{host}", "work_ps": 110 if host == 3 else 100 + 0.1 * host, "step_ps": 200}

    (bad,) = _report._stragglers(hosts(6))
    assert (bad["host"], bad["slowest_in"], bad["runs"], bad["stands_out"]) == ("w3", 6, 6, True)
    assert bad["p"] == pytest.approx(8.0**-6) and bad["excess_percent"] == pytest.approx(100 * (110 - 100.35) / 200, rel=0.05)
    assert _report._stragglers(hosts(1))[0]["stands_out"] is False
    two = [row for row in hosts(6) if row["host"] in ("w3", "w4")]
    assert _report._stragglers(two) == []
    assert _report._chance([0.5, 0.5], 1) == pytest.approx(0.75)


def module(*args: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "systole_tpu.fleet", *map(str, args)], capture_output=True, text=True)


def test_the_command_has_the_exit_codes_of_systole(tmp_path):
    put(RECOMPILE, tmp_path / "in/job/run/w0.xplane.pb")
    done = module("run", tmp_path / "in", "-o", tmp_path / "dataset")
    assert (done.returncode, done.stdout.startswith("1 capture analyzed")) == (0, True), done.stderr
    (tmp_path / "in/job/run/w1.xplane.pb").write_bytes(b"damaged" * 99)
    assert module("run", tmp_path / "in", "-o", tmp_path / "dataset").returncode == 4
    told = module("report", tmp_path / "dataset", "--format", "json")
    assert told.returncode == 0 and json.loads(told.stdout)["overview"]["captures"] == 1
    assert module("report", tmp_path / "dataset", "--format", "html", "-o", tmp_path / "page.html").returncode == 0
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    profile, notes = tmp_path / "in/job/run/w0.xplane.pb", tmp_path / "notes.txt"
    notes.write_text("mine")
    for foreign in (profile, notes):
        refused = module("report", tmp_path / "dataset", "-o", foreign)
        assert (refused.returncode, "--force" in refused.stderr) == (2, True), refused.stderr
    assert notes.read_text() == "mine" and profile.read_bytes() == RECOMPILE.read_bytes()
    inside = next((tmp_path / "dataset/_summaries").iterdir())
    inside.write_text("changed")
    assert module("report", tmp_path / "dataset", "-o", inside, "--force").returncode == 2
    assert module("report", tmp_path / "dataset", "-o", notes, "--force").returncode == 0
    for format in ("text", "json", "html"):
        for _ in range(2):
            assert module("report", tmp_path / "dataset", "--format", format, "-o", tmp_path / format).returncode == 0
    assert module("report", tmp_path / "dataset", "-o", "-").stdout == module("report", tmp_path / "dataset").stdout
    assert module("report", tmp_path / "none").returncode == 3
    missing = module("run", tmp_path / "none", "-o", tmp_path / "dataset")
    assert missing.returncode == 3 and missing.stderr.startswith("error: no such file")
    assert module("run", tmp_path / "in", "-o", tmp_path / "dataset", "--layout", "{jbo}").returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_engines_survive_a_killed_worker(engine, profiles, tmp_path, monkeypatch):
    pytest.importorskip({"ray": "ray", "spark": "pyspark"}[engine])
    victim = tmp_path / "victim"
    # The first worker that gets this capture dies of it.
    monkeypatch.setenv("SYSTOLE_TEST_KILL", f"{victim}:job3/plugins/profile/2026_01_02_12_00_00/w4")
    sys.path.insert(0, str(Path(__file__).parent))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    import killing

    monkeypatch.setattr(_engines, "analyze", killing.analyze)
    result = systole_tpu.fleet(profiles, tmp_path / "dataset", engine=engine, workers=2)
    assert victim.exists()
    assert (result.analyzed, len(result.failed)) == (199, 1), str(result)
    assert rows(tmp_path / "dataset", "SELECT count(*), count(DISTINCT capture) FROM RUNS") == [(199, 199)]
    if engine == "spark":
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        table = session.read.parquet(str(tmp_path / "dataset/runs"))
        assert table.count() == 199 and {"date", "job", "host"} <= set(table.columns)
        sums = table.groupBy("job").sum("device_time_ps").collect()
        ours = rows(tmp_path / "dataset", "SELECT job, sum(device_time_ps) FROM RUNS GROUP BY job")
        assert sorted((row[0], row[1]) for row in sums) == sorted((job, int(ps)) for job, ps in ours)
        session.stop()
    else:
        import ray

        ray.shutdown()
