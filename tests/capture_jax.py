"""`systole capture` and `systole top` with real servers: jax.profiler.start_server on the CPU.

Run by scripts/capture-tests. What JAX on a CPU cannot do is tested with a mock: tests/cli/capture.rs.
"""

import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

# The program that is captured: it works, idles, or fills the trace.
SERVER = """
import sys, time
import jax, jax.numpy as jnp
jax.profiler.start_server(int(sys.argv[1]))
mode = sys.argv[2]
f = jax.jit(lambda x: jnp.tanh(x @ x))
x = f(jnp.ones((64, 64))).block_until_ready()
print("ready", flush=True)
step = 0
while True:
    if mode == "idle":
        time.sleep(0.1)
    elif mode == "heavy":
        for i in range(1000):
            with jax.profiler.TraceAnnotation(f"annotation {i}", detail="x" * 100):
                pass
    else:
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            x = f(x).block_until_ready()
        step += 1
        time.sleep(0.002)
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class WebServer(http.server.BaseHTTPRequestHandler):
    """Something that is no profiler."""

    def log_message(self, *_):
        pass


class Server:
    """A JAX program with a profiler server."""

    running = []

    def __init__(self, mode="busy"):
        self.port = free_port()
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-c", SERVER, str(self.port), mode]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
        Server.running.append(self.process)

    def ready(self):
        assert self.process.stdout.readline() == b"ready\n", "the JAX program did not start"
        return self

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


def systole(*args):
    done = subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True, timeout=120)
    assert "panicked" not in done.stderr, done.stderr
    return done


def capture(logs, addresses, *args, code=0, ms=300):
    """The result of a capture, which must end with this code."""
    done = systole("capture", addresses, "-o", logs, "--ms", ms, "--json", *args)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    result = json.loads(done.stdout) if done.stdout else None
    return result, done.stderr


def test_two_hosts_are_one_run(logs, one, other):
    result, _ = capture(logs, f"{one.address},{other.address}")
    files = [pathlib.Path(host["file"]) for host in result["hosts"]]
    assert len({file.parent for file in files}) == 1, files
    assert [host["process"] for host in result["hosts"]] == [one.process.pid, other.process.pid]
    assert files[0].parent.parent == pathlib.Path(logs, "plugins", "profile")
    # JAX reads what was kept.
    from jax.profiler import ProfileData

    for file in files:
        assert "/host:CPU" in [plane.name for plane in ProfileData.from_file(str(file)).planes]
    assert systole("analyze", logs).returncode == 0


def test_a_verdict_follows(logs, one):
    done = systole("capture", one.address, "-o", logs, "--ms", 300)
    assert done.returncode == 0, done.stderr
    assert "Q04" in done.stdout and " steps" in done.stdout, done.stdout


def test_a_number_of_steps(logs, one):
    result, _ = capture(logs, one.address, "--steps", 20, ms=500)
    assert result["hosts"][0]["complete_steps"] >= 20 and result["lacks"] == [], result
    assert len(list(pathlib.Path(logs).rglob("*.xplane.pb"))) == 1, "the short capture is not kept"
    assert abs(result["hosts"][0]["started_unix_ns"] / 1e9 - time.time()) < 60, result


def test_steps_of_a_program_that_has_none(logs, heavy):
    _, said = capture(logs, heavy.address, "--steps", 5, code=11, ms=100)
    assert "StepTraceAnnotation" in said, said


def test_ipv6(logs, one):
    result, _ = capture(logs, f"[::1]:{one.port}")
    assert result["hosts"][0]["process"] == one.process.pid


def test_levels_reach_the_server(logs, one):
    capture(logs, one.address, "--host-level", 0, code=12)
    result, _ = capture(logs, one.address, "--host-level", 0, "--python-level", 1)
    assert result["hosts"][0]["has_events"], result


def test_a_closed_port_beside_an_open_one(logs, one):
    result, said = capture(logs, f"127.0.0.1:{free_port()},{one.address}", code=12)
    assert "Connection refused" in result["hosts"][0]["error"], result
    assert result["hosts"][1]["has_events"] and "1 of 2 hosts" in said


def test_something_else_listens(logs):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), WebServer) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        _, said = capture(logs, f"127.0.0.1:{web.server_port}", code=3)
        assert "does not speak gRPC" in said, said
        web.shutdown()


def test_nothing_runs(logs, idle):
    result, said = capture(logs, idle.address, code=12)
    assert not result["hosts"][0]["has_events"] and "nothing was recorded" in said


def test_messages_over_4_megabytes(logs, heavy):
    result, _ = capture(logs, heavy.address, ms=1500)
    assert result["hosts"][0]["bytes"] > 4 << 20, result


def test_a_server_is_killed_midway(logs, one, victim):
    threading.Timer(1.0, victim.process.kill).start()
    result, _ = capture(logs, f"{one.address},{victim.address}", code=12, ms=2500)
    assert result["hosts"][0]["has_events"] and "the connection broke" in result["hosts"][1]["error"], result


def test_one_capture_at_a_time(logs, one):
    first = threading.Thread(target=capture, args=(logs, one.address), kwargs={"ms": 1500})
    first.start()
    time.sleep(0.5)
    _, said = capture(logs, one.address, code=3)
    assert "another profile is under way" in said, said
    first.join()


def test_an_interrupt_ends_the_recording(logs, one):
    ended = subprocess.Popen([sys.argv[1], "capture", one.address, "-o", logs, "--ms", "60000"])
    time.sleep(0.7)
    ended.send_signal(signal.SIGINT)
    ended.wait(timeout=5)
    assert not pathlib.Path(logs).exists(), "nothing is left behind"
    # The server notices that the connection has ended, and is free for another capture.
    capture(logs, one.address, "--retry", 0)


def test_a_delay_is_waited_for(logs, one):
    begun = time.monotonic()
    capture(logs, one.address, "--delay", 1000, ms=100)
    assert time.monotonic() - begun > 1.0


def test_continuous_profiling(logs, one):
    def continuous(what, code=0):
        done = systole("capture", one.address, "--continuous", what, "-o", logs, "--no-report")
        assert done.returncode == code, (what, done.stdout, done.stderr)
        return done.stdout + done.stderr

    assert "--continuous start" in continuous("stop", code=3)
    continuous("start")
    assert "another profile is under way" in continuous("start", code=3)
    assert "another profile is under way" in capture(logs, one.address, code=3)[1]
    time.sleep(0.5)
    assert f"process {one.process.pid}" in continuous("snapshot")
    time.sleep(0.5)
    continuous("stop")
    assert len(list(pathlib.Path(logs).rglob("*.xplane.pb"))) == 1
    capture(logs, one.address)


def test_the_monitor_of_a_cpu(one):
    done = systole("top", one.address)
    assert done.returncode == 3 and "that of JAX on CPU does not" in done.stderr, done.stderr


def main():
    # A shell that runs this in the background ignores interrupts, and so would all programs that are started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    one, other, victim = Server(), Server(), Server()
    # They start at the same time.
    for server in (one, other, victim):
        server.ready()
    servers = {"one": one, "other": other, "victim": victim}
    servers |= {mode: Server(mode).ready() for mode in ("idle", "heavy")}
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        begun = time.monotonic()
        wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
        with tempfile.TemporaryDirectory() as folder:
            given = {"logs": str(pathlib.Path(folder, "logs")), **servers}
            test(**{name: given[name] for name in wanted})
        print(f"{name} ... ok ({time.monotonic() - begun:.1f} s)", flush=True)
    print(f"{len(tests)} passed")


if __name__ == "__main__":
    try:
        main()
    finally:
        for process in Server.running:
            process.kill()
