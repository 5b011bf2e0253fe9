"""Tables that Arrow, polars, pandas and DuckDB read without a copy in Python."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import csv
import html
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _native

#: Rows that are printed of a longer table: half of them from its beginning.
_ROWS_SHOWN = 20


class Table(Sequence[Mapping[str, Any]]):
    """Rows with named cells: of a sweep, of replications, of a file.

    ``table[0]`` is a row, ``table["calls"]`` a column, an array of NumPy. It has the Arrow C stream
    interface: ``polars.DataFrame(table)``, ``pyarrow.table(table)``,
    ``pandas.DataFrame.from_arrow(table)`` (pandas 3) and DuckDB read it. ``print(table)`` shows its
    first and last rows, and of the columns that do not all fit those that differ.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = [dict(row) for row in rows]
        names: dict[str, None] = {}
        for row in self._rows:
            names.update(dict.fromkeys(row))
        self._names = [
            name
            for name in names
            if not any(isinstance(row.get(name), dict | list) for row in self._rows)
        ]

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]]) -> Table:
        """The table of columns by name, all of one length."""
        return cls([dict(zip(columns, cells)) for cells in zip(*columns.values())])

    @classmethod
    def read_csv(cls, path: str | os.PathLike[str]) -> Table:
        """A table that ``warpline sweep``, ``run`` or ``lab`` has written as CSV.

        A column has whole numbers if all its cells are, or else numbers, truth values or text; an
        empty cell is ``None``.
        """
        with open(path, newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        columns = zip(header, zip(*rows))
        return cls.of_columns({name: _typed(name, cells) for name, cells in columns})

    @property
    def column_names(self) -> list[str]:
        """The names of the columns: those keys whose values are numbers, truth values or text."""
        return list(self._names)

    def column(self, name: str) -> list[Any]:
        """The cells of a column; ``None`` where a row has none."""
        if name not in self._names:
            raise KeyError(f"no column {name!r}; there are {', '.join(self._names)}")
        return [row.get(name) for row in self._rows]

    def to_numpy(self, name: str) -> Any:
        """A column as an array (needs NumPy); of numbers, NaN where a row has none."""
        import numpy

        cells = self.column(name)
        has_gaps = None in cells and not any(isinstance(cell, str) for cell in cells)
        return numpy.array(cells, dtype=float if has_gaps else None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        columns = [(name, self.column(name)) for name in self._names]
        return _native.arrow_stream(json.dumps(columns))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return self.to_numpy(index)
        return Table(self._rows[index]) if isinstance(index, slice) else dict(self._rows[index])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row) for row in self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown, names, left_out = self._shown()
        head = f"<Table: {len(self)} {'row' if len(self) == 1 else 'rows'}{left_out}>"
        cells = [names, *([_cell(row.get(name)) for name in names] for row in shown)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(map(str.rjust, line, widths)) for line in cells] if names else []
        if len(shown) < len(self):
            lines.insert(1 + len(shown) // 2, "  ".join("…".rjust(width) for width in widths))
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        shown, names, left_out = self._shown(most_width=1000)
        cells = ([_cell(row.get(name)) for name in names] for row in shown)
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(c)}</td>' for c in row)}</tr>" for row in cells)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        caption = f"<caption>{len(self)} rows{html.escape(left_out)}</caption>"
        return f"<table>{caption}<tr>{head}</tr>{rows}</table>"

    def _by_interest(self) -> list[str]:
        """The columns, first those that tell rows from each other: of runs, what was varied, and
        from the end on, where the results are; of other tables, from both ends."""
        names, rows = self._names, self._rows
        of_runs = "model" in names
        start = names.index("model") if of_runs else 0
        ends = [name for pair in zip(names, names[::-1]) for name in pair]
        ordered = dict.fromkeys(names[:start] + names[::-1] if of_runs else ends)

        def is_dull(name: str) -> bool:
            # The name of a run repeats what was varied.
            same = len(rows) > 1 and all(row.get(name) == rows[0].get(name) for row in rows)
            return same or (of_runs and name == "run")

        return sorted(ordered, key=is_dull)

    def _shown(self, most_width: int = 100) -> tuple[list[dict[str, Any]], list[str], str]:
        """The rows and the columns that fit, and in words what is left out."""
        rows = self._rows
        if len(rows) > _ROWS_SHOWN:
            rows = rows[: _ROWS_SHOWN // 2] + rows[-_ROWS_SHOWN // 2 :]
        chosen: set[str] = set()
        left = most_width
        for name in self._by_interest():
            width = 2 + max(len(text) for text in (name, *(_cell(row.get(name)) for row in rows)))
            if width <= left or not chosen:
                chosen.add(name)
                left -= width
        names = [name for name in self._names if name in chosen]
        others = [name for name in self._names if name not in chosen]
        left_out = f", and the columns {', '.join(others)}" if others else ""
        return rows, names, left_out


def _cell(value: Any) -> str:
    """A cell as text."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _typed(name: str, cells: Sequence[str]) -> list[Any]:
    truth = {"true": True, "false": False}.__getitem__
    kinds: tuple[Callable[[str], Any], ...] = (int, float, truth)
    # A digest has hexadecimal digits, which may happen to look like a number.
    for read in kinds if name != "digest" else ():
        try:
            return [read(cell) if cell else None for cell in cells]
        except (KeyError, ValueError):
            pass
    return [cell or None for cell in cells]
