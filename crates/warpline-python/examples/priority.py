"""Two classes of customers at one server: urgent ones go first, and take the server from the others
(an M/M/1 queue with preemption, in each of many places).

Urgent customers do not see the others: M/M/1. The others have the mean time that the formula of
preemptive priorities gives.

`crates/warpline-processes/examples/priority.rs` has the same in Rust, with the same digest.
"""

from typing import Annotated, Any

from bars import bars, compare

import warpline_sim as wl


@wl.state
class Times:
    """Times at the desk."""

    urgent: wl.Tally
    normal: wl.Tally
    #: How many of the others were there for so long.
    normals: Annotated[wl.Array[wl.f64], 10]


@wl.params
class Desks:
    """Mean times between customers of each class, and of a service."""

    urgent: wl.f64 = 4.0
    normal: wl.f64 = 2.5
    service: wl.f64 = 1.0


world = wl.World("priority", site=Times, params=Desks)
SERVER = world.resource("server", preemptive=True)


@world.process
def customer(env, urgent: wl.i8):
    came = env.now
    left = env.exponential(env.params.service)
    while True:
        yield env.acquire(SERVER, priority=urgent, preempt=urgent)
        begun = env.now
        yield env.hold(left)
        if env.granted:
            env.release(SERVER)
            break
        left -= env.now - begun
    time = env.now - came
    if urgent:
        wl.tally(env.site.urgent, time)
    else:
        wl.tally(env.site.normal, time)
        env.site.normals[min(int(time), 9)] += 1


@world.process
def arrivals(env, urgent: wl.i8):
    while True:
        yield env.hold(env.exponential(env.params.urgent if urgent else env.params.normal))
        env.spawn(customer, urgent)


@world.start
def start(env):
    env.spawn(arrivals, urgent=1)
    env.spawn(arrivals, urgent=0)


SETTINGS: dict[str, Any] = {"sites": 32}


def theory(desks=Desks()):
    urgent, normal = desks.service / desks.urgent, desks.service / desks.normal
    return {
        "urgent_mean": desks.service / (1 - urgent),
        "normal_mean": desks.service / ((1 - urgent) * (1 - urgent - normal)),
    }


if __name__ == "__main__":
    report = world.run(**SETTINGS, end=5000, warmup=200, engine="speculative", workers=2)
    labels = [*range(9), "9 or more"]
    bars("The others, by their time at the desk", labels, report.states["normals"].sum(axis=0))
    compare("Time of urgent customers", report.results["urgent_mean"], theory()["urgent_mean"])
    compare("Time of the others", report.results["normal_mean"], theory()["normal_mean"])
