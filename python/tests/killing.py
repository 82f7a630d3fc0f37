"""The work of a task, with a worker that dies once: for tests of engines."""

import os
import signal

from systole_tpu.fleet._task import analyze as analyzed


def analyze(task):
    mark, _, name = os.environ["SYSTOLE_TEST_KILL"].partition(":")
    if name in task["path"] and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return analyzed(task)
