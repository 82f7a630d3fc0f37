"""Captures of many jobs and hosts: analyzed on an engine that is there, kept as one Parquet dataset, and answered for.

    result = systole_tpu.fleet("gs_mount/profiles", "fleet.dataset", engine="ray")
    print(result)
    print(systole_tpu.fleet.report("fleet.dataset"))

The same on the command line: ``systole fleet run PATHS -o DATASET``, ``systole fleet report DATASET``.
"""

from __future__ import annotations

import os
import sys
import types
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .._errors import PathError, UsageError
from .._open import open as open_run
from ._captures import Capture, Source, find
from ._dataset import Dataset
from ._engines import ENGINES
from ._render import FleetReport
from ._report import report

__all__ = ["Capture", "Failed", "FleetModule", "FleetReport", "FleetResult", "find", "report", "run"]


@dataclass(frozen=True)
class Failed:
    """A capture that could not be analyzed."""

    path: str
    #: What the command line would say of it.
    reason: str
    #: The exit code that the command line would have.
    code: int

    def __str__(self) -> str:
        return self.reason if self.path in self.reason else f"{self.reason}: {self.path}"


@dataclass(frozen=True)
class FleetResult:
    """What became of the captures."""

    #: Directory of the dataset.
    dataset: str
    #: Captures that were analyzed now.
    analyzed: int
    #: Captures that were in the dataset already.
    skipped: int
    #: Captures that could not be analyzed; they are tried again next time.
    failed: tuple[Failed, ...]

    def report(self, **options: Any) -> FleetReport:
        """What the whole dataset says: see :func:`report`."""
        return report(self.dataset, **options)

    def __str__(self) -> str:
        captures = "capture" if self.analyzed == 1 else "captures"
        lines = [f"{self.analyzed} {captures} analyzed, {self.skipped} there already, {len(self.failed)} failed: {self.dataset}"]
        return "\n".join(lines + [f"  {one}" for one in self.failed])


#: Called with the number of captures that are finished, that of all, and that of failures.
Progress = Callable[[int, int, int], object]


def run(
    paths: Source | Iterable[Source],
    dataset: str | os.PathLike[str],
    *,
    engine: Literal["local", "ray", "spark"] = "local",
    workers: int | None = None,
    layout: str | None = None,
    version: str | None = None,
    again: bool = False,
    progress: bool | Progress | None = None,
    **options: Any,
) -> FleetResult:
    """Analyzes captures (files of profiles) and writes their rows into a dataset.

    ``paths`` are files, directories (with all profiles below them), patterns, or mappings with ``path`` and names.
    ``layout`` says what directories mean: ``{job}/{version}/{run}/{host}``; by default that of profilers,
    ``{job}/plugins/profile/{run}/{host}``. ``version`` is that of all captures.

    ``engine`` is where the work is done: ``local`` processes, tasks of ``ray`` (the session that is connected, or
    ``RAY_ADDRESS``), or of ``spark`` (the active session). All workers must see ``paths`` and ``dataset``, and have
    systole-tpu installed. ``workers`` is the number of local processes, by default one for each processor.

    Captures that are in the dataset are skipped unless their files have changed, or ``again`` is given; captures that
    failed are tried again. Stopping at any time loses only captures that are not finished. ``options`` are those of
    :func:`systole_tpu.open`, for all captures: ``device_spec="v5e"``.
    """
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}; there are {', '.join(ENGINES)}", 2)
    if workers is not None and workers < 1:
        raise UsageError("workers: at least 1", 2)
    _check(options)
    captures = find(paths, layout)
    home = Dataset(dataset)
    home.root.mkdir(parents=True, exist_ok=True)
    processors = os.cpu_count() or 1
    workers = workers or processors
    shared = {
        "dataset": str(home.root),
        "options": options,
        "threads": max(1, processors // workers) if engine == "local" else 1,
        "again": again,
        "call": uuid.uuid4().hex,
    }
    wanted = []
    for capture in captures:
        task = {**capture.as_task(), **shared}
        task["version"] = capture.version or version
        note = None if again else home.note(capture.id)
        same = note is not None and (note["job"], note["run"], note["version"]) == (capture.job, capture.run, task["version"])
        if not (same and home.is_finished(capture.id, capture.size, capture.modified_ns)):
            wanted.append(task)
    tell = _line if progress is True or progress is None and sys.stderr.isatty() else progress or _silent
    done, skipped, failed = 0, len(captures) - len(wanted), []
    for note in ENGINES[engine](wanted, workers) if wanted else ():
        if note["status"] == "failed":
            failed.append(Failed(note["path"], note["reason"], note["code"]))
        elif note.get("unchanged"):
            skipped += 1
        else:
            done += 1
        tell(done + skipped + len(failed), len(captures), len(failed))
    failed.sort(key=lambda one: one.path)
    return FleetResult(str(home.root), done, skipped, tuple(failed))


def _check(options: dict[str, Any]) -> None:
    """Raises what every capture would fail with: options are looked at before paths."""
    nowhere = os.path.join(os.devnull, "nowhere")
    try:
        open_run(nowhere, progress=False, **options)
    except TypeError as error:
        raise UsageError(str(error), 2) from None
    except PathError as error:
        if not str(error).endswith(nowhere):
            raise


def _silent(done: int, all: int, failed: int) -> None:
    pass


def _line(done: int, all: int, failed: int) -> None:
    wrong = f", {failed} failed" if failed else ""
    print(f"systole: {done} of {all} captures{wrong}", end="\n" if done == all else "\r", file=sys.stderr, flush=True)


class FleetModule(types.ModuleType):
    """The type of this module, which can be called: ``systole_tpu.fleet(…)`` is ``systole_tpu.fleet.run(…)``."""

    if TYPE_CHECKING:  # They know no attributes of modules that are values.

        @staticmethod
        def find(paths: Source | Iterable[Source], layout: str | None = None) -> list[Capture]: ...

        @staticmethod
        def report(dataset: str | os.PathLike[str], *, families: int = 30) -> FleetReport: ...

        @staticmethod
        def run(paths: Source | Iterable[Source], dataset: str | os.PathLike[str], **options: Any) -> FleetResult: ...

    def __call__(self, paths: Source | Iterable[Source], dataset: str | os.PathLike[str], **options: Any) -> FleetResult:
        return run(paths, dataset, **options)


sys.modules[__name__].__class__ = FleetModule
