"""Profiles of programs that run."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _systole
from ._errors import error_of
from ._open import open
from ._run import Run


@dataclass(frozen=True)
class CapturedHost:
    """What one host sent."""

    address: str
    #: The profile; ``None`` if there is none.
    file: str | None
    bytes: int | None
    devices: tuple[str, ...]
    #: Complete steps; ``None`` where the run could not be read.
    complete_steps: int | None
    #: Why there is no profile.
    error: str | None


@dataclass(frozen=True)
class Capture:
    """What :func:`capture` recorded."""

    #: The folder of the run.
    path: str
    hosts: tuple[CapturedHost, ...]
    #: What was measured and done, how hosts differ, and warnings.
    said: tuple[str, ...]
    #: What it lacks of what was asked for; empty if nothing.
    lacks: tuple[str, ...]

    def open(self, **options: Any) -> Run:
        """The run; options are those of :func:`systole_tpu.open`.

        >>> captured.open().slice_count > 0  # doctest: +SKIP
        True
        """
        return open(self.path, **options)


def capture(
    addresses: str | Sequence[str],
    logdir: str | os.PathLike[str] = "systole-logs",
    *,
    ms: int = 2000,
    steps: int | None = None,
    retry: int = 0,
    host_level: int = 2,
    python_level: int = 0,
    option: Mapping[str, object] | None = None,
    timeout: int | None = None,
    progress: Callable[[str], object] | None = None,
) -> Capture:
    """Records programs that called ``jax.profiler.start_server``, as ``systole capture`` does: for ``ms`` milliseconds, or as
    long as a number of ``steps`` takes. ``progress`` is called with how far it is, in words. Ctrl+C stops it; profiles
    that had arrived stay.

    >>> captured = systole_tpu.capture("localhost:9012", "logs", steps=20)  # doctest: +SKIP
    >>> print(captured.open().verdict)  # doctest: +SKIP

    What is incomplete is kept, and ``lacks`` says why. Raises ``PathError`` if no server sent a profile.
    """
    given = {
        "addresses": addresses.split(",") if isinstance(addresses, str) else list(addresses),
        "output": logdir,
        "ms": ms,
        "steps": steps,
        "retry": retry,
        "host_level": host_level,
        "python_level": python_level,
        "option": [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in (option or {}).items()],
        "timeout": timeout,
    }
    try:
        found = json.loads(_systole.capture(given, progress))
    except _systole.CommandFailed as failed:
        message, code = failed.args
        raise error_of(_as_arguments(message), code) from None
    hosts = tuple(
        CapturedHost(
            address=host["address"],
            file=host.get("file"),
            bytes=host.get("bytes"),
            devices=tuple(host.get("devices", ())),
            complete_steps=host.get("complete_steps"),
            error=_as_arguments(host["error"]) if host.get("error") else None,
        )
        for host in found["hosts"]
    )
    said = found["done"] + found["differences"] + found["warnings"]
    return Capture(found["run"], hosts, tuple(map(_as_arguments, said)), tuple(map(_as_arguments, found["lacks"])))


def same_modules() -> dict[str, str]:
    """The environment for another Python that finds the same modules as this one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _as_arguments(text: str) -> str:
    """The same with the names of arguments for those of options."""
    return re.sub(r"'--([a-z-]+)(?: <[^>]*>)?'|(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?![\w-])", _argument, text)


def _argument(option: re.Match[str]) -> str:
    name = (option[1] or option[2]).replace("-", "_")
    return name if name in inspect.signature(capture).parameters else option[0]
