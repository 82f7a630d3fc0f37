"""A small real capture: JAX on the CPU backend with four forced devices.

    python3 -m venv venv && venv/bin/pip install 'jax[cpu]'
    venv/bin/python sample-traces/capture/jax_cpu.py assets/samples/jax_cpu_small

Writes OUT.xplane.pb and OUT.trace.json.gz: six training steps with
StepTraceAnnotation, of which step 3 has another sequence length and therefore
compiles again; each step all-gathers its weights and all-reduces its gradients.
Host names are replaced, so that the files say nothing about the machine.
"""

import glob
import gzip
import os
import re
import socket
import sys
import tempfile

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

STEPS, RECOMPILING_STEP = 6, 3
WIDTH = 64


def train_step(weights, batch):
    """One step of one device: gathers the weights, reduces the gradients."""

    def loss(weights):
        full = jax.lax.all_gather(weights, "data", axis=0, tiled=True)
        return jnp.mean(jnp.tanh(batch @ full) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return weights - 0.1 * gradient, jax.lax.pmean(value, "data")


def main(out):
    mesh = Mesh(np.array(jax.devices()), ("data",))
    step = jax.jit(
        jax.shard_map(train_step, mesh=mesh, in_specs=(P("data", None), P("data", None)), out_specs=(P("data", None), P()))
    )
    rows = NamedSharding(mesh, P("data", None))

    def batch(index):
        length = 24 if index == RECOMPILING_STEP else 16
        return jax.device_put(np.full((4 * length, WIDTH), index, "float32"), rows)

    weights = jax.device_put(np.eye(WIDTH, dtype="float32"), rows)
    weights, value = step(weights, batch(0))
    value.block_until_ready()

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as logdir:
        with jax.profiler.trace(logdir, profiler_options=options):
            for index in range(STEPS):
                with jax.profiler.StepTraceAnnotation("train", step_num=index):
                    with jax.profiler.TraceAnnotation("load_batch"):
                        data = batch(index)
                    weights, value = step(weights, data)
                    value.block_until_ready()
        store(logdir, out)
    print(f"loss {float(value):.4f}")


def store(logdir, out):
    """Copies the two files of the run, without the name of this machine."""
    (xplane,) = glob.glob(f"{logdir}/plugins/profile/*/*.xplane.pb")
    (trace,) = glob.glob(f"{logdir}/plugins/profile/*/*.trace.json.gz")
    # Lengths are part of the protobuf: replace bytes one for one, and the host name,
    # which may be any short word, only in the field that holds it (hostnames = 4).
    host = socket.gethostname().encode()
    field = bytes([4 << 3 | 2, len(host)])
    private = {os.path.dirname(os.path.abspath(__file__)), jax.__path__[0].rsplit("/jax", 1)[0]}

    def scrub(data):
        for text in sorted(filter(None, private), key=len, reverse=True):
            data = data.replace(text.encode(), (b"sample-machine/" * 20)[: len(text)])
        return data.replace(field + host, field + (b"sample" * 20)[: len(host)])

    content = scrub(open(xplane, "rb").read())
    with open(f"{out}.xplane.pb", "wb") as file:
        file.write(content)
    text = scrub(gzip.open(trace, "rb").read())
    with open(f"{out}.trace.json.gz", "wb") as file:
        file.write(gzip.compress(text, 9, mtime=0))
    left = sorted(set(re.findall(rb"/(?:home|root|tmp|usr|work)[ -~]{0,80}", content + text)))
    print(f"{len(content)} bytes of protobuf, {len(text)} bytes of JSON; paths left: {left[:20]}")


if __name__ == "__main__":
    main(sys.argv[1])
