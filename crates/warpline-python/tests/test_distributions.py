"""Distributions: the numbers of compiled handlers, of the interpreter and of Rust are the same, bit
for bit, and have the distribution functions of SciPy.

Mutations that turn this red: a parameter more or less in `PARAMETERS`, or the order of two; `_split`
takes the low half for the high one; `_discrete` compares the wrong way round; `_shuffle` draws below
`end`; whole numbers are taken for bits of a float; `draw` does not put the words back.
"""

import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import warpline_sim as wl
from scipy import stats
from warpline_sim import _native
from warpline_sim._models._interpreter import Context
from warpline_sim._models._laws import LAWS

INF = float("inf")
WAYS = [{}, {"interpret": True}]


@wl.state
class Draws:
    count: wl.i64
    numbers: Annotated[wl.Array[wl.f64], 2000]


@wl.message
class Nothing:
    pass


@wl.params
class Tables:
    weights: wl.Array[wl.f64]
    observations: wl.Array[wl.f64]


WEIGHTS = [1.0, 2.0, 0.0, 4.0]
OBSERVATIONS = [0.5, 2.5, 1.0, 7.0]
TABLES = {"weights": wl.discrete(WEIGHTS), "observations": wl.empirical(OBSERVATIONS)}


def drawing(name, draw):
    """A model of one LP that keeps 2000 draws of a handler."""
    model = wl.Model(name, Draws, Nothing, Tables)

    @model.start
    def start(state, cx):
        cx.send(cx.me, 1.0)

    @model.handler
    def handle(state, msg, cx):
        for at in range(2000):
            state.numbers[at] = draw(cx)

    return model


#: What is drawn, and its distribution function.
CONTINUOUS = [
    ("normal", lambda cx: cx.normal(3.0, 2.0), stats.norm(3.0, 2.0)),
    ("lognormal", lambda cx: cx.lognormal(0.5, 0.75), stats.lognorm(0.75, scale=np.exp(0.5))),
    (
        "lognormal_with_mean",
        lambda cx: cx.lognormal_with_mean(3.0, 2.0),
        stats.lognorm(
            np.sqrt(np.log1p(4 / 9)), scale=3.0 / np.sqrt(1 + 4 / 9)
        ),
    ),
    (
        "truncated_normal",
        lambda cx: cx.truncated_normal(1.0, 2.0, 0.0, 7.0),
        stats.truncnorm(-0.5, 3.0, 1.0, 2.0),
    ),
    (
        "truncated_normal in the tail",
        lambda cx: cx.truncated_normal(0.0, 1.0, 7.0, INF),
        stats.truncnorm(7.0, INF),
    ),
    ("gamma", lambda cx: cx.gamma(2.5, 3.0), stats.gamma(2.5, scale=3.0)),
    ("gamma below 1", lambda cx: cx.gamma(shape=0.3, scale=3), stats.gamma(0.3, scale=3.0)),
    ("erlang", lambda cx: cx.erlang(4, 2.0), stats.erlang(4, scale=0.5)),
    ("weibull", lambda cx: cx.weibull(1.5, 2.0), stats.weibull_min(1.5, scale=2.0)),
    ("triangular", lambda cx: cx.triangular(1.0, 2.0, 5.0), stats.triang(0.25, 1.0, 4.0)),
    ("beta", lambda cx: cx.beta(2.0, 3.5), stats.beta(2.0, 3.5)),
    ("beta below 1", lambda cx: cx.beta(0.5, 0.75), stats.beta(0.5, 0.75)),
    ("exponential", lambda cx: cx.exponential(2.0), stats.expon(scale=2.0)),
    ("uniform_in", lambda cx: cx.uniform_in(2.0, 5.0), stats.uniform(2.0, 3.0)),
]
WHOLE = [
    ("poisson", lambda cx: cx.poisson(4.5), stats.poisson(4.5)),
    ("poisson of many", lambda cx: cx.poisson(60), stats.poisson(60)),
    ("binomial", lambda cx: cx.binomial(20, 0.25), stats.binom(20, 0.25)),
    ("binomial of many", lambda cx: cx.binomial(n=300, p=0.7), stats.binom(300, 0.7)),
    ("geometric", lambda cx: cx.geometric(0.2), stats.geom(0.2, loc=-1)),
    ("discrete", lambda cx: cx.discrete(cx.model.weights),
     stats.rv_discrete(values=([0, 1, 3], np.array([1, 2, 4]) / 7))),
]


def drawn(name, draw, **settings):
    model = drawing(name, draw)
    report = model.run(TABLES, lps=5, end=2, seed=11, engine="sequential", **settings)
    return report.states["numbers"].ravel()


@pytest.mark.parametrize(("name", "draw", "law"), CONTINUOUS, ids=lambda value: str(value)[:28])
def test_continuous_draws_have_their_distribution(name, draw, law):
    numbers = drawn(name, draw)
    assert stats.kstest(numbers, law.cdf).pvalue > 1e-4
    assert numbers.mean() == pytest.approx(law.mean(), abs=5 * law.std() / 100)
    assert np.array_equal(numbers, drawn(name, draw, interpret=True))


