"""A profile of a block of JAX code."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from . import _systole
from ._open import open
from ._run import Run


def _record_environment(logdir: str, packages: Sequence[str]) -> None:
    """Writes systole.run.json beside the newest run: versions, flags, code. A profile without it is worth as much."""
    import jax

    try:
        runs = [run for run in (Path(logdir) / "plugins" / "profile").iterdir() if run.is_dir()]
        newest = max(runs, key=lambda run: run.stat().st_mtime)
        devices = jax.devices()
        chip = devices[0].device_kind if devices and devices[0].platform == "tpu" else None
        folders = [path for path in sys.path if path.endswith("-packages")]
        _systole.record_environment(newest, platform.python_version(), folders, list(packages), chip)
    except (OSError, RuntimeError, ValueError) as error:
        warnings.warn(f"systole.run.json was not written, so that comparisons cannot name versions and flags: {error}", stacklevel=3)


def without_python_tracer(options: dict[str, Any]) -> dict[str, Any]:
    """The same options, where they do not say what is recorded without calls of Python: tracing them makes hosts slow, and
    fills files with what no report about devices needs."""
    import jax.profiler

    # Older versions of JAX have no such options.
    kind = getattr(jax.profiler, "ProfileOptions", None)
    if kind is None or options.get("profiler_options") is not None:
        return options
    chosen = kind()
    chosen.python_tracer_level = 0
    return {**options, "profiler_options": chosen}


class Trace:
    """A profile that is being taken by :func:`trace`; afterwards :meth:`report` opens it.

    >>> t = systole_tpu.trace("traced")
    """

    def __init__(self, logdir: str | os.PathLike[str], packages: Sequence[str] = (), **options: Any) -> None:
        self._logdir = os.fspath(logdir)
        self._packages = packages
        self._options = options
        self._run: Run | None = None

    def __enter__(self) -> Trace:
        try:
            import jax.profiler
        except ImportError:
            raise ImportError("systole_tpu.trace takes profiles with JAX, which is not installed") from None
        jax.profiler.start_trace(self._logdir, **without_python_tracer(self._options))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        import jax.profiler

        jax.profiler.stop_trace()
        _record_environment(self._logdir, self._packages)

    def report(self, **options: Any) -> Run:
        """The profile that was taken, opened once; options are those of :func:`systole_tpu.open`.

        >>> with systole_tpu.trace("traced") as t:
        ...     y = f(x).block_until_ready()
        >>> t.report().slice_count > 0
        True
        """
        if self._run is None:
            self._run = open(self._logdir, **options)
        return self._run


def trace(logdir: str | os.PathLike[str], *, packages: Sequence[str] = (), **options: Any) -> Trace:
    """Takes a profile of a block with ``jax.profiler``; options are those of ``jax.profiler.start_trace``. Calls of Python are
    not traced, unless ``profiler_options`` says what is.

    Beside it ``systole.run.json`` says what ran: versions of JAX, libtpu and other packages, and of those in ``packages``;
    flags of XLA; the commit; the file that pins dependencies. Only variables of a fixed list are recorded.

    >>> with systole_tpu.trace("traced") as t:
    ...     y = f(x).block_until_ready()
    >>> t.report().path
    'traced'
    """
    return Trace(logdir, packages, **options)
