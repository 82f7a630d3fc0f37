"""The work on one capture, on whichever machine: open it, write its rows, note what became of it."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from datetime import datetime, timezone
from typing import Any

from .._errors import Error, UsageError
from .._open import open as open_run
from .._systole import __version__
from ._captures import is_remote
from ._dataset import TABLES, Dataset, escaped


_NOTED = ("id", "path", "job", "run", "host", "version", "date", "size", "modified_ns", "call")


def analyze(task: dict[str, Any]) -> dict[str, Any]:
    """Analyzes a capture and writes its files. Returns the note of the capture; failures are noted, not raised."""
    # Read when the first threads start.
    os.environ.setdefault("RAYON_NUM_THREADS", str(task["threads"]))
    dataset, id, started = Dataset(task["dataset"]), task["id"], time.monotonic()
    before = dataset.note(id) or {}
    note = {key: task[key] for key in _NOTED}
    note |= {"files": before.get("files", []), "worker": socket.gethostname()}
    try:
        note |= _written(dataset, task, before, note)
    except Exception as error:  # Whatever happens to one capture must not stop the others.
        kind = "" if isinstance(error, (Error, OSError)) else f"{type(error).__name__}: "
        note |= {"status": "failed", "reason": f"{kind}{error}", "code": getattr(error, "code", 1)}
        dataset.end_staging(id)
    note["seconds"] = round(time.monotonic() - started, 3)
    dataset.write_note(id, note)
    return note


def lost(task: dict[str, Any], reason: str) -> dict[str, Any]:
    """Notes a capture whose workers died."""
    dataset = Dataset(task["dataset"])
    before = dataset.note(task["id"]) or {}
    note = {key: task[key] for key in _NOTED}
    note |= {"files": before.get("files", []), "status": "failed", "reason": reason, "code": 1}
    dataset.end_staging(task["id"])
    dataset.write_note(task["id"], note)
    return note


def _written(dataset: Dataset, task: dict[str, Any], before: dict[str, Any], note: dict[str, Any]) -> dict[str, Any]:
    path = task["path"]
    digest = None if is_remote(path) else _sha256(path)
    names = [(key, before.get(key)) == (key, task[key]) for key in ("job", "run", "version")]
    if digest and before.get("status") == "done" and before.get("sha256") == digest and all(names) and not task["again"]:
        return {**before, **{key: note[key] for key in ("size", "modified_ns", "call")}, "unchanged": True}
    # A capture that is in the dataset is not read again: a copy in the cache would only take room.
    options = {"no_cache": is_remote(path), **task["options"]}
    run = open_run(path, progress=False, **options)
    facts = run.table("runs").to_pylist()[0]
    host = task["host"] or next((host for host in run.table("sources")["host"] if host), None) or "unknown"
    date, date_from = _date(task, facts["started_unix_ns"])
    shared = {
        "capture": task["id"],
        "path": path,
        "run": task["run"],
        "version": task["version"],
        "date_from": date_from,
        "times_from": run.badge,
        "systole": __version__,
    }
    staging, files = dataset.staging(task["id"]), []
    place = f"date={escaped(date)}/job={escaped(task['job'])}/host={escaped(host)}/{task['id']}.parquet"
    for name in TABLES:
        try:
            table = run.table(name)
        except UsageError:
            continue  # The trace has no such report.
        constants = shared if name == "runs" else {key: shared[key] for key in ("capture", "run", "version", "times_from")}
        table.write(staging / f"{name}.parquet", constants=constants)
        files.append((staging / f"{name}.parquet", f"{name}/{place}"))
    try:
        (staging / "summary.json").write_text(run.summary(), encoding="utf-8")
        files.insert(0, (staging / "summary.json", f"_summaries/{task['id']}.json"))
    except Error:
        pass  # Nothing to compare.
    # A worker that dies from here on leaves the names of all files that may be there.
    planned, old = [to for _, to in files], list(before.get("files", []))
    dataset.write_note(task["id"], {**note, "status": "writing", "files": sorted({*planned, *old})})
    for stale in sorted(set(old) - set(planned)):
        dataset.remove(stale)
    for staged, to in files:
        dataset.publish(staged, to)
    dataset.end_staging(task["id"])
    return {"status": "done", "files": planned, "sha256": digest, "host": host, "date": date, "date_from": date_from}


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        if hasattr(hashlib, "file_digest"):
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()  # Python 3.10
        while piece := file.read(1 << 20):
            digest.update(piece)
        return digest.hexdigest()


def _date(task: dict[str, Any], started_unix_ns: int | None) -> tuple[str, str]:
    """The day of a capture (UTC), and where it comes from."""
    if task["date"]:
        return task["date"], "layout"
    # As profilers name runs: other digits are sizes and counts.
    try:
        return datetime.strptime(task["run"], "%Y_%m_%d_%H_%M_%S").date().isoformat(), "run name"
    except ValueError:
        pass
    times = ((started_unix_ns, "session start"), (task["modified_ns"], "file time"))
    for nanoseconds, source in times:
        if nanoseconds:
            return datetime.fromtimestamp(nanoseconds / 1e9, timezone.utc).date().isoformat(), source
    return "unknown", "nothing"
