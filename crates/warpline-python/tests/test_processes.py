"""Processes written in Python: the results of Rust, on every engine, and errors for people.

Mutations that turn this red: `_unpack` takes held variables at the beginning; `_pack` leaves one
out; `_is_plain` takes arrays; `_spawn` does not cast; the environment draws from a copy.
"""

import re
import sys
from math import factorial
from pathlib import Path

import numpy as np
import pytest
import warpline_sim as wl

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

import bank  # noqa: E402
import mmc  # noqa: E402

RUNS = [
    {"engine": "sequential"},
    {"engine": "conservative", "workers": 2},
    {"engine": "speculative", "workers": 2},
    {"engine": "timewarp", "workers": 1, "as_if_many": True},
    {"engine": "timewarp", "workers": 3},
    {"engine": "saving-check"},
    {"engine": "timewarp", "workers": 2, "ranks": 2},
    {"engine": "conservative", "workers": 2, "ranks": 2},
    {"engine": "auto", "workers": 2},
    {"interpret": True},
]
#: That of the same bank in Rust: `crates/warpline-foreign/tests/foreign/processes.rs`.
BANK = "ed75be7f21d283e4"


@pytest.fixture(scope="module")
def of_bank():
    return bank.world.run(sites=8, end=100, seed=7, engine="sequential")


@pytest.mark.parametrize("settings", RUNS, ids=str)
def test_the_bank_is_the_bank_in_rust(settings, of_bank):
    report = bank.world.run(sites=8, end=100, seed=7, lookahead=0.5, **settings)
    assert (report.digest, report.committed_events) == (BANK, 11255)
    assert np.array_equal(report.states, of_bank.states)
    assert set(report.results) == set(of_bank.results)
    for name, value in of_bank.results.items():
        assert report.results[name] == pytest.approx(value, rel=1e-12), name


def test_processes_hold_what_they_need():
    """Where it goes on; the patience of a customer, and when it came."""
    assert [words for _, words in bank.world.compiled().processes] == [3, 1]


def erlang_c(arrivals, service, servers):
    """The mean wait in M/M/c."""
    load = arrivals / service
    sums = sum(load**k / factorial(k) for k in range(servers))
    last = load**servers / factorial(servers) / (1 - load / servers)
    return last / (sums + last) / (servers * service - arrivals)


def test_the_queue_has_the_wait_of_erlang():
    report = mmc.world.replicate(replications=8, sites=16, end=10_000, warmup=500)
    expected, width = erlang_c(4, 1, 5), report.half_width_95["waits_mean"]
    assert abs(report.results["waits_mean"] - expected) < 2 * width < 0.1 * expected
    assert report.results["server_in_use_mean"] == pytest.approx(4, rel=0.02)
    assert len((EXAMPLES / "mmc.py").read_text().split('world = ')[1].split("if __name__")[0]
               .split()) < 100


@wl.state
class Place:
    count: wl.i64
    last: wl.f64
    sum: wl.f64
    log: wl.f64[32]


@wl.params
class Kind:
    kind: wl.i64 = 0
    numbers: wl.Array[wl.f64]


def note(env, number):
    env.site.log[env.site.count] = number
    env.site.count += 1


workshop = wl.World("workshop", site=Place, params=Kind)
BENCH = workshop.resource("bench", 1, preemptive=True)
PARTS = workshop.store("parts")
SHELF = workshop.store("shelf", 1)
TANK = workshop.container("tank", capacity=10.0, amount=4.0)
OPEN = workshop.condition("open")


@workshop.process
def worker(env, number: wl.i32, weight: wl.f32):
    for turn in range(2):
        yield env.acquire(BENCH, priority=number)
        yield env.hold(1.0 + weight)
        note(env, 100.0 * number + turn + env.now)
        env.release(BENCH)


@workshop.process
def chief(env):
    yield env.hold(0.5)
    yield env.acquire(BENCH, priority=9, preempt=True)
    note(env, -env.waiting(BENCH) - env.in_use(BENCH))
    env.release(BENCH)


