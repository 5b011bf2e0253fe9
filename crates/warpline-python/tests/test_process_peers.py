"""The same queue with impatient customers in SimPy, in Ciw and in Warpline: their intervals overlap.

Each has random numbers of its own, from fixed seeds. Three servers, exponential times; a customer
waits for an exponential time, and leaves then.
"""

import random
import statistics

import pytest

import warpline_sim as wl

INTERARRIVAL, SERVICE, PATIENCE, SERVERS = 0.4, 1.0, 2.0, 3
END, RUNS = 2500.0, 10
#: Of Student's distribution with 9 degrees of freedom: one of a thousand runs is outside.
QUANTILE = 4.78


def interval(values):
    mean = statistics.fmean(values)
    half = QUANTILE * statistics.stdev(values) / len(values) ** 0.5
    return mean - half, mean + half


@wl.state
class Desk:
    waits: wl.Tally
    reneged: wl.Counter


world = wl.World("impatient", site=Desk)
SERVER = world.resource("server", SERVERS)


@world.process
def customer(env):
    came = env.now
    yield env.acquire(SERVER, timeout=env.exponential(2.0))
    if not env.granted:
        wl.count(env.site.reneged)
        return
    wl.tally(env.site.waits, env.now - came)
    yield env.hold(env.exponential(1.0))
    env.release(SERVER)


@world.process
def arrivals(env):
    while True:
        yield env.hold(env.exponential(0.4))
        env.spawn(customer)


world.start(lambda env: env.spawn(arrivals))


def in_warpline(seed):
    results = world.run(sites=1, end=END, seed=seed).results
    return results["waits_mean"], results["reneged"]


def in_simpy(seed):
    simpy = pytest.importorskip("simpy")
    rng, env = random.Random(seed), simpy.Environment()
    servers = simpy.Resource(env, SERVERS)
    waits, reneged = [], []

    def customer():
        came = env.now
        with servers.request() as request:
            result = yield request | env.timeout(rng.expovariate(1 / PATIENCE))
            if request not in result:
                reneged.append(env.now)
                return
            waits.append(env.now - came)
            yield env.timeout(rng.expovariate(1 / SERVICE))

    def arrivals():
        while True:
            yield env.timeout(rng.expovariate(1 / INTERARRIVAL))
            env.process(customer())

    env.process(arrivals())
    env.run(END)
    return statistics.fmean(waits), len(reneged)


def in_ciw(seed):
    ciw = pytest.importorskip("ciw")
    ciw.seed(seed)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(1 / INTERARRIVAL)],
        service_distributions=[ciw.dists.Exponential(1 / SERVICE)],
        reneging_time_distributions=[ciw.dists.Exponential(1 / PATIENCE)],
        number_of_servers=[SERVERS],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(END)
    records = simulation.get_all_records()
    waits = [record.waiting_time for record in records if record.record_type == "service"]
    return statistics.fmean(waits), sum(record.record_type == "renege" for record in records)


@pytest.mark.parametrize("peer", [in_simpy, in_ciw])
def test_intervals_overlap(peer):
    ours = zip(*(in_warpline(seed) for seed in range(RUNS)), strict=True)
    theirs = zip(*(peer(seed) for seed in range(RUNS)), strict=True)
    for one, other in zip(ours, theirs, strict=True):
        (low, high), (least, most) = interval(one), interval(other)
        assert low < most, f"{low} to {high}, and {least} to {most}"
        assert least < high, f"{low} to {high}, and {least} to {most}"
        # An interval that says nothing overlaps with anything.
        assert high - low < 0.25 * low
