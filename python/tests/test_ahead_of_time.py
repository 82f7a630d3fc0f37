"""Programs that libtpu compiles for TPUs on a machine without one: pip install jax[tpu]."""

import subprocess
import sys

import pytest
import systole_tpu

pytest.importorskip("libtpu")
pytest.importorskip("jax")

# Compiles variants of one training step for four chips and writes their texts into a folder.
COMPILE = """
import os, sys
os.environ.update(TPU_SKIP_MDS_QUERY="1", JAX_PLATFORMS="cpu")
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

chips = topologies.get_topology_desc(topology_name="v5p:2x2x1", platform="tpu").devices
mesh = Mesh(np.array(chips).reshape(2, 2), ("data", "model"))


def array(shape, dtype, *axes):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, PartitionSpec(*axes)))


def compiled(name, dtype=jnp.bfloat16, weights=(None, "model"), donate=(0,)):
    def loss(w, x):
        return jnp.mean(jnp.tanh(x @ w).astype(jnp.float32) ** 2)

    def train_step(w, x):
        value, gradient = jax.value_and_grad(loss)(w, x)
        return (w - 0.01 * gradient).astype(dtype), value

    w, x = array((1024, 4096), dtype, *weights), array((512, 1024), dtype, "data", None)
    program = jax.jit(train_step, donate_argnums=donate).lower(w, x).compile()
    with open(os.path.join(sys.argv[1], name + ".v5p.txt"), "w") as file:
        file.write(program.as_text())


compiled("base")
compiled("again")
compiled("kept", donate=())
compiled("float32", dtype=jnp.float32)
compiled("gathered", weights=("data", "model"))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([sys.executable, "-c", COMPILE, str(folder)], check=True, timeout=600)
    return {path.name.split(".")[0]: systole_tpu.program(path) for path in folder.iterdir()}


def test_one_program_twice_has_no_differences(programs):
    assert not programs["base"].program_diff(programs["again"])


def test_each_change_is_found(programs):
    def sums(name):
        return str(programs["base"].program_diff(programs[name]))

    assert "results in donated memory" in sums("kept")
    assert "products f32" in sums("float32")
    assert "all-gather among 2 devices" in sums("gathered")


def test_expectations_tell_the_variants_apart(programs):
    expected = [
        {"name": "weights are donated", "donated": "w*"},
        {"name": "products are bf16", "product": "bf16"},
        {"name": "no gathers", "collective": "all-gather", "max": 0},
    ]

    def missed(name):
        verdicts = programs[name].expect(*expected).verdicts
        return [name for name, verdict in verdicts.items() if verdict != "met"]

    assert missed("base") == []
    assert missed("kept") == ["weights are donated"]
    assert missed("float32") == ["products are bf16"]
    assert missed("gathered") == ["no gathers"]
