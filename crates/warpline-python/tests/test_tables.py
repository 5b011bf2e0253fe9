"""Tables, as other libraries read them."""

import pytest

import warpline_sim as wl

ROWS = [
    {"name": "a", "whole": 1, "large": 2**63, "part": 0.5, "is": True, "list": [1]},
    {"name": "b", "whole": -2, "large": 1, "part": 2, "is": None, "more": 7},
]


def test_a_table_is_a_sequence_of_rows() -> None:
    table = wl.Table(ROWS)
    assert list(table) == ROWS and len(table) == 2 and table[0] == ROWS[0]
    assert table.column("more") == [None, 7]
    assert table.column_names == ["name", "whole", "large", "part", "is", "more"]
    with pytest.raises(KeyError, match="no column 'list'"):
        table.column("list")


def test_pyarrow_reads_it() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(wl.Table(ROWS))
    types = {field.name: str(field.type) for field in table.schema}
    assert types == {
        "name": "string",
        "whole": "int64",
        "large": "uint64",
        "part": "double",
        "is": "bool",
        "more": "int64",
    }
    cells = [{key: value for key, value in row.items() if key != "list"} for row in ROWS]
    assert table.to_pylist() == [{"more": None, **cells[0]}, cells[1]]
    assert pyarrow.table(wl.Table([])).num_rows == 0


def test_polars_reads_it() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(wl.sweep("phold", {"seed": [1, 2, 3]}, lps=8, end=10))
    assert frame["seed"].to_list() == [1, 2, 3] and frame["digest"].n_unique() == 3


def test_numpy_gets_columns() -> None:
    numpy = pytest.importorskip("numpy")
    array = wl.Table(ROWS).to_numpy("more")
    assert numpy.isnan(array[0]) and array[1] == 7
