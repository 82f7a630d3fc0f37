"""The package and its use pass a type checker."""

import subprocess
import sys

import pytest

USE = """
import systole_tpu
from systole_tpu.fleet import FleetReport

run = systole_tpu.open("logdir", device_spec="v5e")
saving: float | None = run.hints[0].saving_percent
run.compare(run).tables["ops"].to_pylist()[0]["name"]
result = systole_tpu.fleet("profiles", "dataset", engine="local", workers=2)
reason: str = result.failed[0].reason
report: FleetReport = systole_tpu.fleet.report("dataset")
wrong: int = run.timeline().svg
systole_tpu.fleet("profiles", "dataset").nothing
"""


def test_right_use_passes_and_wrong_use_does_not(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "use.py").write_text(USE)
    check = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(tmp_path), "use.py"]
    said = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    errors = [line for line in said if ": error:" in line]
    assert len(errors) == 2, errors
    assert errors[0].startswith("use.py:11:") and "expression has type \"str\"" in errors[0]
    assert errors[1].startswith("use.py:12:") and "nothing" in errors[1]