@pytest.mark.parametrize(("name", "draw", "law"), WHOLE, ids=lambda value: str(value)[:28])
def test_whole_draws_have_their_probabilities(name, draw, law):
    numbers = drawn(name, draw)
    values, counts = np.unique(numbers, return_counts=True)
    expected = 10_000 * law.pmf(values)
    often = expected >= 10
    rest = [10_000 - counts[often].sum()], [10_000 - expected[often].sum()]
    found, expected = np.append(counts[often], rest[0]), np.append(expected[often], rest[1])
    if expected[-1] < 5:
        found, expected = found[:-1], expected[:-1] * found[:-1].sum() / expected[:-1].sum()
    assert stats.chisquare(found, expected).pvalue > 1e-4
    assert np.array_equal(numbers, drawn(name, draw, interpret=True))


def test_empirical_draws_are_between_the_observations():
    numbers = drawn("empirical", lambda cx: cx.empirical(cx.model.observations))
    cdf = lambda x: np.interp(x, sorted(OBSERVATIONS), [0, 1 / 3, 2 / 3, 1])  # noqa: E731
    assert stats.kstest(numbers, cdf).pvalue > 1e-4


@wl.state
class Known:
    numbers: Annotated[wl.Array[wl.f64], 33]
    order: Annotated[wl.Array[wl.i64], 5]


KNOWN_TABLES = {
    "weights": wl.discrete([1.0, 2.0, 3.0, 4.0]),
    "observations": wl.empirical([0.5, 2.5, 1.0]),
}

known = wl.Model("known draws", Known, Nothing, Tables)


@known.start
def start_known(state, cx):
    if cx.me == 7:
        draws = state.numbers
        draws[0] = cx.normal(1.0, 2.0)
        draws[1] = cx.lognormal(0.5, 0.75)
        draws[2] = cx.lognormal_with_mean(3.0, 2.0)
        draws[3] = cx.gamma(0.3, 2.0)
        draws[4] = cx.gamma(2.5, 2.0)
        draws[5] = cx.erlang(1, 2.0)
        draws[6] = cx.erlang(3, 2.0)
        draws[7] = cx.weibull(1.5, 2.0)
        draws[8] = cx.triangular(1.0, 2.0, 4.0)
        draws[9] = cx.beta(2.0, 3.0)
        draws[10] = cx.beta(0.5, 0.75)
        draws[11] = cx.truncated_normal(1.0, 2.0, 0.0, 3.0)
        draws[12] = cx.truncated_normal(0.0, 1.0, 4.0, INF)
        draws[13] = cx.truncated_normal(0.0, 1.0, -9.0, -8.5)
        draws[14] = cx.truncated_normal(0.0, 1.0, -3.0, 8.0)
        draws[15] = cx.poisson(4.5)
        draws[16] = cx.poisson(45.0)
        draws[17] = cx.binomial(20, 0.25)
        draws[18] = cx.binomial(200, 0.75)
        draws[19] = cx.geometric(0.125)
        draws[20] = cx.discrete(cx.model.weights)
        draws[21] = cx.empirical(cx.model.observations)
        draws[22] = cx.choice((3, 1, 4, 1, 5))
        cx.permutation(state.order)
        for at in range(5):
            draws[23 + at] = state.order[at]
            state.order[at] = 97 + at
        cx.shuffle(state.order)
        for at in range(5):
            draws[28 + at] = state.order[at]


@known.handler
def handle_known(state, msg, cx):
    pass


#: Where the same draws stand in Rust.
RUST = Path(__file__).parents[2] / "warpline-core/src/random/tests/known.rs"


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_numbers_are_those_of_rust(way):
    expected = re.findall(r'^    \("(\w+)", ([\d_]+)\),$', RUST.read_text(), re.MULTILINE)
    assert len(expected) == 33
    report = known.run(KNOWN_TABLES, lps=8, end=1, seed=42, engine="sequential", **way)
    # In Rust, they are drawn from the first number of the stream on, by LP 7 of a run with seed 42.
    numbers = report.states["numbers"][7]
    is_whole = {name: whole for name, _, whole in LAWS}
    is_whole.update(dict.fromkeys(("choice", "discrete", "permutation", "shuffle"), True))
    for number, (name, bits) in zip(numbers, expected, strict=True):
        whole = is_whole.get(name, False)
        found = int(number) if whole else struct.unpack("=Q", struct.pack("=d", number))[0]
        assert found == int(bits), name


@wl.state
class Desk:
    waiting: wl.i64
    served: wl.i64
    level: wl.f64
    order: Annotated[wl.Array[wl.i32], 6]


@wl.message
class Job:
    size: wl.f64


#: A model that uses many of them, and undoes them.
desks = wl.Model("desks", Desk, Job, Tables)


@desks.start
def start_desks(state, cx):
    cx.permutation(state.order)
    for _ in range(1 + cx.poisson(2.0)):
        cx.send(cx.me, cx.gamma(0.7, 1.0), size=cx.lognormal(0.0, 0.5))


