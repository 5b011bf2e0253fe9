"""What processes are given: arguments by name, and one of several resources.

Mutations that turn this red: `ordered` takes named arguments in the order of the call; `_one_of`
leaves out where the numbers begin; `_take_one` has no end of them; `_is_plain` does not know a
resource of several; a site without a resource has one with no units.
"""

import numpy as np
import pytest
import warpline_sim as wl

RUNS = [
    {"engine": "sequential"},
    {"engine": "timewarp", "workers": 2},
    {"interpret": True},
]


@wl.state
class Place:
    sums: wl.f64[4]
    count: wl.i64


@wl.params
class Kind:
    kind: wl.i64 = 0


named = wl.World("named", site=Place)


@named.process
def worker(env, weight: wl.f64, age: wl.i8, place: wl.i64):
    yield env.hold(1.0)
    env.site.sums[place] += weight * 10 + age


@named.start
def begin(env):
    env.spawn(worker, 1.0, 2, 0)
    env.spawn(worker, place=1, weight=3, age=4)
    env.spawn(worker, 5.5, place=2, age=6)
    env.spawn_at((env.here + 1) % env.sites, 1.0, worker, age=7, place=3, weight=8)


def test_arguments_have_names():
    for run in RUNS:
        states = named.run(sites=2, end=9, lookahead=1.0, **run).states
        assert states["sums"].tolist() == [[12.0, 34.0, 61.0, 87.0]] * 2, run


def fails(process, params=None, **settings):
    """Why a run with this process is refused, compiled and in the interpreter."""
    world = wl.World("refused", site=Place, params=Kind)
    made = world.process(process)
    world.start(lambda env: env.spawn(made))
    messages = []
    for run in {"engine": "sequential"}, {"interpret": True}:
        with pytest.raises((wl.WarplineError, TypeError, IndexError)) as raised:
            world.run(params or {}, end=9, **settings, **run)
        messages.append(str(raised.value))
    return messages


def test_arguments_of_other_names_are_refused():
    def misspelt(env):
        env.spawn(worker, weigth=1.0, age=2, place=0)
        yield env.hold(1.0)

    def twice(env):
        env.spawn(worker, 1.0, 2, age=2)
        yield env.hold(1.0)

    def few(env):
        env.spawn(worker, age=2)
        yield env.hold(1.0)

    takes = "worker takes 3 arguments (weight, age, place), but gets "
    for process, text in [
        (misspelt, "`weigth`; did you mean `weight`?"),
        (twice, "`age` twice"),
        (few, "1"),
    ]:
        assert all(takes + text in message for message in fails(process)), fails(process)


several = wl.World("several", site=Place, params=Kind)
LAST = several.resource("last")
DESKS = several.resources(["left", "right", "third"], [1, lambda p, site: 2, 1], preemptive=True)


@several.process
def client(env, desk: wl.i64):
    own = DESKS[desk]
    yield env.acquire(own, priority=desk, preempt=desk > 5)
    yield env.hold(1.0 + desk)
    # The resource is known behind the wait.
    env.site.sums[desk] += env.in_use(own) + 10 * env.waiting(DESKS[desk]) + 100 * env.in_use(LAST)
    env.release(own)
    if env.params.kind == 1:
        yield env.acquire(DESKS[env.site.count + 3])
    elif env.params.kind == 2:
        yield env.acquire(DESKS[desk - 3])


@several.start
def come(env):
    for desk in range(len(DESKS)):
        for _ in range(2):
            env.spawn(client, desk=desk)


def test_one_of_several_resources_is_taken_by_its_number():
    reports = [several.run(sites=2, end=20, **run) for run in RUNS]
    first = reports[0]
    # Of the desks to the left and of the third one, the second client waits for the first one.
    assert first.states["sums"].tolist()[0] == [12.0, 3.0, 12.0, 0.0]
    assert first.results["right_in_use_mean"] == pytest.approx(4 / 20)
    assert {f"{name}_waiting_mean" for name in ("left", "right", "third", "last")} <= set(
        first.results
    )
    for run, report in zip(RUNS, reports, strict=True):
        assert report.digest == first.digest, run
        assert np.array_equal(report.states, first.states), run


@pytest.mark.parametrize("kind", [1, 2])
def test_a_number_out_of_range_is_refused(kind):
    for run in RUNS:
        with pytest.raises(IndexError, match="left, right, third: their numbers go from 0 to 2"):
            several.run({"kind": kind}, end=20, **run)


def test_several_resources_are_not_one():
    def takes_all(env):
        yield env.acquire(DESKS)

    compiled, interpreted = fails(takes_all)
    assert "env.acquire takes a resource, but gets <resources left, right, third>" in compiled
    assert "env.acquire takes a resource, but gets <resources left, right, third>" in interpreted


def test_each_of_several_resources_has_a_name_and_units():
    world = wl.World("wrong")
    with pytest.raises(wl.ConfigurationError, match="2 names of resources and 3 numbers of units"):
        world.resources(["one", "two"], [1, 2, 3])
    with pytest.raises(wl.ConfigurationError, match="there must be a name"):
        world.resources([])
    with pytest.raises(wl.ConfigurationError, match="two facilities `one`"):
        world.resources(["one", "one"])


def test_a_site_may_have_no_such_resource():
    world = wl.World("somewhere", site=Place, params=Kind)
    desk = world.resource("desk", lambda p, site: 2 if site == 1 else None)

    @world.process
    def sits(env):
        if env.here == 1 or env.params.kind == 1:
            yield env.acquire(desk)
            yield env.hold(1.0)
            env.release(desk)

    world.start(lambda env: env.spawn(sits))
    for run in RUNS:
        # The mean is that of the one site that has it.
        report = world.run(sites=4, end=10, **run)
        assert report.results["desk_in_use_mean"] == pytest.approx(0.1)
        message = "LP 0 outside of any event `sits` uses `desk`, and its site has no"
        with pytest.raises(wl.ModelError, match=message):
            world.run({"kind": 1}, sites=4, end=10, **run)
