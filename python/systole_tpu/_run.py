"""An open trace."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import IO, Any, Literal, TypeAlias

from . import _systole
from ._errors import UsageError, translated
from ._pages import Picture, framed
from ._table import Table
from ._values import Finding, Hint, Metric, Step, Verdict, of

#: What can be opened: a path or an address, the bytes of a profile, or an open file of it.
Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]"
#: Some steps: ``"3..7"`` or ``3``; ``range(3, 8)`` and ``slice(3, 8)``, which end before 8 as everywhere in Python.
Steps: TypeAlias = "str | int | range | slice"
#: A part of the timeline: ``"1.5ms..2ms"``, or ``slice(start, stop)`` in picoseconds.
Part: TypeAlias = "str | slice"
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


def _steps_text(steps: Steps) -> str:
    """``3..7`` of ``slice(3, 8)``."""
    if isinstance(steps, (str, int)):
        return str(steps)
    if steps.step not in (None, 1):
        raise UsageError(f"steps: every {steps.step}th step is no part of a trace", 2)
    if any(end is not None and end < 0 for end in (steps.start, steps.stop)):
        raise UsageError("steps: numbers of steps are those of the report, from 0 on", 2)
    first = "" if steps.start is None else str(steps.start)
    if steps.stop is not None and steps.stop <= (steps.start or 0):
        raise UsageError(f"steps: there is none in {steps}", 2)
    return f"{first}..{'' if steps.stop is None else steps.stop - 1}"


def _range_text(part: Part) -> str:
    """``5ps..9ps`` of ``slice(5, 9)``."""
    if isinstance(part, str):
        return part
    if part.step is not None:
        raise UsageError("range: a part of the timeline has no step", 2)
    end = lambda time: "" if time is None else f"{int(time)}ps"
    return f"{end(part.start)}..{end(part.stop)}"


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

        run = systole_tpu.open("logdir", device_spec="v5e")
        run = systole_tpu.open(requests.get(address).content)

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

        systole_tpu.program(jax.jit(f).lower(x).compile()).expect({"name": "one product", "op": "dot", "exactly": 1})

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


class Run:
    """An open trace, or a part of it: see :meth:`scope`. Made by :func:`open`."""

    def __init__(
        self,
        session: _systole.Session,
        path: str,
        part: str = "",
        *,
        options: Mapping[str, Any] | None = None,
        copy: object = None,
    ) -> None:
        self._session = session
        self._part = part
        # How it was opened, for runs that it is compared with; and what holds its file.
        self._options = options or {}
        self._copy = copy
        #: What was opened.
        self.path = path

    def scope(self, *, steps: Steps | None = None, range: Part | None = None) -> Run:
        """The same trace, with reports about a part and its slices.

            run.scope(steps="3..7")                       # as on the command line: both included
            run.scope(steps=slice(3, 8))                  # the same
            run.scope(range="1.5ms..2ms")
            run.scope(range=slice(1_500_000_000, None))   # picoseconds, to the end
        """
        steps = None if steps is None else _steps_text(steps)
        range = None if range is None else _range_text(range)
        with translated():
            session = self._session.scoped({"steps": steps, "range": range})
        part = f"steps {steps}" if steps is not None else (range or "")
        return Run(session, self.path, part, options=self._options, copy=self._copy)

    def _other(self, other: Run | str | os.PathLike[str]) -> Run:
        """Another run: if it is a path, opened like this one."""
        if isinstance(other, Run):
            return other
        # A run of the same name need not be there.
        options = {**self._options, "run": None}
        with translated():
            return Run(_systole.open(os.fspath(other), options, None), os.fspath(other), options=options)

    @property
    def badge(self) -> str | None:
        """``SIMULATED by …`` where times were computed; ``None`` where they were measured."""
        return self._session.badge

    @property
    def slice_count(self) -> int:
        """Number of slices of the whole trace."""
        return self._session.slice_count

    def report(self, id: str) -> dict[str, Any]:
        """One report with all its fields, as in ``systole analyze --format json``.

            run.report("overlap")["statement"]

        Raises ``UsageError`` if this trace has no such report; the message says why.
        """
        with translated():
            document = json.loads(self._session.analyze([id]).json)["reports"][id]
        if "report" not in document:
            raise UsageError(f"{id}: {document.get('not_applicable') or 'not applicable'}", 2)
        return document["report"]

    @cached_property
    def verdict(self) -> Verdict:
        """What limits the program: ``print(run.verdict)``."""
        report = self.report("verdict")
        return Verdict(report["statement"], tuple(of(Finding, one) for one in report["findings"]))

    @cached_property
    def hints(self) -> list[Hint]:
        """What to do, most worth first: ``[(hint.id, hint.title, hint.saving_percent) for hint in run.hints]``."""
        return [Hint.of_report(one) for one in self.report("hints")["hints"]]

    @cached_property
    def steps(self) -> list[Step]:
        """All steps in time order: ``max(run.steps, key=lambda step: step.time_ps)``."""
        return [of(Step, one) for one in self.report("steps")["steps"]]

    @cached_property
    def utilization(self) -> dict[str, Metric]:
        """Key figures by their ids, each with its unit, reference and source: ``run.utilization["mfu_window_percent"]``."""
        return {one["id"]: of(Metric, one) for one in self.report("utilization")["combined"]}

    @property
    def tables(self) -> list[str]:
        """Names of all tables: the timeline, then those of reports."""
        return self._session.table_names()

    def table(self, name: str) -> Table:
        """A table by its name: ``slices``, ``steps``, ``ops``, ``hints`` … (see :attr:`tables`).

            run.table("ops").to_pandas().nlargest(5, "self_time_ps")
        """
        with translated():
            return Table(self._session.table(name))

    def slices(self, columns: Sequence[str] | None = None, where: str | None = None) -> Table:
        """Slices that begin in this part, those that fulfil ``where``.

            run.slices(["name", "dur_ps"], where="category = 'Collective' AND step = 3")
        """
        return self._rows("slices", columns, where)

    def counters(self, columns: Sequence[str] | None = None, where: str | None = None) -> Table:
        """Samples of counters of the whole trace."""
        return self._rows("counters", columns, where)

    def flows(self, columns: Sequence[str] | None = None, where: str | None = None) -> Table:
        """Flows between slices of the whole trace."""
        return self._rows("flows", columns, where)

    def _rows(self, table: str, columns: Sequence[str] | None, where: str | None) -> Table:
        if columns is None:
            # Arguments are by far the slowest to read: they are there for who names them.
            columns = [name for name, *_ in self._session.table(table).columns if name != "args"]
        with translated():
            return Table(self._session.rows(table, list(columns), where))

    def args(self, slice_id: int) -> dict[str, Any]:
        """The arguments of a slice as recorded: ``run.args(17)["run_id"]``."""
        found = self.query(f"SELECT args FROM slices WHERE slice_id = {int(slice_id)}")
        return json.loads(found[0]["args"]) if found and found[0]["args"] else {}

    def query(self, sql: str, *, limit: int = 0, seconds: float | None = None) -> list[dict[str, Any]]:
        """Answers SQL of SQLite over all tables, or a ready-made query by its name (``systole query PATH --list``).

        ``limit`` is the most rows, 0 for all; ``seconds`` how long it may take.

            run.query("SELECT name, ms(sum(self_ps)) AS ms FROM op_slices GROUP BY name ORDER BY ms DESC", limit=5)
        """
        with translated():
            columns, rows, _ = self._session.query(sql, limit, seconds)
        return [dict(zip(columns, row)) for row in rows]

    def sql(self, query: str) -> Any:
        """Answers SQL of DuckDB over all tables (needs ``pip install systole-tpu[sql]``): a DuckDB relation."""
        import re

        try:
            import duckdb
            import pyarrow
        except ImportError as missing:
            raise ImportError(f"run.sql needs {missing.name}: pip install 'systole-tpu[sql]'; run.query does without") from None
        connection = duckdb.connect()
        for name in [name for name in self.tables if re.search(rf"\b{name}\b", query)]:
            # A stream can be read once: DuckDB may read a table several times.
            connection.register(name, pyarrow.table(self._rows(name, None, None) if name == "slices" else self.table(name)))
        return connection.sql(query)

    def compare(
        self, other: Run | str | os.PathLike[str], *, alpha: float = 0.05, min_effect: float = 0.1, force: bool = False
    ) -> Comparison:
        """What changed from this run to ``other``, and whether it is more than noise. A path is opened like this run.

            print(run.compare("after/logdir").statement)
        """
        test = {"alpha": alpha, "min_effect": min_effect, "force": force}
        session = self._other(other)._session
        with translated():
            return Comparison(self._session.compare(session, test))

    def expect(self, *expected: Mapping[str, object]) -> Expectations:
        """Whether the program or the run is as expected: ``run.expect({"name": "no gathers", "collective": "all-gather",
        "max": 0})``, with the keys of ``[[expect]]`` in TOML."""
        with translated():
            return Expectations(self._session.expect({"expect": list(expected)}))

    def program_diff(self, other: Run) -> ProgramDiff:
        """What differs between the programs of this run and of ``other``, whatever the names of instructions.

            assert run.program_diff(systole_tpu.open("other")), "the change had no effect"
        """
        with translated():
            return ProgramDiff(self._session.program_diff(other._session))

    def what_if(
        self,
        *,
        ici: float | None = None,
        copies: float | None = None,
        hbm: float | None = None,
        flops: float | None = None,
        hide_collectives: bool = False,
        hide_copies: bool = False,
        op: Mapping[str, float] | None = None,
        no_recompile: bool = False,
        no_idle: bool = False,
    ) -> Prediction:
        """How long the steps would take with faster links, hidden copies, cheaper ops …

            print(run.what_if(ici=2, op={"fusion.*": 0.5}))
        """
        changes = {name: value for name, value in locals().items() if name != "self"}
        changes["op"] = [{"name": name, "time": time} for name, time in (op or {}).items()]
        with translated():
            return Prediction(self._session.what_if(changes))

    def timeline(self, *, size: str = "1200x700", by_name: bool = False) -> Picture:
        """The tracks in this part of the trace, as a picture; ``by_name`` colours by names, not by categories.

            run.scope(steps=2).timeline()
        """
        return self.picture("timeline", size=size, by_name=by_name)

    def picture(
        self, panel: Literal["timeline", "roofline", "steps"], *, size: str = "1200x700", by_name: bool = False
    ) -> Picture:
        """What ``systole render`` draws: tracks, ops in a roofline plot, or step times by part."""
        look = {"panel": panel, "size": size, "by_name": by_name}
        with translated():
            return Picture(self._session.picture(look), self._session.picture({**look, "dark": True}))

    def summary(self) -> str:
        """What ``systole summarize`` writes: JSON, which ``systole compare`` takes in place of the trace.

            Path("base.json").write_text(run.summary())
        """
        with translated():
            return self._session.summary()

    def html(self) -> str:
        """The report as a page of its own, as ``systole analyze -o html=FILE`` writes it.

            Path("run.html").write_text(run.html())
        """
        with translated():
            return self._session.page()

    def __str__(self) -> str:
        with translated():
            return self._session.analyze([]).text

    def __repr__(self) -> str:
        part = f", {self._part}" if self._part else ""
        return f"<systole_tpu.Run {self.path}{part}: {self.slice_count} slices>"

    def _repr_html_(self) -> str:
        return framed(self.html())


class _Answer:
    def __init__(self, answer: _systole.Answer) -> None:
        self._answer = answer

    @cached_property
    def report(self) -> dict[str, Any]:
        """All fields, as in the JSON of the command line."""
        return json.loads(self._answer.json)

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Its tables by their names."""
        return {table.name: Table(table) for table in self._answer.tables}

    def __str__(self) -> str:
        return self._answer.text