@workshop.process
def victim(env):
    yield env.acquire(BENCH, priority=-5)
    yield env.hold(3.0)
    note(env, 7000.0 + env.now if env.preempted else -7000.0)


@workshop.process
def maker(env):
    for number in range(3):
        yield env.put(SHELF, 10.0 + number)
        note(env, 2000.0 + env.now)
        yield env.put(PARTS, number)
        note(env, 0.0 if env.granted else -1.0)
    env.put(PARTS, 3.0)
    yield env.fill(TANK, 8.0)
    note(env, 3000.0 + env.amount(TANK))


@workshop.process
def taker(env):
    yield env.hold(5.0)
    yield env.get(SHELF)
    note(env, env.item)
    yield env.get(SHELF)
    note(env, env.item + env.items(PARTS))
    yield env.take(TANK, 3.0)
    yield env.get(PARTS, timeout=1.0)
    note(env, env.item)
    sleeper_of = env.spawn(sleeper)
    waiter_of = env.spawn(waiter)
    yield env.hold(1.0)
    env.signal(OPEN)
    env.activate(sleeper_of)
    yield env.hold(1.0)
    env.interrupt(sleeper_of, 42)
    note(env, env.is_here(waiter_of) + 10 * env.is_here(sleeper_of))


@workshop.process
def sleeper(env):
    yield env.passivate()
    note(env, 500.0 + env.now)
    yield env.hold(100.0)
    note(env, env.cause + 0.5 if env.interrupted else -1.0)


@workshop.process
def waiter(env):
    yield env.wait(OPEN, timeout=50.0)
    note(env, 600.0 + env.now)
    env.spawn_at((env.here + 1) % env.sites, 2.0, visitor, env.here, env.me > 0)


@workshop.process
def visitor(env, came: wl.i64, one: wl.u8):
    env.site.last = env.now + came + one
    yield env.travel(came, 0.25)
    env.site.last += env.now + env.params.numbers[1]


@workshop.process
def holder(env, small: wl.i8, big: wl.u64, real: wl.f32):
    pair = (env.now + 0.5, 1.0 * small)
    is_odd, late = small % 2 == 1, None
    for step in (0.25, 0.5):
        yield env.hold(step + real)
        for number, weight in enumerate(pair):
            yield env.hold(0.125 * number)
            env.site.sum += weight * step
        if late is not None:
            env.site.sum += late
        late = env.now
    if is_odd and big > 5 and small < 0:
        env.site.sum += pair[0] + real


@workshop.start
def begin(env):
    env.spawn(holder, -3, 2**63 + 1, 0.1)
    env.spawn(victim)
    env.spawn(chief)
    env.spawn(worker, 1, 0.5)
    env.spawn(worker, 2, 0.25)
    env.spawn(maker)
    env.spawn(taker)


def test_all_that_processes_wait_for():
    numbers = {"numbers": [1.0, 0.5]}
    settings = {"sites": 3, "end": 60, "lookahead": 0.25, "seed": 3}
    reports = [workshop.run(numbers, **settings, **run) for run in RUNS]
    first = reports[0]
    log = first.states["log"][0]
    assert 7000.5 in log and 42.5 in log and (log != -7000.0).all() and (log != -1.0).all()
    assert first.states["count"].tolist() == [first.states["count"][0]] * 3
    assert (first.states["last"] > 0).all()
    assert first.states["sum"] == pytest.approx([-0.8] * 3)
    for run, report in zip(RUNS, reports, strict=True):
        assert report.digest == first.digest, run
        assert np.array_equal(report.states, first.states), run


mistaken = wl.World("mistaken", site=Place, params=Kind)
DESK = mistaken.resource("desk")


