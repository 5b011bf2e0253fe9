"""Event logs of processes: what a world in Python writes is what the same world in Rust writes, and
other tools take it: vidigi animates one, and pm4py mines it.

Mutations that turn this red: a world is never logged; `_log_of` lets a part of a run write one, or
a world that is not logged; `open` and `sweep` take a log.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import warpline_sim as wl

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

import bank  # noqa: E402
import emergency  # noqa: E402

#: The log of the same world in Rust, which its tests compare with what it writes.
RUST = ROOT.parent / "warpline-processes" / "examples" / "emergency.csv"
SMALL = {"sites": 3, "lookahead": 2.0, "seed": 1, "end": 240}
RUNS = [
    {"engine": "sequential"},
    {"engine": "conservative", "workers": 2},
    {"engine": "timewarp", "workers": 2},
    {"engine": "speculative", "workers": 2},
    {"engine": "timewarp", "workers": 1, "ranks": 2},
    {"engine": "auto", "workers": 2},
    {"interpret": True},
]


def example(name):
    path = ROOT / "examples" / "event_logs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of the example in Python."""
    path = tmp_path_factory.mktemp("logs") / "log.csv"
    emergency.main(path)
    return path


@pytest.mark.parametrize("settings", RUNS, ids=str)
def test_a_log_has_the_rows_of_rust_on_every_engine(settings, tmp_path):
    path = tmp_path / "log.csv"
    report = emergency.world.run(**SMALL, **settings, event_log=path)
    assert path.read_bytes() == RUST.read_bytes()
    assert report.to_dict()["files"] == [str(path)]
    # The rows are events of a run without a log, too.
    assert emergency.world.run(**SMALL, **settings).digest == report.digest


def test_an_example_writes_its_log(log):
    assert log.read_bytes() == RUST.read_bytes()


def test_a_log_is_that_of_the_first_of_two_runs(tmp_path):
    path = tmp_path / "log.csv"
    report = emergency.world.run(**SMALL, event_log=str(path), verify=True, trace=tmp_path / "t")
    assert report.verified and path.read_bytes() == RUST.read_bytes()


def test_a_log_has_the_names_of_its_author(tmp_path):
    world = wl.World("shop", event_log=True)
    window = world.resource("the window")

    @world.process
    def buyer(env):
        yield env.acquire(window, timeout=0.5)
        if env.granted:
            yield env.hold(1.0)
            env.release(window)

    @world.start
    def start(env):
        env.spawn(buyer)
        env.spawn(buyer)

    path = tmp_path / "shop.csv"
    world.run(end=5, event_log=path)
    assert path.read_text().splitlines() == [
        "entity_id,event_type,event,time,resource_id,process,site",
        "1,arrival_departure,arrival,0,,buyer,0",
        "2,arrival_departure,arrival,0,,buyer,0",
        "1,resource_use,use_the window,0,1,buyer,0",
        "2,queue,queue_the window,0,,buyer,0",
        "2,queue,give_up_the window,0.5,,buyer,0",
        "2,arrival_departure,depart,0.5,,buyer,0",
        "1,resource_use_end,release_the window,1,1,buyer,0",
        "1,arrival_departure,depart,1,,buyer,0",
    ]


def test_a_log_that_cannot_be_is_refused(tmp_path):
    run, path = emergency.world.run, tmp_path / "log.csv"
    with pytest.raises(wl.ConfigurationError, match=r"`bank` has no event log.*event_log=True"):
        bank.world.run(end=5, event_log=path)
    for call, text in [
        (lambda: run(**SMALL, event_log=path, replications=2), "files are written of one run"),
        (lambda: run(**SMALL, event_log=path, find_warmup=True), "files are written of one run"),
        (lambda: run(**SMALL, event_log=path, resume=tmp_path / "x"), "whole run, and `resume`"),
        (lambda: emergency.world.open(**SMALL, event_log=path), "is opened for one in steps"),
        (lambda: emergency.world.sweep({}, {"seed": [1]}, **SMALL | {"event_log": path}),
         "would write the same file"),
        (lambda: run(**SMALL, event_log=tmp_path / "log.xes"), "a .csv or a .parquet file"),
        (lambda: run(**SMALL, event_log=tmp_path / "none" / "log.csv"), "log.csv"),
    ]:
        with pytest.raises(wl.ConfigurationError, match=text):
            call()
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_writes_a_log_for_each_run(tmp_path):
    logs = [tmp_path / f"{number}.csv" for number in range(2)]
    settings = {key: value for key, value in SMALL.items() if key != "sites"}
    emergency.world.sweep({}, {"event_log": logs}, sites=3, **settings)
    assert [log.read_bytes() for log in logs] == [RUST.read_bytes()] * 2


def test_a_log_is_a_parquet_file_where_the_module_writes_them(tmp_path):
    path = tmp_path / "log.parquet"
    try:
        emergency.world.run(**SMALL, event_log=path)
    except wl.ConfigurationError as error:
        assert "built without the feature `parquet`: name a .csv file" in str(error)
        assert not path.exists()
        return
    parquet = pytest.importorskip("pyarrow.parquet")
    pandas = pytest.importorskip("pandas")
    rows = parquet.read_table(path).to_pandas()
    pandas.testing.assert_frame_equal(rows, pandas.read_csv(RUST), check_dtype=False)


def test_vidigi_animates_a_log(log):
    pytest.importorskip("vidigi")
    animate = example("animate")
    figure = animate.animation(log, minutes=120)
    assert len(figure.frames) == 25
    shown = set()
    for frame in figure.frames:
        ids = frame.data[0].ids
        shown.update(ids[~np.isnan(ids)].astype(int))
    # Everybody who came in the first two hours is somewhere on the page.
    patients = animate.patients(log)
    came = patients[(patients["event"] == "arrival") & (patients["time"] < 115)]["entity_id"]
    assert len(came) > 10
    assert set(came) <= shown


def test_pm4py_mines_a_log(log):
    pytest.importorskip("pm4py")
    mine = example("mine")
    steps = mine.steps(mine.cases(log))
    # Each who queues gets a doctor, and is treated for 15 minutes on average.
    queued, waited = steps["queue_doctor", "use_doctor"]
    treated, minutes = steps["use_doctor", "release_doctor"]
    assert queued <= treated
    assert waited > 0
    assert 8 < minutes < 25
    # A way takes two minutes.
    ways = [time for (before, _), (_, time) in steps.items() if before == "travel"]
    assert ways == pytest.approx([2.0] * len(ways))
