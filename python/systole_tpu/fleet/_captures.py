"""Finding captures, and the job, run and host that each belongs to."""

from __future__ import annotations

import glob
import hashlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from .. import _systole
from .._errors import PathError, UsageError, translated

#: A file, a directory, a pattern, or a mapping with ``path`` and known names (``job``, ``run``, ``host`` …).
Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"

#: Endings of profiles, richest format first: of several files of a host, the first one is read.
ENDINGS = (
    ".xplane.pb",
    ".xspace.pb",
    ".xplane.pb.gz",
    ".xspace.pb.gz",
    ".xplane.riegeli",
    ".xspace.riegeli",
    ".trace.json.gz",
    ".trace.json",
    ".systole.zip",
)

#: Size of a file, and the time of its last write; ``None`` where a bucket does not tell.
_Facts: TypeAlias = "tuple[int | None, int | None]"

#: A path, with what a bucket says of it.
_File: TypeAlias = "tuple[str, _Facts | None]"

#: What a layout may name.
NAMES = ("date", "job", "version", "run", "host")

#: Where profilers put files, and any other place.
_LAYOUTS = ("{job}/plugins/profile/{run}/{host}", "{job}/{run}")


@dataclass(frozen=True)
class Capture:
    """A file of a profile: what one host recorded of one run."""

    path: str
    job: str
    run: str
    #: ``None``: as recorded in the file.
    host: str | None = None
    #: Version of the program, to find regressions; ``None`` if it is unknown.
    version: str | None = None
    #: ``2026-01-31``; ``None``: from the name of the run, else the start of the session, else the time of the file.
    date: str | None = None
    size: int | None = None
    modified_ns: int | None = None

    @property
    def id(self) -> str:
        """Stable name of the capture in a dataset."""
        return hashlib.sha256(self.path.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def as_task(self) -> dict[str, Any]:
        """What a worker gets."""
        return {**asdict(self), "id": self.id}


def find(sources: Source | Iterable[Source], layout: str | None = None) -> list[Capture]:
    """All captures of files, directories and patterns, each once, in the order of their paths; also of buckets.

    ``layout`` says what the directories of a path mean, counted from the file: ``{job}/{version}/{run}/{host}``. Its
    names are ``date``, ``job``, ``version``, ``run`` and ``host``; ``*`` stands for any directory.

    Raises ``PathError`` if a source does not exist or has no profiles, ``UsageError`` for a wrong layout.
    """
    patterns = [_pattern(layout)] if layout else [_pattern(one) for one in _LAYOUTS]
    if isinstance(sources, (str, os.PathLike, Mapping)):
        sources = [sources]
    found: dict[str, Capture] = {}
    for source in sources:
        if isinstance(source, Mapping):
            known = {name: str(value) if name in NAMES else value for name, value in source.items() if value is not None}
            unknown = set(source) - {field.name for field in fields(Capture)}
            if unknown or "path" not in known:
                raise UsageError(f"a capture has path, {', '.join(NAMES)}; not {', '.join(sorted(unknown)) or 'only names'}", 2)
            files: Iterable[_File] = [(_absolute(os.fspath(known.pop("path"))), None)]
        else:
            known, files = {}, _files(os.fspath(source))
        for path, facts in files:
            found[path] = _capture(path, facts, patterns, known, layout)
    return [found[path] for path in sorted(found)]


def is_remote(path: str) -> bool:
    """Whether it is an address; :mod:`pathlib` makes one slash of two."""
    return re.match(r"[A-Za-z][A-Za-z0-9]+:/", path) is not None


def _absolute(path: str) -> str:
    return path if is_remote(path) else os.path.abspath(path)


def _files(source: str) -> Iterator[_File]:
    if is_remote(source):
        yield from _remote_files(source)
        return
    source = os.path.abspath(source)
    if os.path.isfile(source):
        yield source, None
        return
    if os.path.isdir(source):
        files = _richest(_below(source))
        if not files:
            raise PathError(f"no profile below this directory; profiles end in {', '.join(ENDINGS)}: {source}", 3)
    else:
        matches = glob.glob(source, recursive=True) if glob.has_magic(source) else []
        files = [match for match in matches if os.path.isfile(match)]
        for folder in sorted(set(matches) - set(files)):
            files += _richest(_below(folder))
        if not files:
            raise PathError(f"no such file or directory: {source}", 3)
    yield from ((path, None) for path in files)


def _below(folder: str) -> Iterator[str]:
    """All files below a directory, also in directories that are linked there; those that are there themselves, too, once."""
    seen: set[str] = set()
    tops = [folder]
    while tops:
        linked: list[str] = []
        for at, folders, names in itertools.chain.from_iterable(map(os.walk, tops)):
            place = os.path.realpath(at)
            if place in seen:
                folders.clear()
                continue
            seen.add(place)
            yield from (os.path.join(at, name) for name in names)
            linked += (path for name in sorted(folders) if os.path.islink(path := os.path.join(at, name)))
        tops = linked


def _remote_files(source: str) -> Iterator[_File]:
    if source.endswith(ENDINGS) and not any(wildcard in source for wildcard in "*?"):
        # Workers may reach it where this process cannot.
        yield source, None
        return
    with translated():
        listed = {path: (size, modified_ns) for path, size, modified_ns in _systole.list_files(source)}
    files = _richest(listed)
    if not files:
        raise PathError(f"no profile below this address; profiles end in {', '.join(ENDINGS)}: {source}", 3)
    yield from ((path, listed[path]) for path in files)


def _richest(paths: Iterable[str]) -> list[str]:
    """Of the files of a host, the one with the richest format; files of other kinds are left out."""
    best: dict[str, tuple[int, str]] = {}
    for path in paths:
        name = os.path.basename(path)
        if name.startswith((".", "ALL_HOSTS.")):
            continue
        for rank, ending in enumerate(ENDINGS):
            if name.endswith(ending):
                host = path[: -len(ending)]
                best[host] = min(best.get(host, (rank, path)), (rank, path))
                break
    return [path for _, path in best.values()]


def _stem(path: str) -> str:
    for ending in ENDINGS:
        if path.endswith(ending):
            return path[: -len(ending)]
    return str(PurePosixPath(path).with_suffix(""))


def _pattern(layout: str) -> re.Pattern[str]:
    pieces = []
    for part in layout.strip("/").split("/"):
        text = ""
        for piece in re.split(r"(\{\w+\}|\*)", part):
            name = piece[1:-1] if piece.startswith("{") else None
            if name is not None and name not in NAMES:
                raise UsageError(f"layout: there is no {piece}; there are {', '.join('{%s}' % one for one in NAMES)}", 2)
            text += f"(?P<{name}>[^/]+?)" if name else "[^/]*" if piece == "*" else re.escape(piece)
        pieces.append(text)
    try:
        return re.compile(f"(?:^|/){'/'.join(pieces)}$")
    except re.error as error:
        raise UsageError(f"layout: {error}: {layout}", 2) from None


def _capture(
    path: str, facts: _Facts | None, patterns: list[re.Pattern[str]], known: dict[str, Any], layout: str | None
) -> Capture:
    stem = _stem(path).replace(os.sep, "/")
    matches = (pattern.search(stem) for pattern in patterns)
    match = next((match for match in matches if match), None)
    if match is None and layout:
        raise UsageError(f"the layout {layout} does not fit: {path}", 2)
    names = {**(match.groupdict() if match else {}), **known}
    folder, _, run = stem.rpartition("/")
    names.setdefault("run", run)
    names.setdefault("job", PurePosixPath(folder).name or "unknown")
    if not is_remote(path):
        try:
            status = os.stat(path)
        except OSError as error:
            raise PathError(f"{error.strerror}: {path}", 3) from None
        facts = (status.st_size, status.st_mtime_ns)
    if facts:
        names |= dict(zip(("size", "modified_ns"), facts))
    return Capture(path, **names)  # type: ignore[arg-type]
