"""Where tasks run: processes of this machine, Ray, Spark. Each yields the notes of the tasks as they end; a task whose
worker died is tried again, and noted as failed after :data:`ATTEMPTS`."""

from __future__ import annotations

import functools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from .._capture import same_modules
from .._errors import UsageError
from ._dataset import Dataset
from ._task import analyze, lost

Task: TypeAlias = "dict[str, Any]"
Note: TypeAlias = "dict[str, Any]"

#: How often a task may lose its worker.
ATTEMPTS = 3

#: Captures that an engine gets as one task of its own, which costs it some milliseconds.
TOGETHER = 8


def local(tasks: list[Task], workers: int) -> Iterator[Note]:
    """On processes of this machine."""
    waiting: queue.SimpleQueue[tuple[Task, int]] = queue.SimpleQueue()
    notes: queue.SimpleQueue[Note | BaseException] = queue.SimpleQueue()
    processes: set[subprocess.Popen[str]] = set()
    stopped = threading.Event()
    for task in tasks:
        waiting.put((task, 1))

    def keep_busy() -> None:
        process = None
        try:
            while not stopped.is_set():
                try:
                    task, attempt = waiting.get_nowait()
                except queue.Empty:
                    break
                if process is None:
                    process = _started()
                    processes.add(process)
                note = _answer(process, task)
                if note is None:
                    how = _end(process)
                    processes.discard(process)
                    process = None
                    # It may have died between its note and its answer.
                    note = _finished(task)
                if note is not None:
                    notes.put(note)
                elif stopped.is_set():
                    break
                elif attempt < ATTEMPTS:
                    waiting.put((task, attempt + 1))
                else:
                    notes.put(lost(task, f"the worker died {attempt} times, last {how}"))
        except BaseException as error:  # Raised again where the notes are read.
            notes.put(error)
        finally:
            if process is not None:
                process.stdin.close()  # type: ignore[union-attr]
                process.wait()
                processes.discard(process)

    threads = [threading.Thread(target=keep_busy, daemon=True) for _ in range(min(workers, len(tasks)))]
    for thread in threads:
        thread.start()
    try:
        for _ in tasks:
            note = notes.get()
            if isinstance(note, BaseException):
                raise note
            yield note
    finally:
        stopped.set()
        for process in list(processes):
            process.terminate()
        for thread in threads:
            thread.join()


def _started() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from systole_tpu.fleet._worker import main; main()"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=same_modules())


def _answer(process: subprocess.Popen[str], task: Task) -> Note | None:
    """The note of a task; ``None`` if the worker died."""
    assert process.stdin and process.stdout
    try:
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError:
        return None
    return json.loads(line) if line.endswith("\n") else None


def _end(process: subprocess.Popen[str]) -> str:
    """Waits for a process that has died; says how."""
    code = process.wait()
    if code >= 0:
        return f"with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def ray(tasks: list[Task], workers: int) -> Iterator[Note]:
    """As tasks of Ray: those of the session that is connected, or of a new local one with ``workers`` processors."""
    try:
        import ray as cluster
    except ImportError:
        raise UsageError("the engine ray needs Ray: pip install ray", 2) from None
    if not cluster.is_initialized():
        start: dict[str, Any] = {"log_to_driver": False}
        if not os.environ.get("RAY_ADDRESS"):
            start |= {"num_cpus": workers, "include_dashboard": False}
        cluster.init(**start)
    remote = cluster.remote(num_cpus=1)(_analyze_all)
    processors = int(cluster.cluster_resources().get("CPU", workers))
    left = [(group, 1) for group in reversed(_groups(tasks, processors))]
    running: dict[Any, tuple[list[Task], int]] = {}
    while left or running:
        # Not all at once: thousands of waiting tasks are slow to schedule.
        while left and len(running) < max(100, 2 * processors):
            group, attempt = left.pop()
            # Each capture of a group that lost its worker is tried again alone.
            retries = 0 if attempt == 1 else ATTEMPTS - 2
            running[remote.options(max_retries=retries).remote(analyze, group)] = (group, attempt)
        for done in cluster.wait(list(running))[0]:
            group, attempt = running.pop(done)
            try:
                yield from cluster.get(done)
            except cluster.exceptions.RayError as error:
                if attempt == 1:
                    left.extend(([task], 2) for task in group)
                    continue
                why = str(error).strip().splitlines()[0]
                yield from (lost(task, f"the worker died {ATTEMPTS} times: {why}") for task in group)


def spark(tasks: list[Task], workers: int) -> Iterator[Note]:
    """As tasks of Spark: those of the active session, or of a new one (local, unless ``spark-defaults`` says more)."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("the engine spark needs PySpark: pip install pyspark", 2) from None
    session = SparkSession.getActiveSession()
    if session is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("systole_tpu.fleet").config("spark.ui.showConsoleProgress", "false")
        if "MASTER" not in os.environ and "SPARK_HOME" not in os.environ:
            builder = builder.master(f"local[{workers},{ATTEMPTS}]")
        session = builder.getOrCreate()
    context = session.sparkContext

    def run(some: list[Task]) -> list[Note]:
        parts = len(_groups(some, context.defaultParallelism))
        return context.parallelize(some, parts).mapPartitions(functools.partial(_analyze_all, analyze)).collect()

    yield from _rounds(tasks, run)


def _groups(tasks: list[Task], processors: int) -> list[list[Task]]:
    """The tasks in groups, small enough that all processors have several of them."""
    size = max(1, min(TOGETHER, len(tasks) // (4 * max(1, processors))))
    return [tasks[at : at + size] for at in range(0, len(tasks), size)]


def _analyze_all(work: Callable[[Task], Note], tasks: Iterable[Task]) -> list[Note]:
    """The notes of tasks, on a worker. What a worker that died had finished is not done again."""
    return [_finished(task) or work(task) for task in tasks]


def _finished(task: Task) -> Note | None:
    """The note of a task that was finished in this call."""
    note = Dataset(task["dataset"]).note(task["id"])
    return note if note and note.get("call") == task["call"] and note["status"] in ("done", "failed") else None


def _rounds(tasks: list[Task], run: Callable[[list[Task]], list[Note]]) -> Iterator[Note]:
    """Runs tasks on an engine that gives up all of them when one fails for good: what is finished is known from its
    notes, and the rest is tried again, at last each task alone."""
    left = tasks
    for attempt in range(1, ATTEMPTS + 1):
        groups = [left] if attempt < ATTEMPTS else [[task] for task in left]
        remaining = []
        for group in filter(None, groups):
            try:
                yield from run(group)
                continue
            except Exception as error:
                reason = str(error).strip().splitlines()[0]
            for task in group:
                note = _finished(task)
                if note:
                    yield note
                elif attempt == ATTEMPTS:
                    yield lost(task, f"the worker died {ATTEMPTS} times: {reason}")
                else:
                    remaining.append(task)
        left = remaining
        if not left:
            return


ENGINES: dict[str, Callable[[list[Task], int], Iterator[Note]]] = {"local": local, "ray": ray, "spark": spark}
