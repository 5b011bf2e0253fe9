"""Tables that Arrow, polars, pandas and DuckDB read without a copy in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _native


class Table(Sequence[Mapping[str, Any]]):
    """Rows with named cells: the rows of a sweep, or of replications.

    It has the Arrow C stream interface: ``polars.DataFrame(table)``, ``pyarrow.table(table)``,
    ``pandas.DataFrame.from_arrow(table)`` (pandas 3) and DuckDB read it.
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
        """A column of numbers as an array, NaN where a row has none (needs NumPy)."""
        import numpy

        return numpy.array(self.column(name), dtype=float)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        columns = [(name, self.column(name)) for name in self._names]
        return _native.arrow_stream(json.dumps(columns))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return Table(self._rows[index]) if isinstance(index, slice) else dict(self._rows[index])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row) for row in self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows of {', '.join(self._names)}>"
