"""A machine shop: machines make parts and break down; repairers mend them, and go back to other
work when none is broken. After SimPy's example of that name.

A failure *interrupts* the machine that works, which goes on with what was left of the part when it
is mended; and it *preempts* a repairer from other jobs, which wait. In the long run a machine that
is mended at once works for the share up / (up + down) of the time.

`crates/warpline-processes/examples/machine_shop.rs` has the same in Rust, with the same digest.
"""

from typing import Annotated, Any

from bars import bars, compare

import warpline_sim as wl

DAY = 24 * 60.0


@wl.state
class Made:
    parts: wl.Counter
    jobs: wl.Counter
    #: Parts that were made on each day of a week.
    days: Annotated[wl.Array[wl.f64], 7]


@wl.params
class Shop:
    #: As many repairers as machines, so that no machine waits.
    machines: wl.i64 = 4
    repairers: wl.i64 = 4
    #: Minutes: for a part, until a machine breaks down, to mend it, and for another job.
    part: wl.f64 = 10.0
    up: wl.f64 = 300.0
    down: wl.f64 = 30.0
    job: wl.f64 = 30.0


world = wl.World("machine-shop", site=Made, params=Shop)
REPAIRER = world.resource("repairer", lambda shop, site: shop.repairers, preemptive=True)


@world.process
def failure(env, machine: wl.i64):
    """Breaks a machine down, once."""
    yield env.hold(env.exponential(env.params.up))
    env.interrupt(machine)


@world.process
def machine(env):
    env.spawn(failure, machine=env.me)
    while True:
        left = env.exponential(env.params.part)
        while True:
            begun = env.now
            yield env.hold(left)
            if env.granted:
                break
            # Broken: the repair first, then the rest of the part.
            left -= env.now - begun
            yield env.acquire(REPAIRER, priority=1, preempt=True)
            yield env.hold(env.exponential(env.params.down))
            env.release(REPAIRER)
            env.spawn(failure, machine=env.me)
        wl.count(env.site.parts)
        env.site.days[int(env.now / DAY) % 7] += 1


@world.process
def other_jobs(env):
    """What a repairer does when no machine is broken."""
    while True:
        left = env.params.job
        while left > 0:
            yield env.acquire(REPAIRER)
            begun = env.now
            yield env.hold(left)
            if env.granted:
                env.release(REPAIRER)
                break
            # A machine has taken the repairer away.
            left -= env.now - begun
        wl.count(env.site.jobs)


@world.start
def start(env):
    for _ in range(env.params.machines):
        env.spawn(machine)
    env.spawn(other_jobs)


SETTINGS: dict[str, Any] = {"sites": 16}


def theory(shop=Shop()):
    machines = SETTINGS["sites"] * shop.machines
    return {"parts_rate": machines * shop.up / (shop.up + shop.down) / shop.part}


if __name__ == "__main__":
    report = world.run(**SETTINGS, end=28 * DAY, engine="speculative", workers=2)
    bars("Parts, by the day of the week", range(1, 8), report.states["days"].sum(axis=0))
    compare("Parts per minute", report.results["parts_rate"], theory()["parts_rate"])
