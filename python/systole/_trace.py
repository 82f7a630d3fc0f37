"""A profile of a block of JAX code."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from ._run import Run, open


class Trace:
    """A profile that is being taken; afterwards :meth:`report` opens it."""

    def __init__(self, logdir: str | os.PathLike[str], **options: Any) -> None:
        self._logdir = os.fspath(logdir)
        self._options = options
        self._run: Run | None = None

    def __enter__(self) -> Trace:
        try:
            import jax.profiler
        except ImportError:
            raise ImportError("systole.trace takes profiles with JAX, which is not installed") from None
        jax.profiler.start_trace(self._logdir, **self._options)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        import jax.profiler

        jax.profiler.stop_trace()

    def report(self, **options: Any) -> Run:
        """The profile that was taken, opened once; options are those of :func:`systole.open`."""
        if self._run is None:
            self._run = open(self._logdir, **options)
        return self._run


def trace(logdir: str | os.PathLike[str], **options: Any) -> Trace:
    """Takes a profile of a block with ``jax.profiler``; options are those of ``jax.profiler.start_trace``.

    with systole.trace("logdir") as t:
        train_step(...).block_until_ready()
    print(t.report())
    """
    return Trace(logdir, **options)
