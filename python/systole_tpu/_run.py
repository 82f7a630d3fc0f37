"""An open trace."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias

from . import _systole
from ._answers import Comparison, Expectations, Prediction, ProgramDiff, Programs
from ._errors import UsageError, translated
from ._pages import Picture, framed
from ._table import Table, listed
from ._values import Finding, Hint, Metric, Step, Verdict, of

#: Some steps: ``"3..7"`` or ``3``; ``range(3, 8)`` and ``slice(3, 8)``, which end before 8 as everywhere in Python.
Steps: TypeAlias = "str | int | range | slice"
#: A part of the timeline: ``"1.5ms..2ms"``, or ``slice(start, stop)`` in picoseconds.
Part: TypeAlias = "str | slice"
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


class Run:
    """An open trace, or a part of it: see :meth:`scope`. Made by :func:`systole_tpu.open`.

    >>> run
    <systole_tpu.Run logdir: 1574 slices>
    """

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

        Steps are written as on the command line, where both are included, or as a slice; a range is a text or a slice of
        picoseconds.

        >>> [step.number for step in run.scope(steps="1..2").steps]
        [1, 2]
        >>> [step.number for step in run.scope(steps=slice(1, 3)).steps]
        [1, 2]
        >>> len(run.scope(range="0..40ms").slices()) == len(run.scope(range=slice(0, 40_000_000_000)).slices())
        True
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
        """``SIMULATED by …`` where times were computed; ``None`` where they were measured.

        >>> print(run.badge)
        None
        """
        return self._session.badge

    @property
    def slice_count(self) -> int:
        """Number of slices of the whole trace.

        >>> run.slice_count
        1574
        """
        return self._session.slice_count

    def report(self, id: str) -> dict[str, Any]:
        """One report with all its fields, as in ``systole analyze --format json``.

        >>> run.report("steps")["marker"]
        'Steps'

        Raises ``UsageError`` if this trace has no such report; the message says why.
        """
        with translated():
            document = json.loads(self._session.analyze([id]).json)["reports"][id]
        if "report" not in document:
            raise UsageError(f"{id}: {document.get('not_applicable') or 'not applicable'}", 2)
        return document["report"]

    @cached_property
    def verdict(self) -> Verdict:
        """What limits the program.

        >>> print(run.verdict)
        Compiling takes 50.00 ms, 52.1 % of the capture (train_step), a recompilation; ...
        """
        report = self.report("verdict")
        return Verdict(report["statement"], tuple(of(Finding, one) for one in report["findings"]))

    @cached_property
    def hints(self) -> list[Hint]:
        """What to do, most worth first.

        >>> [hint.id for hint in run.hints][:2]
        ['K36', 'K01']
        """
        return [Hint.of_report(one) for one in self.report("hints")["hints"]]

    @cached_property
    def steps(self) -> list[Step]:
        """All steps in time order.

        >>> max(run.steps, key=lambda step: step.time_ps).number
        2
        """
        return [of(Step, one) for one in self.report("steps")["steps"]]

    @cached_property
    def utilization(self) -> dict[str, Metric]:
        """Key figures by their ids, each with its unit, reference and source.

        >>> print(run.utilization["mfu_window_percent"])
        MFU, first op to last: 11.3871 % of first op to last (93.90 ms × 8 devices) × 202.7 TFLOP/s (recorded in the capture)
        """
        return {one["id"]: of(Metric, one) for one in self.report("utilization")["combined"]}

    @property
    def tables(self) -> list[str]:
        """Names of all tables: the timeline, then those of reports.

        >>> run.tables[:2]
        ['slices', 'tracks']
        """
        return self._session.table_names()

    def table(self, name: str) -> Table:
        """A table by its name: ``slices``, ``steps``, ``ops``, ``hints`` … (see :attr:`tables`).

        >>> run.table("steps").head(2)["step"]
        [0, 1]
        """
        with translated():
            return Table(self._session.table(name))

    def slices(self, columns: str | Sequence[str] | None = None, where: str | None = None) -> Table:
        """Slices that begin in this part, those that fulfil ``where``.

        >>> len(run.slices(["name", "dur_ps"], where="category = 'Collective' AND step = 2"))
        96
        """
        return self._rows("slices", columns, where)

    def counters(self, columns: str | Sequence[str] | None = None, where: str | None = None) -> Table:
        """Samples of counters of the whole trace.

        >>> len(run.counters())
        0
        """
        return self._rows("counters", columns, where)

    def flows(self, columns: str | Sequence[str] | None = None, where: str | None = None) -> Table:
        """Flows between slices of the whole trace.

        >>> len(run.flows())
        64
        """
        return self._rows("flows", columns, where)

    def _rows(self, table: str, columns: str | Sequence[str] | None, where: str | None) -> Table:
        if columns is None:
            # Arguments are by far the slowest to read: they are there for who names them.
            columns = [name for name, *_ in self._session.table(table).columns if name != "args"]
        with translated():
            return Table(self._session.rows(table, listed(columns), where))

    def args(self, slice_id: int) -> dict[str, Any]:
        """The arguments of a slice as recorded, by its number in :meth:`slices`. They are read from the file: raises
        ``PathError`` if it was moved or has changed. Ctrl+C stops waiting for it.

        >>> sorted(run.args(0))
        ['group_id']
        """
        number = int(slice_id)
        if not 0 <= number < self.slice_count:
            raise IndexError(f"there is no slice {number}: this trace has {self.slice_count}, and the first is 0")
        with translated():
            text = self._session.args(number)
        return json.loads(text) if text else {}

    def events(
        self,
        *,
        name: str | Sequence[str] = (),
        category: str | Sequence[str] = (),
        program: str | Sequence[str] = (),
        track: str | Sequence[str] = (),
        kind: str | Sequence[str] = (),
        host: str | Sequence[str] = (),
        least: str | None = None,
        most: str | None = None,
        group_by: str | Sequence[str] = (),
        columns: str | Sequence[str] = (),
        sort: str | None = None,
        reverse: bool = False,
        limit: int = 0,
        offset: int = 0,
    ) -> Table:
        """What ``systole events`` lists: events by patterns and lengths, or their times in groups. Rows are read when they
        are asked for.

        >>> run.events(kind="ops", sort="duration", columns=["name", "dur"]).head(1).to_pylist()
        [{'name': 'all-gather.1', 'dur_ps': 828504494}]
        >>> run.events(group_by="kind", sort="count")["track_kind"][0]
        'ops'
        """
        question = {name: value for name, value in locals().items() if name != "self" and value is not None}
        for key in ("name", "category", "program", "track", "kind", "host", "group_by", "columns"):
            question[key] = listed(question[key])
        with translated():
            return Table(self._session.events(question))

    def hlo(
        self,
        op: str | None = None,
        *,
        radius: int = 2,
        text: bool = False,
        find: str | None = None,
        program: str | None = None,
    ) -> Programs:
        """What ``systole hlo`` says about the programs of the compiler: their list; an instruction with its operands and
        users; the ``text`` of a program with the time of each line; instructions with all words of ``find``.

        >>> len(run.hlo().tables["programs"]) > 0
        True
        """
        question = {"op": op, "radius": radius, "text": text, "find": find, "program": program}
        with translated():
            return Programs(self._session.programs(question))

    def explain(self, hint: str | Hint) -> str:
        """What ``systole explain`` says: what a hint means, how to check it, and how to cure it.

        >>> print(run.explain(run.hints[0]).splitlines()[0])
        # K36 Compilation in the loop
        """
        with translated():
            return _systole.explain(hint.id if isinstance(hint, Hint) else hint)

    def query(self, sql: str, *, limit: int = 0, seconds: float | None = None) -> list[dict[str, Any]]:
        """Answers SQL of SQLite over all tables, or a ready-made query by its name (``systole query PATH --list``).

        ``limit`` is the most rows, 0 for all; ``seconds`` how long it may take.

        >>> run.query("SELECT category FROM op_slices GROUP BY category ORDER BY sum(self_ps) DESC", limit=1)
        [{'category': 'Collective'}]
        """
        if limit < 0:
            raise UsageError("limit: the most rows, 0 for all", 2)
        with translated():
            columns, rows, _ = self._session.query(sql, limit, seconds)
        return [dict(zip(columns, row)) for row in rows]

    def sql(self, query: str) -> Any:
        """Answers SQL of DuckDB over all tables (needs ``pip install systole-tpu[sql]``): a DuckDB relation.

        >>> run.sql("SELECT count(*) FROM slices").fetchall()
        [(1574,)]
        """
        import re

        try:
            import duckdb
            import pyarrow
        except ImportError as missing:
            raise ImportError(f"run.sql needs {missing.name}: pip install 'systole-tpu[sql]'; run.query does without") from None
        connection = duckdb.connect()
        named = lambda name: re.search(rf"\b{name}\b", query, re.IGNORECASE)
        views = [view for view in _systole.query_views() if named(view[0])]
        for name in self.tables:
            if named(name) or views and name == "slices":
                # A stream can be read once: DuckDB may read a table several times.
                connection.register(name, pyarrow.table(self._rows(name, None, None) if name == "slices" else self.table(name)))
        for name, select in views:
            connection.execute(f"CREATE VIEW {name} AS {select}")
        return connection.sql(query)

    def compare(
        self, other: Run | str | os.PathLike[str], *, alpha: float = 0.05, min_effect: float = 0.1, force: bool = False
    ) -> Comparison:
        """What changed from this run to ``other``, and whether it is more than noise. A path is opened like this run.

        >>> print(run.compare("after").statement)
        not the same work: ...
        """
        test = {"alpha": alpha, "min_effect": min_effect, "force": force}
        session = self._other(other)._session
        with translated():
            return Comparison(self._session.compare(session, test))

    def expect(self, *expected: Mapping[str, object]) -> Expectations:
        """Whether the program or the run is as expected, with the keys of ``[[expect]]`` in TOML.

        >>> bool(run.expect({"name": "no gathers", "collective": "all-gather", "max": 0}))
        False
        """
        with translated():
            return Expectations(self._session.expect({"expect": list(expected)}))

    def program_diff(self, other: Run) -> ProgramDiff:
        """What differs between the programs of this run and of ``other``, whatever the names of instructions.

        >>> bool(run.program_diff(run))
        False
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

        >>> list(run.what_if(ici=2).tables)
        ['prediction', 'prediction_parts']
        """
        changes = {name: value for name, value in locals().items() if name != "self"}
        changes["op"] = [{"name": name, "time": time} for name, time in (op or {}).items()]
        with translated():
            return Prediction(self._session.what_if(changes))

    def timeline(self, *, size: str = "1200x700", by_name: bool = False) -> Picture:
        """The tracks in this part of the trace, as a picture; ``by_name`` colours by names, not by categories. A notebook
        shows it so that it can be enlarged and moved.

        >>> run.scope(steps=2).timeline(size="800x400").svg[:4]
        '<svg'
        """
        return self.picture("timeline", size=size, by_name=by_name)

    def roofline(self, *, size: str = "1200x700") -> Picture:
        """The ops in a roofline plot.

        >>> run.roofline().svg[:4]
        '<svg'
        """
        return self.picture("roofline", size=size)

    def picture(
        self, panel: Literal["timeline", "roofline", "steps"], *, size: str = "1200x700", by_name: bool = False
    ) -> Picture:
        """What ``systole render`` draws: tracks, ops in a roofline plot, or step times by part.

        >>> run.picture("steps").svg[:4]
        '<svg'
        """
        look = {"panel": panel, "size": size, "by_name": by_name}
        with translated():
            return Picture(self._session.picture(look), self._session.picture({**look, "dark": True}))

    def summary(self) -> str:
        """What ``systole summarize`` writes: JSON, which ``systole compare`` takes in place of the trace.

        >>> json.loads(run.summary())["schema"]
        'systole.summary/1'
        """
        with translated():
            return self._session.summary()

    def html(self) -> str:
        """The report as a page of its own, as ``systole analyze -o html=FILE`` writes it.

        >>> run.html()[:15]
        '<!doctype html>'
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
