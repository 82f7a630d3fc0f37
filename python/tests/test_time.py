"""How long functions take, and captures, with real JAX on the CPU."""

import os
import signal
import socket
import subprocess
import sys
import threading

import pytest
import systole_tpu

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax")


def test_a_slower_function_takes_longer_and_the_interval_holds_the_median(jax, tmp_path):
    def product(x):
        return jax.numpy.tanh(x @ x)

    small, large = jax.numpy.ones((128, 128)), jax.numpy.ones((1024, 1024))
    times = [systole_tpu.time(product, x, calls=12) for x in (small, large)]
    for timing in times:
        (device,) = timing.devices
        assert device.executions == 12 and device.device == "CPU:0" and timing.recorded_by == "host-threads"
        assert device.least_ps <= device.low_ps <= device.median_ps <= device.high_ps
        # A call waits for its execution.
        assert device.call_ps > device.median_ps and device.dispatch_ps > 0
        assert "jit_product" in timing.statement and "the median of 12" in timing.statement
        assert list(timing.tables) == ["execution_times"] and "<table" in timing.html()
    assert times[1].devices[0].median_ps > 5 * times[0].devices[0].median_ps
    kept = systole_tpu.time(jax.jit(product), small, calls=3, logdir=tmp_path / "logs")
    assert kept.devices[0].low_ps is None, "three executions have no interval"
    assert len(systole_tpu.open(tmp_path / "logs").steps) == 3


def test_what_cannot_be_timed_is_said(jax):
    x = jax.numpy.ones((8, 8))
    with pytest.raises(systole_tpu.UsageError, match="donated"):
        systole_tpu.time(jax.jit(lambda x: x + 1, donate_argnums=0), x)
    with pytest.raises(systole_tpu.UsageError, match="at least 1"):
        systole_tpu.time(lambda x: x, x, calls=0)


def test_without_jax_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match="pip install jax"):
        systole_tpu.time(len, [])


SERVER = """
import sys, jax, jax.numpy as jnp
jax.profiler.start_server(int(sys.argv[1]))
f = jax.jit(lambda x: jnp.tanh(x @ x))
x = f(jnp.ones((64, 64))).block_until_ready()
print("ready", flush=True)
step = 0
while True:
    with jax.profiler.StepTraceAnnotation("train", step_num=step):
        x = f(x).block_until_ready()
    step += 1
"""


def test_a_running_program_is_captured(jax, tmp_path):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert server.stdout.readline() == b"ready\n"
        captured = systole_tpu.capture(f"localhost:{port}", tmp_path / "logs", ms=300, steps=5)
        assert captured.lacks == () and captured.hosts[0].complete_steps >= 5, captured
        assert "A short capture of" in captured.said[0]
        assert len(captured.open().steps) >= 5
        with pytest.raises(systole_tpu.PathError, match="accepts connections|cannot connect"):
            systole_tpu.capture("127.0.0.1:1", tmp_path / "none", ms=20)
        timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            systole_tpu.capture(f"localhost:{port}", tmp_path / "stopped", ms=60_000)
        assert not (tmp_path / "stopped").exists()
    finally:
        server.kill()
