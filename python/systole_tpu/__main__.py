"""The command line: ``python -m systole_tpu``, and the command ``systole``."""

from __future__ import annotations

import signal
import sys

from . import _systole


def main() -> int:
    """Runs the command line with the arguments of the process; returns its exit code."""
    if sys.argv[1:2] == ["fleet"]:
        from .fleet.__main__ import main as fleet  # noqa: PLC0415, only this command needs it

        return fleet(sys.argv[2:])
    # Python keeps Ctrl+C for itself, and would show it only after the command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _systole.main(["systole", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
