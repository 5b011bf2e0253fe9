"""Sessions of worlds: runs of processes that stop, are looked at, branched, saved and resumed.

Mutations that turn this red: `first_words` leaves out the place for where a process goes on;
`branch` or `save` goes on in the interpreter; `_runner` resumes there; the identity of a world has
no key of its code, or no parameters; `prepared_for` does not compare the keys.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
import warpline_sim as wl

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import bank  # noqa: E402

BANK = {"sites": 8, "end": 100, "seed": 7, "lookahead": 0.5}
ENGINES = [
    {"engine": "sequential"},
    {"engine": "conservative", "workers": 2},
    {"engine": "timewarp", "workers": 2},
    {"engine": "speculative", "workers": 2},
    {"engine": "timewarp", "workers": 1, "ranks": 2},
    {"interpret": True},
]


@pytest.fixture(scope="module")
def whole():
    return bank.world.run(**BANK, engine="sequential")


@pytest.mark.parametrize("settings", ENGINES, ids=str)
def test_a_session_ends_as_a_run_does(settings, whole):
    with bank.world.open(**BANK, **settings) as s:
        assert s.now == 0 and not s.states["waits"][:, 0].any()
        s.run_until(40)
        assert s.now == 40 and s.next_event_time >= 40
        report, states = s.report(), s.states
        assert report.end_time == 40
        assert report.results["reneged"] == states["reneged"][:, 0].sum() > 0
        assert report.results["waits_count"] == states["waits"][:, 0].sum() > 0
        assert np.array_equal(report.states, states)
        assert "processes" in s.state(0)
        parts = []
        s.run_until(progress=lambda part, text: parts.append(part))
        report = s.report()
        assert (report.digest, report.results) == (whole.digest, whole.results)
        assert np.array_equal(report.states, whole.states)
        assert repr(s) == "<Session of bank at 100>"
    with pytest.raises(ValueError, match="closed"):
        s.states


@pytest.mark.parametrize("settings", ENGINES[:-1], ids=str)
def test_branches_and_checkpoints_go_on(settings, whole, tmp_path):
    path = tmp_path / "bank.ckpt"
    with bank.world.open(**BANK, **settings) as s:
        s.run_until(40)
        s.save(path)
        same = s.branch(engine="auto", ranks=1)
        patient = s.branch({"patience": 8.0})
        for future in s, same, patient:
            future.run_until()
        for future in s, same:
            assert future.report().digest == whole.digest
            assert np.array_equal(future.states, whole.states)
        assert patient.report().digest != whole.digest
        assert patient.results["reneged_rate"] < s.results["reneged_rate"]
    with bank.world.open(**BANK, resume=path) as resumed:
        assert resumed.now == 40
        resumed.run_until()
        assert resumed.report().digest == whole.digest
    report = bank.world.run(**BANK, resume=path, engine="timewarp", workers=2)
    assert report.digest == whole.digest
    assert np.array_equal(report.states, whole.states)


def test_a_checkpoint_is_of_the_same_processes_and_parameters(tmp_path):
    def world(time):
        made = wl.World("held", site=bank.Branch, params=bank.Bank)

        @made.process
        def holds(env):
            while True:
                yield env.hold(time)

        made.start(lambda env: env.spawn(holds))
        return made

    path = tmp_path / "held.ckpt"
    with world(1.0).open(end=10) as s:
        s.run_until(5)
        s.save(path)
    with world(1.0).open(end=10, resume=path) as s:
        assert s.now == 5
    for other, params in (world(2.0), {}), (world(1.0), {"walk": 0.25}):
        with pytest.raises(wl.WarplineError, match="other parameters"):
            other.open(params, end=10, resume=path)


def test_a_branch_keeps_what_facilities_have():
    with bank.world.open(**BANK) as s:
        s.run_until(10)
        with pytest.raises(wl.WarplineError, match="had another `teller` before"):
            s.branch({"tellers": 6})
        with pytest.raises(wl.ConfigurationError, match="sites cannot differ in a branch"):
            s.branch(sites=4)
        with pytest.raises(wl.ConfigurationError, match="seed cannot differ"):
            s.branch(seed=4)
        with pytest.raises(wl.ConfigurationError, match="neither they nor interpret may differ"):
            s.branch(interpret=True)
    with pytest.raises(wl.ConfigurationError, match="a session is one run"):
        bank.world.open(**BANK, replications=3)


def test_the_interpreter_has_generators_which_are_not_copied(tmp_path):
    with bank.world.open(**BANK, interpret=True) as s:
        s.run_until(5)
        with pytest.raises(wl.ConfigurationError, match="`bank` has no branch: the interpreter"):
            s.branch()
        with pytest.raises(wl.ConfigurationError, match="`bank` is not written to a checkpoint"):
            s.save(tmp_path / "bank.ckpt")
    with pytest.raises(wl.ConfigurationError, match="`bank` has no checkpoints: the interpreter"):
        bank.world.open(**BANK, interpret=True, resume=tmp_path / "bank.ckpt")


@wl.state
class Seen:
    sum: wl.f64
    last: wl.i64


shop = wl.World("shop", site=Seen)
CLERK = shop.resource("clerk")


@shop.process
def visitor(env, weight: wl.f64, age: wl.i8):
    yield env.acquire(CLERK)
    yield env.hold(1.0)
    env.release(CLERK)
    env.site.sum += weight * env.now + age
    env.site.last = env.entity
    if age == 13:
        raise ValueError("thirteen")


shop.start(lambda env: None)


def test_processes_begin_from_outside():
    seen = []
    for settings in ENGINES:
        with shop.open(sites=3, end=50, lookahead=1.0, **settings) as s:
            s.spawn_at(2, 1.5, visitor, weight=2.0, age=-3)
            s.spawn_at(2, 1.5, visitor, 0.5, age=4)
            s.run_until(2)
            s.spawn_at(0, 2.25, visitor, 1.0, 0)
            s.run_until()
            # The second one waits for the first one, and each has a number of its own.
            assert s.states["sum"].tolist() == [3.25, 0.0, 2 * 2.5 - 3 + 0.5 * 3.5 + 4]
            assert s.states["last"].tolist() == [1, 0, 2 << 32 | 2]
            seen.append(s.report().digest)
    assert len(set(seen)) == 1


def test_what_does_not_begin_from_outside_is_said():
    with shop.open(sites=3, end=50) as s:
        s.run_until(2)
        for wrong, text in [
            ((0, 1.0, visitor, 1.0, 2), "time"),
            ((3, 9.0, visitor, 1.0, 2), "an LP of the model"),
            ((0, 9.0, bank.customer, 1.0), "a process of `shop`, but gets <process customer>"),
            ((0, 9.0, visitor, 1.0), "visitor takes 2 arguments \\(weight, age\\), but gets 1"),
        ]:
            with pytest.raises(wl.ConfigurationError, match=text):
                s.spawn_at(*wrong)
        with pytest.raises(wl.ConfigurationError, match="`wait`"):
            s.spawn_at(0, 9.0, visitor, 1.0, wait=2)


@pytest.mark.parametrize("settings", [ENGINES[0], ENGINES[2], ENGINES[-1]], ids=str)
def test_a_process_that_raises_in_a_session_is_shown(settings):
    with shop.open(sites=3, end=50, **settings) as s:
        s.spawn_at(1, 3.0, visitor, 1.0, 13)
        s.run_until(3.5)
        with pytest.raises(ValueError, match="thirteen") as raised:
            s.run_until()
        notes = "".join(raised.value.__notes__)
        assert "`visitor` raised an exception" in notes and "virtual time 4" in notes
        with pytest.raises(wl.ConfigurationError, match="its last step failed"):
            s.run_until()


def test_a_finish_that_raises_leaves_the_states():
    world = wl.World("counted", site=Seen)

    @world.process
    def counts(env):
        while True:
            yield env.hold(1.0)
            env.site.last += 1

    world.start(lambda env: env.spawn(counts))

    @world.finish
    def wrong_at_first(states, params, end):
        if end == 0:
            raise KeyError("nothing has happened")
        return {"total": states["last"].sum()}

    with world.open(sites=2, end=10) as s:
        assert s.states["last"].tolist() == [0, 0]
        with pytest.raises(KeyError, match="nothing has happened"):
            s.results
        s.run_until(6.5)
        assert s.results["total"] == s.states["last"].sum() == 12
