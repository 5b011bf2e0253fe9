"""Tables, as other libraries read them."""

import subprocess
import sys
from pathlib import Path

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


def test_a_table_prints_its_rows() -> None:
    assert repr(wl.Table(ROWS)).splitlines() == [
        "<Table: 2 rows>",
        "name  whole                large  part    is  more",
        "   a      1  9223372036854775808   0.5  True     -",
        "   b     -2                    1     2     -     7",
    ]
    long = wl.Table([{"number": number, "square": 1.5 * number} for number in range(1000)])
    lines = repr(long).splitlines()
    assert lines[0] == "<Table: 1000 rows>" and len(lines) == 2 + 20 + 1
    assert lines[2].split() == ["0", "0"] and lines[-1].split() == ["999", "1498.5"]
    assert lines[12].split() == ["…", "…"]
    wide = wl.Table([{f"column_{number}": number for number in range(30)}])
    lines = repr(wide).splitlines()
    assert all(len(line) <= 100 for line in lines[1:])
    assert lines[0].startswith("<Table: 1 row, and the columns column_") and "column_15" in lines[0]
    assert {"column_0", "column_29"} <= set(lines[1].split())
    assert "<td>-2</td>" in wl.Table(ROWS)._repr_html_()
    assert "&lt;b&gt;" in wl.Table([{"<b>": "<b>"}])._repr_html_()
    assert repr(wl.Table([])) == "<Table: 0 rows>"


def test_a_table_prints_results() -> None:
    """Of a sweep, what was varied and what came of it. Red if columns are taken from the left until
    a line is full, or if those that do not differ come first."""
    table = wl.sweep("pcs", {"channels": [8, 10]}, end=5, cells="4x4", engine="sequential")
    head, names, *rows = repr(table).splitlines()
    assert {"channels", "carried_traffic", "channel_use", "calls"} <= set(names.split())
    assert not {"run", "model", "engine", "ranks"} & set(names.split()) and "engine" in head
    assert names.split() == [name for name in table.column_names if name in names.split()]
    assert [row.split()[0] for row in rows] == ["8", "10"]
    assert all(len(line) <= 100 for line in (names, *rows))
    # What all rows share is shown where there is room.
    few = wl.Table([{"model": "pcs", "seed": seed, "calls": 2.0} for seed in (1, 2)])
    assert repr(few).splitlines()[1].split() == ["model", "seed", "calls"]


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
    table = wl.Table(ROWS)
    assert numpy.isnan(table["more"][0]) and table["more"][1] == 7
    assert table["large"].tolist() == [2**63, 1] and table["part"].tolist() == [0.5, 2]
    assert table["name"].tolist() == ["a", "b"]
    with pytest.raises(KeyError, match="no column 'list'"):
        table["list"]


def test_replications_are_a_table() -> None:
    polars = pytest.importorskip("polars")
    report = wl.replicate("phold", 4, seed=3, lps=64, end=20)
    frame = polars.DataFrame(report.runs)
    assert frame["replication"].to_list() == [0, 1, 2, 3]
    assert frame["digest"].to_list() == report.to_dict()["digests"]
    for name, mean in report.results.items():
        assert frame[name].mean() == pytest.approx(mean), name
    second = wl.run("phold", seed=frame["seed"][1], lps=64, end=20)
    assert second.digest == frame["digest"][1] and second.runs is None
    assert wl.Report.from_dict(report.to_dict()).runs == report.runs


def test_how_a_run_went_on_is_a_table() -> None:
    report = wl.run("phold", engine="timewarp", workers=2, lps=64, end=2000)
    series = report.series
    assert len(series) > 1
    assert series[0]["wall_seconds"] == 0 and series[-1]["wall_seconds"] == report.wall_seconds
    assert series.column("virtual_time")[-1] == report.end_time
    assert (series.column("committed_events")[-1]) == report.committed_events
    assert sorted(series.column("wall_seconds")) == series.column("wall_seconds")
    # The workers are known if anybody looked before the end.
    workers = [name for name in series.column_names if name.startswith("worker_")]
    assert len(workers) in (0, 4)
    assert all(series.column(name)[-1] is None for name in workers)
    assert wl.replicate("phold", 2, lps=8, end=5).series is None


def test_files_of_the_command_are_tables(tmp_path: Path) -> None:
    file = tmp_path / "sweep.csv"
    command = [sys.executable, "-m", "warpline_sim", "sweep", "phold", "--lps=16", "--end=20"]
    command += ["--engine=sequential"]  # what others process depends on the scheduler
    command += ["--vary=remote=0.5,1", "--vary=memory=1MiB,2000000", f"--output={file}"]
    subprocess.run(command, check=True)
    table = wl.Table.read_csv(file)
    vary = {"remote": [0.5, 1], "memory": ["1MiB", "2000000"]}
    called = wl.sweep("phold", vary, lps=16, end=20, engine="sequential")
    times = {"wall_seconds", "events_per_second", "memory"}
    names = [name for name in called.column_names if name not in times]
    assert table.column_names == called.column_names and len(table) == 4
    for name in names:
        assert table.column(name) == called.column(name), name
    assert table.column("memory") == ["1MiB", "2000000"] * 2


def test_cells_of_files_have_types(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("whole,part,is,name,digest\n1,0.5,true,a,0012\n,2,,7,3e12\n", "utf-8")
    assert list(wl.Table.read_csv(file)) == [
        {"whole": 1, "part": 0.5, "is": True, "name": "a", "digest": "0012"},
        {"whole": None, "part": 2.0, "is": None, "name": "7", "digest": "3e12"},
    ]


def test_the_laboratory_has_tables(tmp_path: Path) -> None:
    assert "fig3" in [figure["figure"] for figure in wl.figures()]
    seen: list[float] = []
    settings = dict(quick=True, workers=[1, 3], samples=1, payload=8)
    found = wl.lab("fig3", output=tmp_path, progress=lambda part, _: seen.append(part), **settings)
    # Four pools, four amounts of memory each, with one and three workers.
    assert len(found.table) == 32 and set(found.table.column("workers")) == {1, 3}
    assert found.table == wl.Table.read_csv(tmp_path / "fig3.csv")
    assert "## The paper" in found.text and found._repr_markdown_() == found.text
    assert seen == sorted(seen) and seen and seen[-1] < 1
    with pytest.raises(wl.ConfigurationError, match="unknown figure `fig33`; did you mean `fig3`"):
        wl.lab("fig33")
    with pytest.raises(wl.ConfigurationError, match="unknown key `quiet`"):
        wl.lab("fig3", quiet=True)


def test_an_interrupt_ends_the_laboratory() -> None:
    class Enough(Exception):
        pass

    def enough(part: float, text: str) -> None:
        raise Enough

    with pytest.raises(Enough):
        wl.lab("fig3", quick=True, samples=1000, progress=enough)


def test_statistics_are_a_table() -> None:
    report = wl.run("queues", stations=4, customers=12, end=50)
    table = report.statistics
    assert table is not None and len(table) == 4
    assert table.column("bin") == ["0", "1", "2", "3"]
    mean = sum(table.column("value")) / 4
    assert mean == pytest.approx(report.results["utilization"])
    assert wl.replicate("queues", 2, stations=4, customers=12, end=50).statistics is None
    # What happens before the warm-up is left out, and the events are the same.
    late = wl.run("queues", stations=4, customers=12, end=50, warmup=40)
    assert late.digest == report.digest and late.results["served"] < report.results["served"] / 2
