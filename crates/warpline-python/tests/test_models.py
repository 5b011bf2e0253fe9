"""Models written in Python: the same results as in Rust, on every engine, and errors for people."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import warpline_sim as wl

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

import phold  # noqa: E402
import queues  # noqa: E402

PARAMS = {"population": 301, "remote": 0.37, "mean": 0.7, "lookahead": 0.13}
RUNS = [
    {"engine": "sequential"},
    {"engine": "conservative", "workers": 2},
    {"engine": "speculative", "workers": 2},
    {"engine": "timewarp", "workers": 1, "as_if_many": True},
    {"engine": "timewarp", "workers": 3},
    {"engine": "timewarp", "workers": 3, "saving": "reverse"},
    {"engine": "reverse-check"},
    {"engine": "timewarp", "workers": 2, "ranks": 2},
    {"engine": "conservative", "workers": 2, "ranks": 2},
    {"engine": "auto", "workers": 2},
]
#: The queues have neither a lookahead nor a reverse handler.
QUEUE_RUNS = [
    run for run in RUNS if run["engine"] not in ("conservative", "reverse-check")
    and "saving" not in run
]


@pytest.mark.parametrize("settings", RUNS, ids=str)
@pytest.mark.parametrize("seed", [1, 77])
def test_phold_is_phold_in_rust(settings, seed):
    in_rust = wl.run("phold", lps=101, end=60, seed=seed, engine="sequential", **PARAMS)
    in_python = phold.model.run(
        PARAMS, lps=101, lookahead=0.13, end=60, seed=seed, **settings
    )
    assert in_python.digest == in_rust.digest
    assert in_python.committed_events == in_rust.committed_events
    assert in_python.states["handled"].sum() == in_rust.committed_events


def test_the_interpreter_agrees():
    settings = {"lps": 11, "lookahead": 0.13, "end": 30}
    compiled = phold.model.run(PARAMS, engine="timewarp", workers=2, **settings)
    interpreted = phold.model.run(PARAMS, interpret=True, **settings)
    assert interpreted.digest == compiled.digest
    assert np.array_equal(interpreted.states, compiled.states)


@pytest.mark.parametrize("settings", QUEUE_RUNS, ids=str)
def test_queues_agree(settings):
    network = queues.Network(service=0.2, route=np.roll(np.arange(16), 1))
    expected = queues.model.run(network, lps=16, end=40, interpret=True)
    report = queues.model.run(network, lps=16, end=40, **settings)
    assert (report.digest, dict(report.results)) == (expected.digest, dict(expected.results))
    assert np.array_equal(report.states, expected.states)
    # Those of its twin in Rust, `crates/warpline-foreign/tests/queues.rs`.
    assert (report.digest, report.results["served"]) == ("c83f86729c5d5e18", 2832)
    assert report.results["mean_time"] == pytest.approx(0.789396575, abs=1e-9)


def test_jobs_are_conserved():
    network = {"service": 0.2, "route": np.arange(16)}
    report = queues.model.run(network, lps=16, end=40, engine="timewarp", workers=2)
    assert 0 < report.states["length"].sum() <= 4 * 16
    again = pickle.loads(pickle.dumps(report))
    assert again == report and np.array_equal(again.states, report.states)


@wl.state
class Counter:
    count: wl.i64
    bins: wl.f64[4]


@wl.message
class Step:
    hops: wl.u8
    note: wl.f32[2]


@wl.params
class Mistake:
    kind: wl.i64


mistaken = wl.Model("mistaken", Counter, Step, Mistake)


@mistaken.start
def _(state, cx):
    cx.send(cx.me, cx.exponential(1.0))


@mistaken.handler
def stumble(state, msg, cx):
    state.count += 1
    if state.count > 20 and cx.me == 7:
        kind = cx.model.kind
        if kind == 0:
            state.bins[state.count] = 1.0
        elif kind == 1:
            state.bins[0] = 1 / (state.count - state.count)
        elif kind == 2:
            raise ValueError("more steps than I can count")
        elif kind == 3:
            cx.send(cx.me, -1.0)
        elif kind == 4:
            cx.send(-5, 1.0)
        elif kind == 5:
            cx.send(64, 1.0)
    cx.send(cx.below(cx.lp_count), 0.01 + cx.exponential(1.0), hops=msg.hops + 1, note=(1.0, 2.0))


ENGINES = [{"engine": "sequential"}, {"engine": "timewarp", "workers": 2}, {"interpret": True}]


@pytest.mark.parametrize("settings", ENGINES, ids=str)
@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        (0, IndexError, "out of bounds"),
        (1, ZeroDivisionError, "division"),
        (2, ValueError, "more steps than I can count"),
    ],
)
def test_a_handler_that_raises(kind, error, text, settings):
    with pytest.raises(error, match=text) as raised:
        mistaken.run(Mistake(kind=kind), lps=64, end=200, **settings)
    # The traceback ends in the handler, and the note says where it happened.
    assert raised.traceback[-1].name == "stumble"
    (note,) = raised.value.__notes__
    assert "LP 7" in note and "virtual time" in note


@pytest.mark.parametrize("settings", ENGINES, ids=str)
@pytest.mark.parametrize(("kind", "text"), [(3, "negative delay"), (4, "LP -5"), (5, "LP 64")])
def test_a_send_that_cannot_be(kind, text, settings):
    with pytest.raises(wl.ModelError, match=text) as raised:
        mistaken.run(Mistake(kind=kind), lps=64, end=200, **settings)
    assert raised.value.lp == 7 and raised.value.virtual_time > 0


def refused(define):
    model = wl.Model("refused", Counter, Step, Mistake)
    with pytest.raises(wl.ConfigurationError) as raised:
        define(model)
    return str(raised.value)


def test_mistakes_are_found_before_the_run():
    def misspelt(model):
        @model.handler
        def handle(state, msg, cx):
            state.cuont += 1

    def of_the_context(model):
        @model.handler
        def handle(state, msg, cx):
            cx.sent(cx.me, 1.0)

    def of_a_message(model):
        @model.handler
        def handle(state, msg, cx):
            cx.send(cx.me, 1.0, hop=msg.hops)

    def of_parameters(model):
        @model.handler
        def handle(state, msg, cx):
            p = cx.model
            state.count += p.knd

    def draws(model):
        @model.handler
        def handle(state, msg, cx):
            cx.send(cx.me, np.random.exponential(1.0))

    def prints(model):
        @model.handler
        def handle(state, msg, cx):
            print(state.count)

    def arguments(model):
        @model.handler
        def handle(state, cx):
            pass

    text = refused(misspelt)
    assert "test_models.py:" in text and "did you mean `count`?" in text
    assert "did you mean `send`?" in refused(of_the_context)
    assert "did you mean `hops`?" in refused(of_a_message)
    assert "did you mean `kind`?" in refused(of_parameters)
    assert "cx.exponential" in refused(draws)
    assert "`print`" in refused(prints)
    assert "3 arguments" in refused(arguments)


def test_wrong_values():
    run = phold.model.run
    with pytest.raises(wl.ConfigurationError, match="did you mean `remote`"):
        run({"remot": 0.5}, lps=4, end=1)
    with pytest.raises(wl.ConfigurationError, match="lps"):
        run(PARAMS, lps=0, end=1)
    with pytest.raises(wl.ConfigurationError, match="workers"):
        run(PARAMS, lps=4, end=1, wokers=2)
    with pytest.raises(wl.ConfigurationError, match="sequential"):
        run(PARAMS, lps=4, end=1, interpret=True, engine="timewarp")
    with pytest.raises(wl.ConfigurationError, match="states"):
        run(PARAMS, lps=4, end=1, states=np.zeros(3, Node := phold.Node.dtype))
    assert Node.itemsize == 16
    with pytest.raises(wl.ConfigurationError, match="wl.state"):
        wl.Model("none", int, Step, Mistake)
    with pytest.raises(wl.ConfigurationError, match="must be one of"):

        @wl.message
        class Wrong:
            text: str


def test_states_can_be_given():
    states = np.zeros(4, phold.Node.dtype)
    states["handled"] = [1, 2, 3, 4]
    report = phold.model.run(PARAMS, lps=4, end=0, states=states)
    assert report.states["handled"].tolist() == [1, 2, 3, 4]


def test_a_helper_that_changes_is_compiled_anew(tmp_path):
    """A helper is part of what compiled code depends on; the same one is taken from the cache."""
    text = (
        "import warpline_sim as wl\n"
        "@wl.state\nclass S:\n    x: wl.i64\n"
        "@wl.message\nclass M: pass\n"
        "@wl.params\nclass P: pass\n"
        "STEP = {step}\n"
        "def helper(x):\n    return x + STEP\n"
        "model = wl.Model('m', S, M, P)  # `cx.model` is another one\n"
        "@model.start\ndef start(state, cx):\n    cx.send(cx.me, 1.0)\n"
        "@model.handler\ndef handle(state, msg, cx):\n    p = cx.model\n"
        "    state.x = helper(state.x)\n"
        "print(model.run(lps=1, end=2).states['x'][0], model.compiled().hits)\n"
    )
    script = tmp_path / "model.py"
    seen = []
    for step in (1, 1, 5):
        script.write_text(text.format(step=step))
        env = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
        done = subprocess.run(
            [sys.executable, script], env=env, capture_output=True, text=True, check=True
        )
        seen.append(done.stdout.split())
    assert seen == [["1", "0"], ["1", "2"], ["5", "0"]]
