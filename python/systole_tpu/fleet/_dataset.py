"""The directory of a dataset.

    runs/date=2026-01-31/job=train/host=w0/<id>.parquet     one row for each capture; written last
    steps/…  ops/…  hints/…                                 rows of its reports
    _summaries/<id>.json                                    for comparisons
    _captures/<id>.json                                     what became of the capture
    _tmp/<id>/                                              files that are being written

``<id>`` stands for the path of the capture. Engines ignore directories that begin with ``_``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._errors import UsageError
from ._captures import is_remote

#: Tables, in the order in which they are written. A capture that has a row in ``runs`` has all its rows.
TABLES = ("steps", "ops", "hints", "runs")

#: Rises when files of an older version have to be made anew.
VERSION = 1

_MISSING = "__HIVE_DEFAULT_PARTITION__"


def escaped(value: str) -> str:
    """A value as the name of a directory, as Hive writes it."""
    special = set("\"#%'*/:=?\\{}[]^")
    return "".join(f"%{ord(c):02X}" if c in special or ord(c) < 32 else c for c in value) or _MISSING


class Dataset:
    """A dataset on disk. Raises ``UsageError`` for a bucket."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        if is_remote(os.fspath(root)):
            how = "name a directory that all workers see, such as that of a mounted bucket, or copy the dataset afterwards"
            raise UsageError(f"a dataset cannot be in a bucket, because its files are renamed; {how}: {root}", 2)
        self.root = Path(os.path.abspath(root))

    def note_path(self, id: str) -> Path:
        """The file that says what became of a capture."""
        return self.root / "_captures" / f"{id}.json"

    def note(self, id: str) -> dict[str, Any] | None:
        """What became of a capture; ``None`` if nothing is known of it."""
        try:
            note = json.loads(self.note_path(id).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return note if isinstance(note, dict) and note.get("dataset_version") == VERSION else None

    def write_note(self, id: str, note: dict[str, Any]) -> None:
        """Says what became of a capture."""
        path = self.note_path(id)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        beside.write_text(json.dumps({"dataset_version": VERSION, **note}, indent=1, sort_keys=True), encoding="utf-8")
        os.replace(beside, path)

    def notes(self) -> Iterator[dict[str, Any]]:
        """Of all captures, in the order of their paths."""
        found = (self.note(path.stem) for path in (self.root / "_captures").glob("*.json"))
        yield from sorted((note for note in found if note), key=lambda note: note["path"])

    def staging(self, id: str) -> Path:
        """An empty directory for the files of a capture."""
        path = self.root / "_tmp" / id
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def end_staging(self, id: str) -> None:
        """Removes that directory."""
        shutil.rmtree(self.root / "_tmp" / id, ignore_errors=True)
        try:
            (self.root / "_tmp").rmdir()
        except OSError:
            pass  # Others are writing.

    def publish(self, staged: Path, to: str) -> None:
        """Moves a finished file to its place, or over the one that is there."""
        path = self.root / to
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(staged, path)

    def remove(self, file: str) -> None:
        """Removes a file, and the directories that it leaves empty."""
        path = self.root / file
        path.unlink(missing_ok=True)
        for folder in path.parents:
            if folder == self.root:
                break
            try:
                folder.rmdir()
            except OSError:
                break

    def is_finished(self, id: str, size: int | None, modified_ns: int | None) -> bool:
        """Whether the capture is in the dataset as it is now, judged by size and time of its file. A file of a bucket
        that was named itself has neither here: it counts as written once."""
        note = self.note(id)
        if note is None or note["status"] != "done":
            return False
        return size is None or (note.get("size"), note.get("modified_ns")) == (size, modified_ns)
