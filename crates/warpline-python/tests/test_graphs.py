"""Where LPs send to, and where they are: arrays that a run takes."""

import numpy as np
import pytest

import warpline_sim as wl

LPS = 24


@wl.state
class Stop:
    passed: wl.i64


@wl.message
class Tram:
    hops: wl.i64


@wl.params
class Line:
    least: wl.f64
    #: How far ahead a tram goes.
    stride: wl.i64


model = wl.Model("trams", Stop, Tram, Line)


@model.start
def start(state, cx):
    cx.send(cx.me, cx.exponential(1.0))


@model.handler
def handle(state, msg, cx):
    state.passed += 1
    step = cx.model.stride if cx.chance(0.5) else cx.lp_count - 1
    delay = cx.model.least + cx.exponential(0.2)
    cx.send((cx.me + step) % cx.lp_count, delay, hops=msg.hops + 1)


LPS_ALL = np.arange(LPS)
#: Each stop to the next, and to the one before.
LINKS = np.concatenate(
    [np.stack([LPS_ALL, (LPS_ALL + step) % LPS, np.full(LPS, 0.5)], 1) for step in (1, -1)]
)


def run(stride: int = 1, **settings: object) -> wl.Report:
    return model.run({"least": 0.5, "stride": stride}, lps=LPS, end=60, **settings)


@pytest.mark.parametrize("mode", ["null-messages", "null-messages-on-demand", "deadlock-recovery"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_null_messages_commit_the_same(mode: str, ranks: int) -> None:
    settings = dict(engine="conservative", workers=2, ranks=ranks, synchronization=mode)
    report = run(links=LINKS, **settings)
    expected = run(interpret=True)
    assert report.digest == expected.digest and report.committed_events > 1000
    assert np.array_equal(report.states, expected.states)
    with pytest.raises(wl.ConfigurationError, match="links"):
        run(**settings)


@pytest.mark.parametrize("engine", ["auto", "conservative", "speculative", "timewarp"])
def test_every_engine_takes_links_and_placements(engine: str) -> None:
    placed = run(links=LINKS, placement=LPS_ALL % 2, engine=engine, workers=2)
    assert placed.digest == run(engine="sequential").digest


def test_a_placement_is_the_one_that_is_used() -> None:
    settings = dict(engine="timewarp", workers=2)
    blocks = run(placement=[0] * 12 + [1] * 12, **settings).to_dict()
    split = run(placement=LPS_ALL % 2, **settings).to_dict()
    # Neighbors are never on one worker; in blocks, most are.
    assert split["local_share"] < 0.1 and blocks["local_share"] > 0.8
    named = wl.run("phold", lps=4, end=5, placement=np.array([0, 1, 1, 0]), **settings)
    assert named.digest == wl.run("phold", lps=4, end=5).digest


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        (dict(links=[[0, 1]]), r"`links` is an array \(1, 2\), but must have rows of three"),
        (dict(links="all"), "`links` is no array of numbers"),
        (dict(links=[[0, 1, 1.0], [1, 24, 1.0]]), r"row 1: \[1.0, 24.0, 1.0\], .* below lps=24"),
        (dict(links=[[0.5, 1, 1.0]]), "must be whole numbers below lps=24"),
        (dict(links=[[0, 1, -1.0]]), "a number of 0 or more"),
        (dict(placement=[0, 1]), r"`placement` is an array \(2,\), .* for each of 24 LPs"),
        (dict(placement=[-1] * LPS), "from 0 on"),
        (dict(placement=[7] * LPS), "`placement` is 7, .* below 2, the number of workers"),
        (dict(placement="rows"), "neither model, blocks"),
        (dict(engine="sequential", workers=None, placement=[0] * LPS), "placement"),
    ],
)
def test_wrong_arrays_are_refused(settings: dict, what: str) -> None:
    with pytest.raises(wl.ConfigurationError, match=what):
        run(**{"engine": "timewarp", "workers": 2, **settings})


def test_links_are_a_promise() -> None:
    settings = dict(engine="conservative", workers=2, synchronization="null-messages")
    with pytest.raises(wl.ModelError, match="link"):
        run(stride=3, links=LINKS, **settings)
