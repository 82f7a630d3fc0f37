"""`systole bisect` with real JAX programs on the CPU. Run by scripts/capture-tests."""

import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

# A step multiplies once, or as often as a package says; its profile goes where bisect asks for it.
TRAIN = """
import os
import jax, jax.numpy as jnp
TIMES = 1
try:
    from work import TIMES
except ImportError:
    pass

@jax.jit
def train_step(x):
    for _ in range(TIMES):
        x = jnp.tanh(x @ x)
    return x

x = jnp.ones((400, 400))
train_step(x).block_until_ready()
jax.profiler.start_trace(os.environ["SYSTOLE_PROFILE_DIR"])
for step in range(20):
    with jax.profiler.StepTraceAnnotation("train", step_num=step):
        train_step(x).block_until_ready()
jax.profiler.stop_trace()
"""


class Place:
    """A folder with the program, in which bisect runs."""

    def __init__(self, systole, folder):
        self.systole, self.folder = systole, pathlib.Path(folder)
        self.write("train.py", TRAIN)

    def write(self, name, text):
        self.folder.joinpath(name).write_text(text)

    def git(self, *args):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *args], cwd=self.folder, check=True)

    def bisect(self, *args):
        done = subprocess.run([self.systole, "-q", "bisect", *args], cwd=self.folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done
        return done.stdout


def a_commit_is_found(place):
    place.git("init", "-q", ".")
    place.git("add", ".")
    place.git("commit", "-qm", "change 0")
    for number in range(1, 6):
        if number == 4:
            place.write("train.py", TRAIN.replace("TIMES = 1", "TIMES = 8"))
        place.write("notes", str(number))
        place.git("add", ".")
        place.git("commit", "-qm", f"change {number}")
    found = place.bisect("--good", "HEAD~5", "--bad", "HEAD", "--", sys.executable, "train.py")
    assert "(change 4)" in found.splitlines()[0], found


def a_flag_is_found(place):
    # Thirty cheap operations: one pass over the array if they are fused, sixty if not.
    cheap = TRAIN.replace("jnp.tanh(x @ x)", "x * 1.01 + 0.5").replace("TIMES = 1", "TIMES = 30").replace("400, 400", "1500, 1500")
    place.write("train.py", cheap)
    fused, unfused = "--xla_disable_hlo_passes=none", "--xla_disable_hlo_passes=fusion"
    place.write("flags.txt", f"{fused}\n{unfused}\n")
    ends = ["--over", "flags.txt", f"--good={fused}", f"--bad={unfused}"]
    found = place.bisect(*ends, "--", "sh", "-c", f"XLA_FLAGS={{}} {sys.executable} train.py")
    assert unfused in found.splitlines()[0], found


def a_package_is_found(place):
    versions = [("1.0", 1), ("1.1", 1), ("1.2", 8), ("1.3", 8)]
    for version, times in versions:
        info = f"work-{version}.dist-info"
        with zipfile.ZipFile(place.folder / f"work-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("work.py", f"TIMES = {times}\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: work\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    place.write("versions.txt", "".join(f"work=={version}\n" for version, _ in versions))
    install = f"{sys.executable} -m pip install -q --no-index --find-links . --target packages --upgrade {{}}"
    run = f"PYTHONPATH=packages {sys.executable} train.py"
    ends = ["--over", "versions.txt", "--good", "work==1.0", "--bad", "work==1.3"]
    found = place.bisect(*ends, "--", "sh", "-c", f"{install} && {run}")
    assert "work==1.2" in found.splitlines()[0], found


def main(systole):
    for test in [a_commit_is_found, a_flag_is_found, a_package_is_found]:
        with tempfile.TemporaryDirectory() as folder:
            test(Place(systole, folder))
        print(f"{test.__name__}: ok", flush=True)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
