"""Sessions: runs that stop, are looked at, branched, saved and resumed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpline_sim as wl

PCS = {"cells": "6x6", "portables": 400, "end": 90}


def test_a_session_ends_as_a_run_does() -> None:
    whole = wl.run("pcs", **PCS)
    with wl.open("pcs", engine="timewarp", workers=2, **PCS) as s:
        assert s.now == 0.0
        s.run_until(30)
        assert s.now == 30.0
        assert s.next_event_time is not None and s.next_event_time >= 30.0
        assert s.report().end_time == 30.0
        assert "busy" in s.state(0)
        parts: list[float] = []
        s.run_until(progress=lambda part, text: parts.append(part))
        assert s.now == 90.0
        assert s.report().digest == whole.digest
        assert s.results == whole.results
        assert repr(s) == "<Session of pcs at 90>"
    assert repr(s) == "<Session of pcs, closed>"
    with pytest.raises(ValueError, match="closed"):
        s.run_until(100)


def test_branches_have_other_parameters(tmp_path: Path) -> None:
    with wl.open("pcs", channels=10, **PCS) as s:
        s.run_until(30)
        s.save(tmp_path / "run.ckpt")
        same, fewer = s.branch(engine="sequential"), s.branch(channels=6)
        for future in s, same, fewer:
            future.run_until()
        assert s.report().digest == same.report().digest != fewer.report().digest
        assert fewer.results["blocking_probability"] > s.results["blocking_probability"]
        with pytest.raises(wl.ConfigurationError, match="--channels, --stay"):
            s.branch(portables=300)
        with wl.open("pcs", channels=10, resume=tmp_path / "run.ckpt", **PCS) as resumed:
            assert resumed.now == 30.0
            resumed.run_until()
            assert resumed.report().digest == s.report().digest
    with pytest.raises(wl.WarplineError, match="other parameters"):
        wl.open("pcs", channels=6, resume=tmp_path / "run.ckpt", **PCS)
    report = wl.run("pcs", channels=10, resume=tmp_path / "run.ckpt", **PCS)
    assert report.digest == s_digest(PCS)


def s_digest(settings: dict[str, object]) -> str:
    """The digest of a run in one piece."""
    return wl.run("pcs", channels=10, **settings).digest  # type: ignore[arg-type]


def test_what_a_session_cannot_do_is_said() -> None:
    with pytest.raises(wl.ConfigurationError, match="a session is one run"):
        wl.open("phold", replications=3)
    with pytest.raises(wl.ConfigurationError, match="ranks"):
        wl.open("phold", engine="speculative", ranks=2)
    with wl.open("phold", engine="timewarp", workers=1, ranks=2, end=10) as s:
        s.run_until()
        report = s.report()
        assert (report.ranks, report.digest) == (2, wl.run("phold", end=10).digest)
    with wl.open("phold", lps=8, population=16) as s:
        s.run_until(5)
        with pytest.raises(wl.ConfigurationError, match="not before 5"):
            s.run_until(4)
        with pytest.raises(wl.ConfigurationError, match="seed cannot differ"):
            s.branch(seed=2)

        def looks(part: float, text: str) -> None:
            s.now  # noqa: B018

        with pytest.raises(RuntimeError, match="middle of a step"):
            s.run_until(1e6, progress=looks)


@wl.state
class Node:
    handled: wl.i64
    last: wl.f64


@wl.message
class Token:
    hops: wl.i64


@wl.params
class Params:
    mean: wl.f64 = 1.0
    weights: wl.Array[wl.f64]


model = wl.Model("ring", Node, Token, Params)


@model.start
def start(state: Node, cx: Any) -> None:
    cx.send(cx.me, cx.exponential(cx.model.mean), hops=0)


@model.handler
def handle(state: Node, msg: Token, cx: Any) -> None:
    state.handled += 1
    state.last = cx.now
    if msg.hops == 13:
        raise ValueError("thirteen")
    delay = cx.exponential(cx.model.mean * cx.model.weights[cx.me])
    cx.send((cx.me + 1) % cx.lp_count, delay, hops=min(msg.hops + 1, 9))


@model.finish
def finish(states: Any, params: Any, end: float) -> dict[str, float]:
    return {"handled": states["handled"].sum(), "end": end}


WEIGHTS: dict[str, Any] = {"weights": [1.0, 2.0, 0.5, 1.0]}
RING: dict[str, Any] = {"lps": 4, "end": 40}


@pytest.mark.parametrize(
    "settings",
    [
        {"engine": "sequential"},
        {"engine": "timewarp", "workers": 2},
        {"engine": "timewarp", "workers": 1, "ranks": 2},
        {"interpret": True},
    ],
)
def test_models_in_python_have_sessions(settings: dict[str, Any], tmp_path: Path) -> None:
    whole = model.run(WEIGHTS, **RING)
    with model.open(WEIGHTS, **RING, **settings) as s:
        assert s.states["handled"].tolist() == [0, 0, 0, 0]
        s.run_until(20)
        assert 0 < s.results["handled"] < whole.results["handled"]
        assert s.results["end"] == 20.0
        assert (s.states["last"] < 20).all() and "handled" in s.state(0)
        s.save(tmp_path / "ring.ckpt")
        same = s.branch(**({} if "interpret" in settings else {"engine": "auto", "ranks": 1}))
        slower = s.branch({"mean": 4.0})
        for future in s, same, slower:
            future.run_until()
        for future in s, same:
            report = future.report()
            assert report.digest == whole.digest
            assert report.results == whole.results
            assert report.states is not None and whole.states is not None
            assert report.states.tobytes() == whole.states.tobytes()
        assert slower.results["handled"] < s.results["handled"]
        with pytest.raises(wl.ConfigurationError, match="lps cannot differ"):
            s.branch(lps=8)
    is_interpreted = settings.get("interpret", False)
    resumed = model.open(
        WEIGHTS, **RING, resume=tmp_path / "ring.ckpt", interpret=is_interpreted
    )
    assert resumed.now == 20.0
    resumed.run_until()
    assert resumed.report().digest == whole.digest


def test_events_from_outside_have_fields() -> None:
    digests = set()
    for settings in {"engine": "sequential"}, {"engine": "timewarp", "workers": 2}:
        with model.open(WEIGHTS, **RING, **settings) as s:
            s.run_until(10)
            before = s.states["handled"].sum()
            s.inject(2, 12.5, hops=5)
            with pytest.raises(wl.ConfigurationError, match="time"):
                s.inject(2, 9.5, hops=5)
            with pytest.raises(wl.ConfigurationError, match="hips"):
                s.inject(2, 13.0, hips=5)
            with pytest.raises(wl.ConfigurationError, match="an LP of the model"):
                s.inject(4, 13.0)
            s.run_until(30)
            assert s.states["handled"].sum() > before
            digests.add(s.report().digest)
    assert len(digests) == 1 and model.run(WEIGHTS, lps=4, end=30).digest not in digests


def test_a_handler_that_raises_in_a_session_is_shown() -> None:
    with model.open(WEIGHTS, **RING, engine="timewarp", workers=2) as s:
        s.inject(1, 3.0, hops=13)
        with pytest.raises(ValueError, match="thirteen") as raised:
            s.run_until()
        assert "LP 1" in "".join(raised.value.__notes__)
        with pytest.raises(wl.ConfigurationError, match="its last step failed"):
            s.run_until()


def test_a_finish_that_raises_in_a_session_is_shown() -> None:
    other = wl.Model("ring", Node, Token, Params)
    other.start(start)
    other.handler(handle)

    @other.finish
    def wrong_at_first(states: Any, params: Any, end: float) -> dict[str, float]:
        if end == 0:
            raise KeyError("nothing has happened")
        return {"handled": states["handled"].sum()}

    with other.open(WEIGHTS, **RING) as s:
        with pytest.raises(KeyError, match="nothing has happened"):
            s.results
        s.run_until(6)
        assert s.results["handled"] == s.states["handled"].sum() > 0


def test_a_branch_has_what_its_session_was_opened_with() -> None:
    reversible = wl.Model("count", Node, Token, Params)
    reversible.start(start)

    @reversible.handler
    def count(state: Node, msg: Token, cx: Any) -> None:
        state.handled += 1
        cx.send((cx.me + 1) % cx.lp_count, cx.exponential(cx.model.weights[cx.me]), hops=0)

    @reversible.reverse
    def undo(state: Node, msg: Token, cx: Any) -> None:
        state.handled -= 1

    weights = np.array(WEIGHTS["weights"])
    time_warp: dict[str, Any] = {"engine": "timewarp", "workers": 2, "saving": "reverse"}
    whole = reversible.run(WEIGHTS, **RING)
    with reversible.open({"weights": weights}, **RING, **time_warp) as s:
        weights[:] = 7.0
        s.run_until(10)
        branch = s.branch({"mean": 2.0})
        branch.run_until()
        assert branch.report().digest == whole.digest
