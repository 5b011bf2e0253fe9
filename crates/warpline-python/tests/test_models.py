"""Models written in Python: the same results as in Rust, on every engine, and errors for people."""

import pickle
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Annotated

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
    {"engine": "saving-check"},
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
    # Those of its twin in Rust, `crates/warpline-foreign/tests/foreign/queues.rs`.
    assert (report.digest, report.results["served"]) == ("c83f86729c5d5e18", 2832)
    assert report.results["mean_time"] == pytest.approx(0.789396575, abs=1e-9)
    # A whole number of `finish` stays one.
    kinds = [type(report.results[name]) for name in ("served", "mean_time")]
    assert kinds == [int, float]


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


@pytest.mark.parametrize(
    ("value", "kind"), [("[1, 2]", "a list"), ("(1, 2)", "a tuple"), ("{}", "a dictionary")]
)
def test_a_list_in_the_place_of_a_number(value, kind, tmp_path):
    """In a state, in a message, and where only the compiler sees it."""
    text = (
        "import warpline_sim as wl\n"
        "@wl.state\nclass S:\n    q: wl.i64\n"
        "@wl.message\nclass M:\n    hops: wl.u8\n"
        "@wl.params\nclass P: pass\n"
        "model = wl.Model('m', S, M, P)\n"
        "@model.start\ndef start(state, cx):\n    cx.send(cx.me, 1.0)\n"
        "@model.handler\ndef handle(state, msg, cx):\n    {body}\n"
    )
    script = tmp_path / "model.py"
    for body, field in [
        (f"state.q = {value}", f"the field `q` of `S` is i64, and {kind} does not fit"),
        (f"cx.send(0, 1.0, hops={value})", f"the field `hops` of `M` is u8, and {kind} does not"),
    ]:
        script.write_text(text.format(body=body))
        with pytest.raises(wl.ConfigurationError, match=field) as raised:
            runpy.run_path(str(script))
        assert f"{script}:16: " in str(raised.value)
    script.write_text(text.format(body="found = [1, 2]\n    state.q = found"))
    model = runpy.run_path(str(script))["model"]
    with pytest.raises(wl.ConfigurationError, match="cannot be compiled") as raised:
        model.run(lps=1, end=2)
    assert str(raised.value).startswith(f"{script}:17: ") and "`state.q = found`" in str(raised.value)


@wl.state
class Sum:
    total: wl.f64
    recent: Annotated[wl.Array[wl.f64], 2]


@wl.message
class Value:
    value: wl.f64


@wl.params
class Means:
    mean: wl.f64 = 2.0
    weights: wl.Array[wl.f64]


sums = wl.Model("sums", Sum, Value, Means)


@sums.start
def begin(state, cx):
    cx.send(cx.me, cx.exponential(1.0), value=cx.exponential(cx.model.mean))


@sums.handler
def add(state, msg, cx):
    state.total += msg.value * cx.model.weights[0]
    state.recent[0], state.recent[1] = msg.value, state.recent[0]
    cx.send(cx.me, cx.exponential(1.0), value=cx.exponential(cx.model.mean))


@sums.finish
def results(states, params, end):
    if params.weights[0] < 0:
        raise ValueError("a weight below 0")
    return {"rate": states["total"].sum() / (end * len(states)), "end": end}


MEANS = {"weights": [1.0]}


def test_parameters_have_defaults():
    given = sums.run(Means(weights=[1.0], mean=2.0), lps=4, end=50)
    assert sums.run(MEANS, lps=4, end=50).digest == given.digest
    assert sums.run(MEANS | {"mean": 1.0}, lps=4, end=50).digest != given.digest
    assert given.states["recent"].shape == (4, 2) and sums.dtype == Sum.dtype
    with pytest.raises(wl.ConfigurationError, match="fields of states and messages begin with 0"):

        @wl.state
        class State:
            count: wl.i64 = 5


def test_replications_of_a_model():
    report = sums.replicate(MEANS, 6, lps=8, end=100, seed=3)
    assert report.replications == 6 and report.states is None and report.results["end"] == 100
    rates = report.runs.column("rate")
    assert len(set(rates)) == 6 and np.mean(rates) == pytest.approx(report.results["rate"])
    assert report.half_width_95["rate"] > 0 == report.half_width_95["end"]
    one = sums.run(MEANS, lps=8, end=100, seed=report.runs[2]["seed"])
    assert (one.digest, one.results["rate"]) == (report.runs[2]["digest"], rates[2])
    precise = sums.run(MEANS, lps=8, end=100, precision="rate:10%")
    assert precise.replications > 1 and precise.to_dict()["precision_reached"]


def test_what_finish_raises_is_raised():
    for call in (sums.run, sums.replicate):
        with pytest.raises(ValueError, match="a weight below 0"):
            call({"weights": [-1.0]}, lps=2, end=10)


def test_a_sweep_of_a_model():
    table = sums.sweep(MEANS, {"mean": [1.0, 3.0], "seed": [1, 2]}, lps=4, end=50)
    assert table.column("mean") == [1.0, 1.0, 3.0, 3.0] and table.column("seed") == [1, 2, 1, 2]
    for row in table:
        one = sums.run(MEANS | {"mean": row["mean"]}, lps=4, end=50, seed=row["seed"])
        assert (row["digest"], row["rate"]) == (one.digest, one.results["rate"])
    sizes = sums.sweep(MEANS, {"lps": [2, 4]}, end=10)
    assert sizes.column("lps") == [2, 4]
    with pytest.raises(wl.ConfigurationError, match="unknown key `maen`"):
        sums.sweep(MEANS, {"maen": [1.0]}, lps=4, end=50)


def test_wrong_values():
    run = phold.model.run
    for value, must in [("ten", "must be i64"), (1.5, "must be i64"), ([1, 2], "must be i64")]:
        with pytest.raises(wl.ConfigurationError, match=f"`Params.population` is .*{must}"):
            run(PARAMS | {"population": value}, lps=4, end=1)
    with pytest.raises(wl.ConfigurationError, match="`Means.weights` is .* an array of f64"):
        sums.run({"weights": ["a"]}, lps=4, end=1)
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
    states = np.zeros(4, phold.model.dtype)
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
