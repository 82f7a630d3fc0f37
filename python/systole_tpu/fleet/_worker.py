"""A worker process of the local engine: tasks come as lines of JSON, their notes go back as lines of JSON."""

from __future__ import annotations

import json
import os
import sys

from ._task import analyze


def main() -> None:
    """Works until its input ends."""
    # Whatever else writes to standard output must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(analyze(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
