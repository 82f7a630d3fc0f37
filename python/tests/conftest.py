import json
import subprocess
from pathlib import Path

import pytest
import systole_tpu

SAMPLES = Path(__file__).parents[2] / "assets" / "samples"
RECOMPILE = SAMPLES / "synthetic_v5e_8chip_recompile.xplane.pb"
PADDED = SAMPLES / "synthetic_v6e_4chip_padded.xplane.pb"


def command(*args: object, code: int = 0) -> str:
    """What the installed command prints."""
    done = subprocess.run(["systole", *map(str, args)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def samples() -> list[Path]:
    return sorted([*SAMPLES.glob("*.xplane.pb"), *SAMPLES.glob("*.trace.json.gz")])


@pytest.fixture(scope="session")
def run() -> systole_tpu.Run:
    return systole_tpu.open(RECOMPILE)


@pytest.fixture(scope="session")
def said() -> dict:
    return json.loads(command("analyze", RECOMPILE, "--format", "json", "--top", "0"))["reports"]


def pytest_addoption(parser) -> None:
    parser.addoption("--slow", action="store_true", help="also tests that start Ray and Spark")


def pytest_collection_modifyitems(config, items) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="runs with --slow"))
