"""A car wash: cars wait in a lane, which is a *store*; washers get one after the other. There is
room for a few cars only, and whoever finds the lane full drives on.

With one washer, a constant time and a long lane it is the queue M/D/1, whose mean wait is known.

`crates/warpline-processes/examples/car_wash.rs` has the same in Rust, with the same digest.
"""

from typing import Annotated, Any

from bars import bars, compare

import warpline_sim as wl


@wl.state
class Seen:
    drove_on: wl.Counter
    wait: wl.Tally
    #: How many cars waited for so long, in steps of two minutes.
    waits: Annotated[wl.Array[wl.f64], 10]


@wl.params
class Wash:
    washers: wl.i64 = 1
    room: wl.i64 = 200
    #: Minutes.
    interarrival: wl.f64 = 5.0
    time: wl.f64 = 4.0


world = wl.World("car-wash", site=Seen, params=Wash)
#: When each car came that waits.
LANE = world.store("lane", lambda wash, site: wash.room)


@world.process
def street(env):
    while True:
        yield env.hold(env.exponential(env.params.interarrival))
        # Whoever cannot drive in at once does not wait.
        yield env.put(LANE, env.now, timeout=0.0)
        if not env.granted:
            wl.count(env.site.drove_on)


@world.process
def washer(env):
    while True:
        yield env.get(LANE)
        wait = env.now - env.item
        wl.tally(env.site.wait, wait)
        env.site.waits[min(int(wait / 2), 9)] += 1
        yield env.hold(env.params.time)


@world.start
def start(env):
    env.spawn(street)
    for _ in range(env.params.washers):
        env.spawn(washer)


SETTINGS: dict[str, Any] = {"sites": 32}


def theory(wash=Wash()):
    """Pollaczek and Khinchine, for a constant time."""
    load = wash.time / wash.interarrival
    return {"wait_mean": load * wash.time / (2 * (1 - load))}


if __name__ == "__main__":
    report = world.run(**SETTINGS, end=30_000, warmup=500, engine="speculative", workers=2)
    labels = [*range(0, 18, 2), "18 or more"]
    bars("Cars, by their minutes in the lane", labels, report.states["waits"].sum(axis=0))
    compare("Time in the lane", report.results["wait_mean"], theory()["wait_mean"])
