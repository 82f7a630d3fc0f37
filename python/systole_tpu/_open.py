"""Opens traces and programs."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, TypeAlias

from . import _systole
from ._errors import translated
from ._run import Run

#: What can be opened: a path or an address, the bytes of a profile, or an open file of it.
Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]"
#: ``True`` or ``False``, or what is called with the share that is read, from 0 to 1.
Progress: TypeAlias = "bool | Callable[[float], object]"


def _progress_line(share: float) -> None:
    end = "\r" if share < 1 else "\n"
    print(f"systole: {share:4.0%} read", end=end, file=sys.stderr, flush=True)


class _CopyFolder:
    """A folder that is removed with the last run that uses it."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="systole-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _copied(source: bytes | bytearray | memoryview | IO[bytes]) -> tuple[str, _CopyFolder]:
    """A file with this content, in a folder that is there as long as the second value: arguments are read from it later."""
    folder = _CopyFolder()
    name = getattr(source, "name", None)
    # Files of descriptors have numbers for names.
    name = os.path.basename(name) if isinstance(name, str) else ""
    path = os.path.join(folder.path, name or "profile")
    with io.open(path, "wb") as file:
        if isinstance(source, (bytes, bytearray, memoryview)):
            file.write(source)
        else:
            while part := source.read(1 << 20):
                if isinstance(part, str):
                    raise TypeError("a file of text: open it with mode \"rb\"")
                file.write(part)
    return path, folder


def open(
    path: Source,
    *,
    run: str | None = None,
    device: int | Sequence[int] | None = None,
    device_spec: str | os.PathLike[str] | None = None,
    topology: str | None = None,
    warmup: int | None = None,
    clock: str | None = None,
    roles: str | os.PathLike[str] | None = None,
    llo: str | os.PathLike[str] | None = None,
    hlo: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    serving: Mapping[str, str] | None = None,
    wait: bool | int = False,
    no_cache: bool = False,
    config: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Opens a trace: a file, a run, a log directory (its newest run, or ``run``), a pattern, or an address in a bucket.
    Also the bytes of a profile, or a file that is open for reading bytes, of which a copy is kept as long as the run.

    >>> systole_tpu.open("logdir", warmup=1)
    <systole_tpu.Run logdir: 1574 slices>
    >>> systole_tpu.open(Path("logdir/plugins/profile/1/w0.xplane.pb").read_bytes()).slice_count
    1574

    ``device_spec`` names the chip where the profile records no peaks (``"v5e"``, or a file); ``serving`` names the
    annotations of a server by phase (``{"prefill": "my prompt*"}``); the other options are those of ``systole analyze``.
    Other threads go on meanwhile, and Ctrl+C stops it. ``progress`` shows how far it is: on a terminal by default;
    ``False`` for nothing, or a function that is called with the share that is read.

    Raises ``PathError``, ``FormatError`` or ``UsageError``.
    """
    options = {name: value for name, value in locals().items() if name not in ("path", "progress")}
    options["serving"] = [f"{phase}={pattern}" for phase, pattern in (serving or {}).items()]
    if progress is None:
        progress = sys.stderr.isatty()
    tick = _progress_line if progress is True else progress or None
    copy = None
    if not isinstance(path, (str, os.PathLike)):
        path, copy = _copied(path)
    with translated():
        session = _systole.open(os.fspath(path), options, tick)
    return Run(session, os.fspath(path), options=options, copy=copy)


def program(compiled: Any) -> Run:
    """Opens a program, which has no times: what ``jax.jit(f).lower(…)`` or its ``compile()`` returns, or the path of HLO
    text, serialized HLO, StableHLO, or a folder of ``--xla_dump_to``. For :meth:`Run.expect` and :meth:`Run.program_diff`.

    >>> systole_tpu.program("program.txt").expect({"name": "one product", "op": "dot", "exactly": 1}).verdicts
    {'one product': 'met'}

    Raises ``PathError``, ``FormatError`` or ``UsageError``.
    """
    if isinstance(compiled, (str, os.PathLike)):
        with translated():
            return Run(_systole.open(os.fspath(compiled), {}, None, True), os.fspath(compiled))
    if not hasattr(compiled, "as_text"):
        raise TypeError(f"a path, or what jax.jit(f).lower(…).compile() returns, not {type(compiled).__name__}")
    with tempfile.TemporaryDirectory(prefix="systole-") as folder:
        path = os.path.join(folder, "program.txt")
        with io.open(path, "w", encoding="utf-8") as file:
            file.write(compiled.as_text())
        with translated():
            return Run(_systole.open(path, {}, None, True), path)
