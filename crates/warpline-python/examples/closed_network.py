"""A closed network: customers go from station to station for ever, and queue for the one server of
each. They *travel*: a customer is a process that goes on at another site, on another core.

Mean value analysis knows how many customers are served per unit of time.

`crates/warpline-processes/examples/closed_network.rs` has the same in Rust, with the same digest.
"""

from typing import Any

from bars import bars, compare

import warpline_sim as wl


@wl.state
class Station:
    served: wl.Counter
    longest: wl.i64


@wl.params
class Network:
    customers: wl.i64 = 256
    service: wl.f64 = 1.0
    #: The way from a station to the next one takes this long. It is the lookahead, too.
    way: wl.f64 = 1.0


world = wl.World("closed-network", site=Station, params=Network)
SERVER = world.resource("server")


@world.process
def traveler(env):
    while True:
        env.site.longest = max(env.site.longest, env.waiting(SERVER) + env.in_use(SERVER))
        yield env.acquire(SERVER)
        yield env.hold(env.exponential(env.params.service))
        env.release(SERVER)
        wl.count(env.site.served)
        yield env.travel(env.below(env.sites), env.params.way)


@world.start
def start(env):
    for _ in range(env.here, env.params.customers, env.sites):
        env.spawn(traveler)


SETTINGS: dict[str, Any] = {"sites": 64, "lookahead": 1.0}


def theory(network=Network()):
    """Mean value analysis, customer after customer."""
    queue = throughput = 0.0
    for there in range(1, network.customers + 1):
        visit = network.service * (1 + queue)
        throughput = there / (visit + network.way)
        queue = throughput / SETTINGS["sites"] * visit
    return {"served_rate": throughput}


if __name__ == "__main__":
    report = world.run(**SETTINGS, end=2000, warmup=50, engine="conservative", workers=2)
    longest = report.states["longest"]
    lengths = sorted(set(longest))
    bars("Stations, by their longest queue", lengths, [(longest == it).sum() for it in lengths])
    compare("Customers per unit of time", report.results["served_rate"], theory()["served_rate"])
