"""Branches of a bank: customers queue, give up when they wait too long, and walk to the next one.

Processes in Python; `crates/warpline-processes/examples/hand_written/bank.rs` has the same in Rust.
"""

from typing import Annotated

import warpline_sim as wl


@wl.state
class Branch:
    waits: Annotated[wl.Tally, "", "Time in the queue"]
    sojourns: Annotated[wl.Tally, "", "Time in the branch, of those who were served"]
    reneged: Annotated[wl.Counter, "", "Customers who gave up"]


@wl.params
class Bank:
    tellers: wl.i64 = 5
    interarrival: wl.f64 = 0.2
    service: wl.f64 = 1.0
    patience: wl.f64 = 2.0
    #: The probability that somebody who gave up walks to the next branch, and how long that takes.
    walk: wl.f64 = 0.5
    way: wl.f64 = 0.5


world = wl.World("bank", site=Branch, params=Bank)
TELLER = world.resource("teller", lambda bank, site: bank.tellers)


@world.process
def customer(env, patience: wl.f64):
    while True:
        arrived = env.now
        yield env.acquire(TELLER, timeout=patience)
        if env.granted:
            wl.tally(env.site.waits, env.now - arrived)
            yield env.hold(env.exponential(env.params.service))
            env.release(TELLER)
            wl.tally(env.site.sojourns, env.now - arrived)
            return
        wl.count(env.site.reneged)
        if not env.chance(env.params.walk):
            return
        # It goes on there, at the top of the loop.
        yield env.travel((env.here + 1) % env.sites, env.params.way)


@world.process
def arrivals(env):
    while True:
        yield env.hold(env.exponential(env.params.interarrival))
        env.spawn(customer, env.exponential(env.params.patience))


@world.start
def start(env):
    env.spawn(arrivals)


def main() -> None:
    engines: list[wl.EngineName] = ["sequential", "speculative", "timewarp"]
    for engine in engines:
        report = world.run(sites=64, end=300, engine=engine)
        waits, reneged = (report.results[name] for name in ("waits_mean", "reneged_rate"))
        print(f"{engine:12} {report.digest} wait {waits:.4f}, {reneged:.2f} per unit of time leave")
    report = world.replicate({"tellers": 6}, 10, sites=8, end=300)
    width = (report.half_width_95 or {})["waits_mean"]
    print(f"with 6 tellers: wait {report.results['waits_mean']:.4f} ± {width:.4f}")


if __name__ == "__main__":
    main()
