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

from typing import TYPE_CHECKING

from ._errors import Error, FormatError, PathError, UsageError
from ._pages import Picture
from ._run import Comparison, Expectations, Prediction, ProgramDiff, Run, open, program
from ._systole import __version__
from ._table import Column, Table
from ._trace import Trace, trace
from ._values import Evidence, Finding, Hint, Metric, Step, Verdict

if TYPE_CHECKING:
    from .fleet import _Callable as _Fleet

    #: The module :mod:`systole_tpu.fleet`, which can be called.
    fleet: _Fleet
else:
    from . import fleet

__all__ = [
    "Column",
    "Comparison",
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
    "Run",
    "Step",
    "Table",
    "Trace",
    "UsageError",
    "Verdict",
    "__version__",
    "fleet",
    "open",
    "program",
    "trace",
]