@desks.handler
def handle_desks(state, msg, cx):
    cx.note(state.level)
    state.level = cx.truncated_normal(state.level, 1.0, 0.0, 9.0)
    state.waiting += cx.binomial(10, 0.3)
    state.served += 1
    delay = msg.size * cx.weibull(2.0, 1.0) + cx.empirical(cx.model.observations)
    if cx.discrete(cx.model.weights) == 3:
        delay += cx.triangular(0.0, 1.0, 2.0)
    size = max(cx.normal(1.0, 0.25), 0.1) + cx.beta(2.0, 2.0)
    cx.send((cx.me + cx.choice(state.order)) % cx.lp_count, delay, size=size)


@desks.reverse
def undo_desks(state, msg, cx):
    cx.truncated_normal(cx.noted_float, 1.0, 0.0, 9.0)
    state.level = cx.noted_float
    state.waiting -= cx.binomial(10, 0.3)
    state.served -= 1


RUNS = [
    {"engine": "speculative", "workers": 2},
    {"engine": "timewarp", "workers": 3},
    {"engine": "timewarp", "workers": 3, "in_turn": True, "saving": "reverse"},
    {"engine": "reverse-check"},
    {"interpret": True},
]


@pytest.mark.parametrize("settings", RUNS, ids=str)
def test_engines_agree(settings):
    expected = desks.run(TABLES, lps=12, end=60, engine="sequential")
    report = desks.run(TABLES, lps=12, end=60, **settings)
    assert expected.committed_events > 300
    assert report.digest == expected.digest
    assert np.array_equal(report.states, expected.states)


def test_wrong_parameters_are_nan_or_the_nearest():
    @wl.state
    class Odd:
        numbers: Annotated[wl.Array[wl.f64], 8]

    model = wl.Model("odd", Odd, Nothing, Tables)

    @model.start
    def start(state, cx):
        state.numbers[0] = cx.normal(0.0, -1.0)
        state.numbers[1] = cx.gamma(0.0, 1.0)
        state.numbers[2] = cx.erlang(-3, 1.0)
        state.numbers[3] = cx.poisson(-1.0)
        state.numbers[4] = cx.binomial(-5, 0.5)
        state.numbers[5] = cx.binomial(5, 2.0)
        state.numbers[6] = cx.geometric(0.0) == 2**63 - 1
        state.numbers[7] = cx.geometric(2)

    @model.handler
    def handle(state, msg, cx):
        pass

    for way in WAYS:
        report = model.run(TABLES, lps=1, end=1, engine="sequential", **way)
        numbers = report.states["numbers"][0]
        assert np.isnan(numbers[:3]).all()
        assert numbers[3:].tolist() == [0, 0, 5, 1, 0]


def test_tables_say_what_is_wrong():
    for make, numbers, what in [
        (wl.discrete, [1.0, -2.0], "wl.discrete: number 1 is -2, but a weight is finite"),
        (wl.discrete, [], "there are no numbers"),
        (wl.discrete, ["one"], "wl.discrete: could not convert"),
        (wl.empirical, [0.0, np.nan], "wl.empirical: number 1 is NaN"),
    ]:
        with pytest.raises(wl.ConfigurationError, match=re.escape(what)):
            make(numbers)
    assert len(wl.discrete(np.ones(3, "f4"))) == 7


def weighted(cx):
    return cx.discrete(cx.model.weights)


def observed(cx):
    return cx.empirical(cx.model.weights)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("draw", [weighted, observed])
def test_numbers_are_no_table(draw, way):
    """A list of weights, or an empty one, where a table must be."""
    model = drawing("no table", draw)
    for numbers in [WEIGHTS, [2.5], TABLES["observations" if draw is weighted else "weights"]]:
        with pytest.raises(ValueError, match="takes a table that wl"):
            model.run({"weights": numbers}, lps=1, end=2, engine="sequential", **way)
    with pytest.raises(IndexError):
        model.run({}, lps=1, end=2, engine="sequential", **way)


def test_a_context_has_all_of_them():
    context = Context((0.0, 0, 1), (1, 0), None, None)
    for name, parameters, is_whole in _native.laws():
        drawn = getattr(context, name)(**dict.fromkeys(parameters, 0.5))
        assert type(drawn) is (int if is_whole else float)
    with pytest.raises(wl.ConfigurationError, match="did you mean `normal`"):
        wrong = wl.Model("wrong", Draws, Nothing, Tables)

        @wrong.start
        def start(state, cx):
            state.numbers[0] = cx.norml(0.0, 1.0)

        @wrong.handler
        def handle(state, msg, cx):
            pass

        wrong.run(lps=1, end=1)


#: A program that runs a model, and says whether Numba was needed.
PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import test_distributions as t
print(t.desks.run(t.TABLES, lps=4, end=20, engine="sequential").digest, "numba" in sys.modules)
"""


def test_compiled_draws_are_loaded_without_numba(tmp_path):
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert printed[0][0] == printed[1][0]
    assert [one[1] for one in printed] == ["True", "False"]
