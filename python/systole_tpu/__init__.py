"""What limits a TPU program: profiles of JAX, PyTorch/XLA and TensorFlow, analyzed.

    import systole_tpu
    run = systole_tpu.open("logdir")
    print(run.verdict)
    for hint in run.hints:
        print(hint.title, hint.action)
    run.table("ops")              # any table of any report: pandas.DataFrame(...), polars, pyarrow, DuckDB read it
    run.compare(other)            # what changed, and whether it is more than noise

Everything is what the command line says: ``systole analyze``, ``compare``, ``whatif``, ``query``.
"""

from typing import cast

from . import fleet as _fleet
from ._answers import Answer, Comparison, Expectations, Prediction, ProgramDiff, Programs, Timing
from ._capture import Capture, CapturedHost, capture
from ._errors import Error, FormatError, PathError, UsageError
from ._open import open, program
from ._pages import Picture
from ._run import Run
from ._systole import __version__
from ._table import Column, Table
from ._time import time
from ._trace import Trace, trace
from ._values import DeviceTime, Evidence, Finding, Hint, Metric, Step, Verdict
from .fleet import FleetModule

#: The module :mod:`systole_tpu.fleet`, which can be called.
fleet: FleetModule = cast(FleetModule, _fleet)

__all__ = [
    "Answer",
    "Capture",
    "CapturedHost",
    "Column",
    "Comparison",
    "DeviceTime",
    "Error",
    "Evidence",
    "Expectations",
    "Finding",
    "FormatError",
    "Hint",
    "Metric",
    "PathError",
    "Picture",
    "Prediction",
    "ProgramDiff",
    "Programs",
    "Run",
    "Step",
    "Table",
    "Timing",
    "Trace",
    "UsageError",
    "Verdict",
    "__version__",
    "capture",
    "fleet",
    "open",
    "program",
    "time",
    "trace",
]