@mistaken.process
def stumble(env):
    yield env.hold(1.0)
    kind = env.params.kind
    if kind == 0:
        env.site.log[env.site.count + 40] = 1.0
    elif kind == 1:
        env.site.last = 1 / env.site.count
    elif kind == 2:
        raise ValueError("more steps than I can count")
    elif kind == 3:
        raise ValueError("so many:", kind)
    elif kind == 4:
        yield env.hold(-1.0)
    elif kind == 5:
        yield env.acquire(DESK)
    elif kind == 6:
        env.release(DESK)
    elif kind == 7:
        yield env.travel(99, 1.0)
    elif kind == 8:
        yield env.travel(-1, 1.0)


mistaken.start(lambda env: env.spawn(stumble))
ENGINES = [{"engine": "sequential"}, {"engine": "timewarp", "workers": 2}, {"interpret": True}]


@pytest.mark.parametrize("settings", ENGINES, ids=str)
@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        (0, IndexError, "out of bounds"),
        (1, ZeroDivisionError, "division"),
        (2, ValueError, "more steps than I can count"),
        (3, ValueError, "so many:.*3"),
        (4, wl.ModelError, "-1"),
        (5, wl.ModelError, "`stumble` ends and has not released `desk`"),
        (6, wl.ModelError, "`stumble` releases `desk`, and has not acquired it"),
        (7, wl.ModelError, "99"),
        (8, wl.ModelError, "`stumble` travels to site -1, but sites are numbered from 0 on"),
    ],
)
def test_a_process_that_fails(kind, error, text, settings):
    with pytest.raises(error, match=text) as raised:
        mistaken.run(Kind(kind=kind, numbers=[]), sites=4, end=9, **settings)
    if kind < 4:
        notes = "\n".join(raised.value.__notes__)
        assert "`stumble` raised an exception" in notes and "virtual time 1" in notes
        if "interpret" not in settings:
            lines = Path(__file__).read_text().splitlines()
            found = re.findall(r'test_processes.py", line (\d+), in stumble(: after)?', notes)
            texts = [(lines[int(line) - 1].strip(), after) for line, after in found]
            assert texts.pop() == ("yield env.hold(1.0)", ": after")
            assert [text.startswith("raise ValueError") for text, _ in texts] == [True] * (kind > 1)


def refused(process):
    """Why a process is refused, where it is made or compiled, with a line in it."""
    world = wl.World("refused", site=Place, params=Kind)
    first = process.__code__.co_firstlineno
    with pytest.raises(wl.ConfigurationError) as raised:
        made = world.process(process)
        world.start(lambda env: env.spawn(made))
        world.run({"numbers": [1.0]}, end=1)
    text = str(raised.value)
    place = re.match(r"(.*\.py):(\d+): ", text)
    assert place and Path(place[1]) == Path(__file__) and first <= int(place[2]) < first + 8, text
    return text


def test_a_process_has_a_yield():
    def rests(env):
        env.now

    assert "`rests` has no `yield`" in refused(rests)


def test_arguments_have_types():
    def rests(env, time):
        yield env.hold(time)

    assert "the argument `time` has no type" in refused(rests)


def test_a_yield_has_no_value():
    def rests(env):
        ok = yield env.hold(1.0)
        env.site.last = ok

    def tests(env):
        if (yield env.hold(1.0)):
            env.site.count += 1

    assert "`env.granted` tells how the last wait ended" in refused(rests)
    assert "a `yield` is a statement of its own" in refused(tests)


def test_yield_from_is_refused():
    def rests(env):
        yield from (env.hold(1.0), env.hold(2.0))

    assert "`yield from`" in refused(rests)


def test_a_wait_without_yield_is_refused():
    def rests(env):
        env.hold(1.0)
        yield env.hold(1.0)

    assert "`env.hold` alone does not wait: write `yield` before it" in refused(rests)


def test_what_is_no_wait_is_not_yielded():
    def rests(env):
        yield env.release(DESK)

    assert "`env.release` is no wait" in refused(rests)


def test_a_misspelt_name_is_refused():
    def rests(env):
        yield env.hould(1.0)

    def counts(env):
        env.site.cuont += 1
        yield env.hold(1.0)

    def reads(env):
        yield env.hold(env.params.kid)

    assert "did you mean `hold`?" in refused(rests)
    assert "did you mean `count`?" in refused(counts)
    assert "did you mean `kind`?" in refused(reads)


