"""Statistics in the states of models in Python: rolled back with them, merged, begun anew."""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import math
from typing import Annotated, Any

import pytest

import warpline_sim as wl

np = pytest.importorskip("numpy")


@wl.state
class Station:
    queue: wl.i64
    busy: wl.i64
    #: When those who wait came: a ring of the last ones.
    came: Annotated[wl.Array[wl.f64], 64]
    first: wl.i64
    served: wl.Counter
    waits: Annotated[wl.Tally, "min", "how long they wait"]
    length: Annotated[wl.Level, "customers"]
    #: The same by hand.
    total: wl.f64
    number: wl.i64


@wl.message
class Customer:
    leaves: wl.i64


@wl.params
class Params:
    mean: wl.f64 = 1.0
    since: wl.f64 = 0.0


queues = wl.Model("queues in Python", Station, Customer, Params)


@queues.start
def start(state: Station, cx: Any) -> None:
    for _ in range(3):
        cx.send(cx.me, cx.exponential(cx.model.mean))


def begins(state: Station, waited: float, cx: Any) -> None:
    state.busy = 1
    wl.tally(state.waits, waited)
    if cx.now >= cx.model.since:
        state.total += waited
        state.number += 1
    cx.send(cx.me, cx.exponential(0.7), leaves=1)


@queues.handler
def handle(state: Station, msg: Customer, cx: Any) -> None:
    if msg.leaves == 1:
        wl.count(state.served)
        cx.send(cx.below(cx.lp_count), 0.1 + cx.exponential(cx.model.mean))
        state.busy = 0
        if state.queue > 0:
            state.queue -= 1
            wl.add_level(state.length, -1, cx.now)
            begins(state, cx.now - state.came[state.first % 64], cx)
            state.first += 1
    elif state.busy == 1:
        state.came[(state.first + state.queue) % 64] = cx.now
        state.queue += 1
        wl.set_level(state.length, state.queue, cx.now)
    else:
        begins(state, 0.0, cx)


RUN: dict[str, Any] = {"lps": 12, "end": 60}


def test_statistics_are_results() -> None:
    report = queues.run(engine="sequential", **RUN)
    states, results = report.states, report.results
    count = states["number"].sum()
    assert results["waits_count"] == count > 300
    assert results["waits_mean"] == pytest.approx(states["total"].sum() / count)
    assert results["served"] == states["served"][:, 0].sum()
    assert results["served_rate"] == pytest.approx(results["served"] / 60)
    assert 0 == results["waits_min"] < results["waits_mean"] < results["waits_max"]
    assert 0 == results["length_min"] < results["length_mean"] < results["length_max"]
    assert math.isfinite(results["waits_sd"])


@pytest.mark.parametrize("engine", ["timewarp", "speculative", "conservative", "auto"])
def test_every_engine_has_the_same(engine: Any) -> None:
    pytest.importorskip("numba")
    right = queues.run(engine="sequential", **RUN)
    found = queues.run(engine=engine, workers=2, lookahead=0.1, **RUN)
    assert found.digest == right.digest and found.results == right.results
    interpreted = queues.run(interpret=True, **RUN)
    assert interpreted.digest == right.digest and interpreted.results == right.results


def test_a_warm_up_begins_anew() -> None:
    plain = queues.run(engine="sequential", **RUN)
    late = queues.run({"since": 40.0}, engine="sequential", warmup=40, **RUN)
    assert late.digest == plain.digest
    assert late.results["waits_count"] == late.states["number"].sum() < plain.states["number"].sum()
    mean = late.states["total"].sum() / late.states["number"].sum()
    assert late.results["waits_mean"] == pytest.approx(mean)
    assert late.results["served_rate"] == pytest.approx(late.results["served"] / 20)
    with queues.open(engine="sequential", warmup=40, **RUN) as session:
        session.run_until(30)
        session.run_until()
        assert session.results == queues.run(engine="sequential", warmup=40, **RUN).results
    found = queues.run(find_warmup=50, **RUN)
    assert found.warm_up is not None and "waits_mean" in found.warm_up["results"]
    assert "waits_max" in found.warm_up["left_out"] and "waits_max" in found.results


def test_counts_are_whole_numbers() -> None:
    results = queues.run(engine="sequential", **RUN).results
    whole = {name for name, value in results.items() if isinstance(value, int)}
    assert {"served", "waits_count"} <= whole and "waits_mean" not in whole, results
    assert isinstance(wl.run("phold", lps=4, population=8, end=20).results["handled"], int)
    means = queues.replicate({}, 3, engine="sequential", **RUN).results
    assert all(isinstance(value, float) for value in means.values()), means


def test_what_has_no_statistics_says_so() -> None:
    with pytest.raises(wl.ConfigurationError, match="statistic, and those belong to states"):

        @wl.message
        class Wrong:
            waits: wl.Tally

    with pytest.raises(wl.ConfigurationError, match="`warmup` is 5"):
        wl.run("phold", lps=4, population=8, end=20, warmup=5)
