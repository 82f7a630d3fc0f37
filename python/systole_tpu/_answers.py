"""Answers to questions about runs and programs."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from . import _systole
from ._pages import framed
from ._table import Table
from ._values import DeviceTime, of


class Answer:
    """What a command answers: ``print`` shows it as the command line does, and a notebook as a page.

    >>> "jit_train_step" in str(run.hlo())
    True
    """

    def __init__(self, answer: _systole.Answer) -> None:
        self._answer = answer

    @cached_property
    def report(self) -> dict[str, Any]:
        """All fields, as in the JSON of the command line.

        >>> sorted(run.hlo().report["reports"])
        ['hlo']
        """
        return json.loads(self._answer.json)

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Its tables by their names.

        >>> list(run.hlo().tables)
        ['programs']
        """
        return {table.name: Table(table) for table in self._answer.tables}

    def html(self) -> str:
        """A page of its own.

        >>> run.what_if(ici=2).html()[:15]
        '<!doctype html>'
        """
        return self._answer.html

    def __str__(self) -> str:
        return self._answer.text

    def __repr__(self) -> str:
        return f"<systole_tpu.{type(self).__name__}>\n{self}"

    def _repr_html_(self) -> str:
        return framed(self.html())


class Comparison(Answer):
    """What changed between two runs.

    >>> comparison = run.compare("after")
    """

    @property
    def statement(self) -> str:
        """The change in a sentence.

        >>> print(run.compare("after").statement)
        not the same work: ...
        """
        return self.report["statement"]

    @property
    def brief(self) -> dict[str, str]:
        """What to read first: ``work``, ``step``, ``conclusion``, ``look_first``, ``record_next`` …, as far as known.

        >>> "work" in run.compare("after").brief
        True
        """
        return self.report["brief"]

    def __repr__(self) -> str:
        return f"<systole_tpu.Comparison: {self.statement}>"


class Expectations(Answer):
    """Expectations with their answers; true if all are met.

    >>> answers = run.expect({"name": "no gathers", "collective": "all-gather", "max": 0})
    """

    @property
    def _rows(self) -> list[dict[str, Any]]:
        return self.report["reports"]["expect"]["report"]["rows"]

    @property
    def verdicts(self) -> dict[str, str]:
        """``met``, ``not-met`` or ``unknown`` by the name of the expectation; of several with one name, the worst.

        >>> run.expect({"name": "no gathers", "collective": "all-gather", "max": 0}).verdicts
        {'no gathers': 'not-met'}
        """
        verdicts: dict[str, str] = {}
        for row in self._rows:  # What is not met comes first.
            verdicts.setdefault(row["name"], row["verdict"])
        return verdicts

    def __bool__(self) -> bool:
        """Whether all are met."""
        return all(row["verdict"] == "met" for row in self._rows)


class ProgramDiff(Answer):
    """What differs between two programs; true if an instruction does.

    >>> bool(run.program_diff(run))
    False
    """

    def __bool__(self) -> bool:
        """Whether an instruction differs."""
        return bool(self.report["reports"]["hlo"]["report"]["rows"])


class Programs(Answer):
    """Programs of the compiler, or a part of one.

    >>> programs = run.hlo()
    """


class Prediction(Answer):
    """How long the run would take with changes.

    >>> prediction = run.what_if(ici=2)
    """


class Timing(Answer):
    """How long a function takes on the chip.

    >>> timing = systole_tpu.time(f, x, calls=8)
    """

    @property
    def _times(self) -> dict[str, Any]:
        return self.report["reports"]["execution_times"]["report"]

    @property
    def statement(self) -> str:
        """The time on the slowest device, with its interval, in a sentence.

        >>> systole_tpu.time(f, x, calls=8).statement.split(" takes")[0]
        'An execution of jit_f'
        """
        return self._times["statement"]

    @property
    def devices(self) -> list[DeviceTime]:
        """The time on each device, the slowest first.

        >>> systole_tpu.time(f, x, calls=8).devices[0].median_ps > 0
        True
        """
        return [of(DeviceTime, one) for one in self._times["devices"]]

    @property
    def recorded_by(self) -> str:
        """``device``, or ``host-threads`` where devices record no executions, as the CPU.

        >>> systole_tpu.time(f, x, calls=8).recorded_by
        'host-threads'
        """
        return self._times["recorded_by"]

    def __repr__(self) -> str:
        return f"<systole_tpu.Timing: {self.statement}>"
