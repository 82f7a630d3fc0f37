"""Everything that is public has a description with an example, and the examples are true."""

import doctest
import inspect
import json
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest
import systole_tpu
from conftest import PADDED, RECOMPILE

#: Reads programs that run: tests/capture_jax.py of the repository starts some.
NOT_RUN = {"capture", "Capture.open"}
#: Values: their fields are described where they are declared.
VALUES = {"CapturedHost", "Capture", "Column", "DeviceTime", "Evidence", "Finding", "Hint", "Metric", "Step", "Verdict"}
PROGRAM = """HloModule jit_f, entry_computation_layout={(f32[8,8]{1,0})->f32[8,8]{1,0}}

ENTRY %main (x: f32[8,8]) -> f32[8,8] {
  %x = f32[8,8]{1,0} parameter(0)
  ROOT %dot.1 = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def documented():
    """Names and objects that need an example."""
    for name in systole_tpu.__all__:
        one = getattr(systole_tpu, name)
        if name.startswith("_") or name == "fleet" or (inspect.isclass(one) and issubclass(one, Exception)):
            continue
        if name not in VALUES:
            yield name, one
        if inspect.isclass(one):
            for key, value in sorted(vars(one).items()):
                is_described = inspect.isfunction(value) or isinstance(value, (property, cached_property))
                if not key.startswith("_") and is_described:
                    yield f"{name}.{key}", value


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "logdir" / "plugins" / "profile" / "1"
    folder.mkdir(parents=True)
    shutil.copy(RECOMPILE, folder / "w0.xplane.pb")
    (tmp_path / "after").mkdir()
    shutil.copy(PADDED, tmp_path / "after" / "w0.xplane.pb")
    (tmp_path / "program.txt").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name, one", list(documented()))
def test_examples_are_true(name, one, place):
    text = inspect.getdoc(one) or ""
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert examples.examples, "it has no example"
    names = {"systole_tpu": systole_tpu, "json": json, "Path": Path, "run": systole_tpu.open("logdir")}
    if "(f, x" in text or "f(x)" in text:
        jax = pytest.importorskip("jax")

        @jax.jit
        def f(x):
            return x @ x

        names |= {"f": f, "x": jax.numpy.ones((64, 64))}
    if "_arrow" in text or "to_p" in text or "run.sql" in text:
        for library in ("pyarrow", "pandas", "polars", "duckdb"):
            pytest.importorskip(library)
    examples.globs = names
    is_skipped = [bool(example.options.get(doctest.SKIP)) for example in examples.examples]
    assert any(is_skipped) == (name in NOT_RUN)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(examples, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_all_types_are_known():
    """As editors see them: of what can be imported, all types are written down."""
    checker = pytest.importorskip("basedpyright")
    command = [sys.executable, "-m", checker.__name__, "--verifytypes", "systole_tpu", "--ignoreexternal", "--outputjson"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["typeCompleteness"]
    unknown = [(one["name"], one["diagnostics"]) for one in said["symbols"] if one["isExported"] and not one["isTypeKnown"]]
    assert said["completenessScore"] == 1, unknown
