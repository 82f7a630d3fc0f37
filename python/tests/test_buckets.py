"""Profiles in a bucket of a server that others wrote: moto, which scripts/bucket-tests installs."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import systole_tpu
from conftest import RECOMPILE, SAMPLES
from systole_tpu.fleet import find

SERVER = Path(__file__).parents[2] / "target/bucket-tests/bin/moto_server"
pytestmark = pytest.mark.skipif(not SERVER.exists(), reason="scripts/bucket-tests --install installs the server")

# The server checks no signature, but asks for one.
SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
RUN = "llm/plugins/profile/2026_01_31_12_00_00"


def request(method: str, url: str, body: bytes | None = None) -> None:
    # Without a type, urllib sends bodies as forms, and the server keeps nothing of those.
    headers = {"Authorization": SIGNED, "Content-Type": "application/octet-stream"}
    asked = urllib.request.Request(url, data=body, method=method, headers=headers)
    with urllib.request.urlopen(asked, timeout=10):
        pass


@pytest.fixture
def bucket(monkeypatch, tmp_path):
    """The URL of a bucket that `s3://profiles` leads to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([SERVER, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/profiles"
    settings = {"ENDPOINT": f"http://127.0.0.1:{port}", "ALLOW_HTTP": "true", "REGION": "us-east-1"}
    settings |= {"ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test"}
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("SYSTOLE_NETWORK", "loopback")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    try:
        until = time.monotonic() + 300  # only ends a failing test
        while True:
            try:
                request("PUT", url)
                break
            except urllib.error.HTTPError:
                raise
            except OSError:
                assert time.monotonic() < until, "the server does not answer"
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait()


def test_captures_below_an_address_are_a_fleet(bucket, tmp_path):
    for host in ("w0", "w1"):
        request("PUT", f"{bucket}/logs/{RUN}/{host}.xplane.pb", RECOMPILE.read_bytes())
    # A poorer copy, a cache of XProf, and another job.
    request("PUT", f"{bucket}/logs/{RUN}/w0.trace.json.gz", (SAMPLES / "jax_cpu_small.trace.json.gz").read_bytes())
    request("PUT", f"{bucket}/logs/{RUN}/w0.op_stats.pb", b"cache")
    request("PUT", f"{bucket}/logs/other/plugins/profile/night/w0.xplane.pb", b"\0not a profile" * 99)
    found = find("s3://profiles/logs")
    assert [(one.job, one.run, one.host, one.path.rsplit("/", 1)[1]) for one in found] == [
        ("llm", "2026_01_31_12_00_00", "w0", "w0.xplane.pb"),
        ("llm", "2026_01_31_12_00_00", "w1", "w1.xplane.pb"),
        ("other", "night", "w0", "w0.xplane.pb"),
    ]
    assert found[0].size == RECOMPILE.stat().st_size and found[0].modified_ns
    assert find("s3://profiles/logs/llm/plugins/profile/*/w*.xplane.pb") == found[:2]
    assert find(Path("s3://profiles/logs")) == found

    dataset = tmp_path / "dataset"
    result = systole_tpu.fleet("s3://profiles/logs", dataset, workers=2)
    assert (result.analyzed, result.skipped, [one.path for one in result.failed]) == (2, 0, [found[2].path])
    assert systole_tpu.fleet.report(dataset).overview["captures"] == 2
    assert not list((tmp_path / "home").rglob("*.pb")), "the files stay in the bucket"
    again = systole_tpu.fleet("s3://profiles/logs/llm", dataset, workers=1)
    assert (again.analyzed, again.skipped) == (0, 2)
    request("PUT", f"{bucket}/logs/{RUN}/w1.xplane.pb", (SAMPLES / "synthetic_v5e_decode.xplane.pb").read_bytes())
    changed = systole_tpu.fleet("s3://profiles/logs/llm", dataset, workers=1)
    assert (changed.analyzed, changed.skipped) == (1, 1)


def test_an_address_without_profiles_is_named(bucket):
    with pytest.raises(systole_tpu.PathError, match="s3://profiles/none"):
        find("s3://profiles/none")
    request("PUT", f"{bucket}/notes/a.txt", b"nothing")
    with pytest.raises(systole_tpu.PathError, match="no profile below this address"):
        find("s3://profiles/notes")
