"""An inventory with the rule (s, S): when there are s or fewer pieces on hand and on order, as many
are ordered as make S. Who comes when the shelf is empty waits: a *container* serves them in their
order when pieces come.

Demand is Poisson and the time of delivery constant, so theory knows the mean stock: on hand and on
order there is any number from s + 1 to S equally often, less the demand of one time of delivery.

`crates/warpline-processes/examples/inventory.rs` has the same in Rust, with the same digest.
"""

from itertools import accumulate
from typing import Annotated, Any

from bars import bars, compare

import warpline_sim as wl


@wl.state
class Shop:
    #: Pieces on hand and on order, less those that people wait for.
    position: wl.i64
    waits: wl.Tally
    #: How often a customer found so many pieces.
    found: Annotated[wl.Array[wl.f64], 13]


@wl.params
class Rule:
    reorder_at: wl.i64 = 4
    order_up_to: wl.i64 = 12
    #: Days.
    interarrival: wl.f64 = 0.5
    delivery: wl.f64 = 3.0


world = wl.World("inventory", site=Shop, params=Rule)
SHELF = world.container("shelf", amount=lambda rule, site: rule.order_up_to)


@world.process
def order(env, pieces: wl.f64):
    yield env.hold(env.params.delivery)
    yield env.fill(SHELF, pieces)


@world.process
def customer(env):
    came = env.now
    env.site.found[min(int(env.amount(SHELF)), 12)] += 1
    env.site.position -= 1
    if env.site.position <= env.params.reorder_at:
        pieces = env.params.order_up_to - env.site.position
        env.site.position += pieces
        env.spawn(order, pieces=pieces)
    yield env.take(SHELF, 1)
    wl.tally(env.site.waits, env.now - came)


@world.process
def arrivals(env):
    while True:
        yield env.hold(env.exponential(env.params.interarrival))
        env.spawn(customer)


@world.start
def start(env):
    env.site.position = env.params.order_up_to
    env.spawn(arrivals)


SETTINGS: dict[str, Any] = {"sites": 32}


def theory(rule=Rule()):
    demand = rule.delivery / rule.interarrival
    # The probabilities of Poisson's distribution, up to a factor.
    weights = list(accumulate(range(1, 200), lambda weight, n: weight * demand / n, initial=1.0))
    positions = range(rule.reorder_at + 1, rule.order_up_to + 1)
    left = [sum(weight * max(position - wanted, 0) for wanted, weight in enumerate(weights))
            for position in positions]
    return {"shelf_amount_mean": sum(left) / sum(weights) / len(positions)}


if __name__ == "__main__":
    report = world.run(**SETTINGS, end=3000, warmup=100, engine="speculative", workers=2)
    bars("Customers, by the pieces that they find", range(13), report.states["found"].sum(axis=0))
    found, by_theory = report.results["shelf_amount_mean"], theory()["shelf_amount_mean"]
    compare("Pieces on the shelf", found, by_theory)