def test_a_yield_in_a_try_is_refused():
    def rests(env):
        try:
            yield env.hold(1.0)
        finally:
            env.site.count += 1

    assert "a `yield` in a `try`" in refused(rests)


def test_what_has_an_address_is_not_held():
    def lists(env):
        numbers = [1.0, 2.0]
        yield env.hold(numbers[0])
        env.site.last = numbers[1]

    def texts(env):
        name = str(env.here)
        yield env.hold(1.0)
        env.site.count = len(name)

    def sites(env):
        here = env.site
        yield env.hold(1.0)
        here.count += 1

    def arrays(env):
        all_of_them = env.params.numbers
        yield env.hold(1.0)
        env.site.last = all_of_them[0]

    messages = [refused(process) for process in (lists, texts, sites, arrays)]
    for text, name in zip(messages, ["numbers", "name", "here", "all_of_them"], strict=True):
        assert f"holds `{name}`" in text and "across a `yield`" in text, text


def test_what_is_too_large_is_refused():
    def holds(env):
        numbers = (env.now, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
        more = (numbers, numbers, numbers, numbers)
        yield env.hold(1.0)
        env.site.last = more[0][1]

    assert "numbers across its waits, but may hold 23" in refused(holds)


def test_what_is_spawned_gets_its_arguments():
    def spawns(env):
        env.spawn(visitor, 1)
        yield env.hold(1.0)

    assert "visitor takes 2 arguments (came, one), but gets 1" in refused(spawns)


def test_a_facility_is_what_it_is_used_as():
    def rests(env):
        yield env.acquire(PARTS)

    assert "env.acquire takes a resource, but gets <store parts>" in refused(rests)


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(wl.ConfigurationError, match="must be 'sequential' with interpret=True"):
        bank.world.run(end=1, interpret=True, engine="timewarp")
    with pytest.raises(wl.ConfigurationError, match="`sites` is 0"):
        bank.world.run(sites=0, end=1)
    world = wl.World("empty")
    with pytest.raises(wl.ConfigurationError, match="the world has no `@world.start`"):
        world.run(end=1)
    world.resource("desk", lambda p, site: 0.5)
    world.start(lambda env: None)
    with pytest.raises(wl.ConfigurationError, match="`desk` has 0.5 at site 0"):
        world.run(end=1, interpret=True)
    with pytest.raises(wl.ConfigurationError, match="two facilities `desk`"):
        world.resource("desk")


def test_finish_computes_results():
    world = wl.World("counted", site=Place)

    @world.process
    def counts(env):
        while True:
            yield env.hold(1.0)
            env.site.count += 1

    world.start(lambda env: env.spawn(counts))
    world.finish(lambda states, params, end: {"total": states["count"].sum() / end})
    report = world.run(sites=4, end=10.5, engine="timewarp", workers=2)
    assert report.results["total"] == pytest.approx(40 / 10.5)
    table = world.sweep(vary={"sites": [1, 2], "seed": range(2)}, end=10.5)
    assert [row["total"] for row in table] == pytest.approx([10 / 10.5] * 2 + [20 / 10.5] * 2)


def test_without_numba_the_interpreter_runs(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert bank.world.run(sites=8, end=100, seed=7).digest == BANK
    with pytest.raises(wl.ConfigurationError, match="must be 'sequential' without Numba"):
        bank.world.run(sites=8, end=100, engine="timewarp")


def test_an_environment_is_that_of_its_process():
    world = wl.World("kept", site=Place)
    kept = []

    @world.process
    def keeps(env):
        kept.append(env)
        yield env.hold(1.0)

    world.start(lambda env: env.spawn(keeps))
    world.run(end=5, interpret=True)
    with pytest.raises(RuntimeError, match="after its process has waited or ended"):
        kept[0].spawn(keeps)
