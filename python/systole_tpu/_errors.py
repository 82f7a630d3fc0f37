"""Exceptions, by the exit codes of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import _systole


class Error(Exception):
    """What the command line would print, and the exit code that it would have."""

    #: Exit code of the command line.
    code: int

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class UsageError(Error, ValueError):
    """An argument is wrong, or the trace has no such thing (exit code 2)."""


class PathError(Error, OSError):
    """A path is missing or cannot be read or written (exit code 3)."""

    def __str__(self) -> str:
        return str(self.args[0])


class FormatError(Error):
    """A file is damaged or of an unknown format (exit code 4)."""


_BY_CODE: dict[int, type[Error]] = {2: UsageError, 3: PathError, 4: FormatError}


def error_of(message: str, code: int) -> Error:
    """The exception of an exit code of the command line."""
    return _BY_CODE.get(code, Error)(message, code)


@contextmanager
def translated() -> Iterator[None]:
    """Turns failures of the extension module into exceptions of this package."""
    try:
        yield
    except _systole.CommandFailed as failed:
        message, code = failed.args
        if code == 130:
            raise KeyboardInterrupt from None
        raise error_of(message.replace("ask again when", "the argument wait waits until"), code) from None