class Comparison(_Answer):
    """What changed between two runs."""

    @property
    def statement(self) -> str:
        """The change in a sentence."""
        return self.report["statement"]

    @property
    def brief(self) -> dict[str, str]:
        """What to read first: ``work``, ``step``, ``conclusion``, ``look_first``, ``record_next`` …, as far as known."""
        return self.report["brief"]

    def html(self) -> str:
        """A page of its own."""
        return self._answer.html

    def __repr__(self) -> str:
        return f"<systole_tpu.Comparison: {self.statement}>"

    def _repr_html_(self) -> str:
        return framed(self.html())


class Expectations(_Answer):
    """Expectations with their answers."""

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return self.report["reports"]["expect"]["report"]["rows"]

    @property
    def verdicts(self) -> dict[str, str]:
        """``met``, ``not-met`` or ``unknown`` by the name of the expectation."""
        return {row["name"]: row["verdict"] for row in self._rows}

    def __bool__(self) -> bool:
        """Whether all are met."""
        return all(verdict == "met" for verdict in self.verdicts.values())

    def __repr__(self) -> str:
        return f"<systole_tpu.Expectations>\n{self}"


class ProgramDiff(_Answer):
    """What differs between two programs."""

    def __bool__(self) -> bool:
        """Whether an instruction differs."""
        return bool(self.report["reports"]["hlo"]["report"]["rows"])

    def __repr__(self) -> str:
        return f"<systole_tpu.ProgramDiff>\n{self}"


class Prediction(_Answer):
    """How long the run would take with changes."""

    def __repr__(self) -> str:
        return f"<systole_tpu.Prediction>\n{self}"
