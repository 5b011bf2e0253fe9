"""A token ring: one token goes round, and whoever has it sends all that waits, then passes it on.
It is the polling system with exhaustive service.

Each station is a site and the token is a process that travels. The mean wait is known for equal
stations (H. Takagi, *Analysis of Polling Systems*, MIT Press 1986).

`crates/warpline-processes/examples/token_ring.rs` has the same in Rust, with the same digest.
"""

from typing import Annotated, Any

from bars import bars, compare

import warpline_sim as wl

RINGS, STATIONS = 8, 8


@wl.state
class Waits:
    wait: wl.Tally
    #: How many frames waited for so long.
    waits: Annotated[wl.Array[wl.f64], 10]


@wl.params
class Ring:
    #: Between two frames of a station, to send one, and from a station to the next.
    interarrival: wl.f64 = 16.0
    frame: wl.f64 = 1.0
    way: wl.f64 = 0.25


world = wl.World("token-ring", site=Waits, params=Ring)
#: When each frame was made that waits.
FRAMES = world.store("frames")


def behind(station):
    """The next station of the ring."""
    return station // STATIONS * STATIONS + (station + 1) % STATIONS


@world.process
def source(env):
    while True:
        yield env.hold(env.exponential(env.params.interarrival))
        env.put(FRAMES, env.now)


@world.process
def token(env):
    while True:
        while env.items(FRAMES) > 0:
            yield env.get(FRAMES)
            wait = env.now - env.item
            wl.tally(env.site.wait, wait)
            env.site.waits[min(int(wait), 9)] += 1
            yield env.hold(env.params.frame)
        yield env.travel(behind(env.here), env.params.way)


@world.start
def start(env):
    env.spawn(source)
    if env.here % STATIONS == 0:
        env.spawn(token)


LINKS = [(station, behind(station), Ring().way) for station in range(RINGS * STATIONS)]
SETTINGS: dict[str, Any] = {"sites": RINGS * STATIONS, "lookahead": Ring().way, "links": LINKS}


def theory(ring=Ring()):
    load = STATIONS * ring.frame / ring.interarrival
    sent = STATIONS / ring.interarrival * ring.frame**2
    return {"wait_mean": (sent + ring.way * (STATIONS - load)) / (2 * (1 - load))}


if __name__ == "__main__":
    report = world.run(**SETTINGS, end=5000, warmup=200, engine="conservative", workers=2)
    labels = [*range(9), "9 or more"]
    bars("Frames, by how long they wait", labels, report.states["waits"].sum(axis=0))
    compare("How long frames wait", report.results["wait_mean"], theory()["wait_mean"])
