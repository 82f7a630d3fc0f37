"""How long a function takes on the chip."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from typing import Any

from ._answers import Timing
from ._errors import UsageError, translated
from ._open import open
from ._trace import without_python_tracer

#: What annotates each call.
_CALL = "systole_tpu.time"


def time(fn: Callable[..., Any], *args: Any, calls: int = 20, logdir: str | os.PathLike[str] | None = None) -> Timing:
    """How long ``fn(*args)`` takes on the chip: records a profile of repeated calls, each of which is waited for, and reads
    the executions of its program from it. The first call, which compiles, is left out.

    >>> timing = systole_tpu.time(f, x, calls=8)
    >>> timing.devices[0].executions
    8

    ``fn`` is compiled with ``jax.jit`` if it is not yet. ``logdir`` keeps the profile. On a CPU, which records no executions of
    programs, they are those of the ops on threads of the host.

    Raises ``ImportError`` without JAX, and ``UsageError`` if arguments are donated, because each call needs them.
    """
    try:
        import jax
    except ImportError:
        raise ImportError("systole_tpu.time calls functions with JAX, which is not installed: pip install jax") from None
    if calls < 1:
        raise UsageError(f"calls: at least 1, not {calls}", 2)
    jitted: Any = fn if hasattr(fn, "lower") else jax.jit(fn)
    lowered = jitted.lower(*args)
    if any(getattr(leaf, "donated", False) for leaf in jax.tree_util.tree_leaves(lowered.args_info)):
        raise UsageError("a function with donated arguments cannot be called again with the same: time it without donate_argnums", 2)
    program = re.search(r"module @\"?([^\s\"{]+)", lowered.as_text())
    if program is None:
        raise UsageError("the program of this function has no name, so that its executions cannot be found", 2)
    jax.block_until_ready(jitted(*args))
    with tempfile.TemporaryDirectory(prefix="systole-time-") as folder:
        place = folder if logdir is None else os.fspath(logdir)
        with jax.profiler.trace(place, **without_python_tracer({})):
            for number in range(calls):
                with jax.profiler.StepTraceAnnotation(_CALL, step_num=number):
                    jax.block_until_ready(jitted(*args))
        run = open(place, progress=False)
        with translated():
            return Timing(run._session.execution_times(program.group(1), _CALL))
