"""Tables."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from . import _systole
from ._errors import UsageError, translated

_SHOWN = 20


def listed(names: str | Sequence[str]) -> list[str]:
    """One name is a list of one, and not of its letters."""
    return [names] if isinstance(names, str) else list(names)


class Column(NamedTuple):
    """A column of a table."""

    name: str
    #: ``int``, ``float`` or ``str``.
    type: str
    #: ``picoseconds``, ``bytes``, ``percent`` …; ``None`` without one.
    unit: str | None
    #: Where its numbers come from: measured, simulated, predicted, recorded, compiler, derived, assumed,
    #: inferred; ``None`` for names.
    provenance: str | None
    about: str


class Table:
    """A table with typed columns, read from the trace when it is asked.

    pyarrow, pandas, polars and DuckDB read it without a copy of their own: ``pyarrow.table(t)``,
    ``polars.DataFrame(t)``, ``pandas.DataFrame.from_arrow(t)``, ``duckdb.sql("FROM t")`` over ``pyarrow.table(t)``.

    >>> run.table("steps")["step"][:3]
    [0, 1, 2]
    """

    def __init__(self, table: _systole.Table) -> None:
        self._table = table

    @property
    def name(self) -> str:
        """Stable name.

        >>> run.table("ops").name
        'ops'
        """
        return self._table.name

    @property
    def about(self) -> str:
        """What a row is.

        >>> run.table("ops").about
        'Ops by self time (report ops)'
        """
        return self._table.about

    @property
    def columns(self) -> list[Column]:
        """The columns with their types, units and sources.

        >>> column = run.table("slices").columns[0]
        >>> column.name, column.type
        ('slice_id', 'int')
        """
        return [Column(*column) for column in self._table.columns]

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self), 10_000):
            yield from self._table.select(None, start, start + 10_000).to_pylist()

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column; ``None`` where one is missing."""
        with translated():
            return self._table.column(column)

    def select(self, columns: str | Sequence[str] | None = None, start: int = 0, stop: int | None = None) -> Table:
        """Chosen columns, and rows from ``start`` to ``stop``.

        >>> run.table("steps").select(["step"], 1, 3).to_pylist()
        [{'step': 1}, {'step': 2}]
        """
        if start < 0 or stop is not None and stop < 0:
            raise UsageError("rows: they are counted from 0, from the first row on", 2)
        with translated():
            return Table(self._table.select(None if columns is None else listed(columns), start, stop))

    def head(self, rows: int = 10) -> Table:
        """The first rows.

        >>> len(run.table("ops").head(3))
        3
        """
        return self.select(stop=rows)

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows as dictionaries.

        >>> run.table("steps").select(["step"]).head(1).to_pylist()
        [{'step': 0}]
        """
        return self._table.to_pylist()

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["parquet", "arrow", "csv"] = "parquet",
        constants: Mapping[str, str | None] | None = None,
        force: bool = False,
    ) -> None:
        """Writes a file, without any library; ``constants`` become the first columns, with one value in all rows. A file that
        Systole has not written is replaced only with ``force``; what was opened never is.

        >>> run.table("steps").write("steps.csv", format="csv", constants={"job": "a"})
        """
        with translated():
            self._table.write(os.fspath(path), format, list((constants or {}).items()), force)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` (needs pyarrow: ``pip install systole-tpu[arrow]``).

        >>> run.table("ops").head(3).to_arrow().num_rows
        3
        """
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` (needs pandas and pyarrow).

        >>> len(run.table("ops").head(3).to_pandas())
        3
        """
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A ``polars.DataFrame`` (needs polars).

        >>> run.table("ops").head(3).to_polars().height
        3
        """
        import polars

        return polars.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(column.name for column in self.columns)
        return f"<systole_tpu.Table {self.name}: {len(self)} rows of {columns}>"

    def _repr_html_(self) -> str:
        shown = self.select(stop=_SHOWN).to_pylist()
        columns = self.columns
        # Notebooks set all cells at the right.
        sides = ["left" if column.type == "str" else "right" for column in columns]
        cell = lambda value: "" if value is None else html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
        title = lambda column: html.escape(f"{column.about} ({column.unit})" if column.unit else column.about)
        head = "".join(
            f'<th title="{title(column)}" style="text-align:{side}">{html.escape(column.name)}</th>'
            for column, side in zip(columns, sides)
        )
        cells = lambda row: "".join(
            f'<td style="text-align:{side}">{cell(value)}</td>' for value, side in zip(row.values(), sides)
        )
        rows = "".join(f"<tr>{cells(row)}</tr>" for row in shown)
        more = len(self) - len(shown)
        note = f"<p>{more} more rows</p>" if more else ""
        caption = f'<caption style="text-align:left">{html.escape(self.about)}</caption>'
        return f"<table>{caption}<thead><tr>{head}</tr></thead>{rows}</table>{note}"
