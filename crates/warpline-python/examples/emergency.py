"""Emergency departments: patients come to triage, wait for a doctor, and some of them go to X-ray
and back. Each place is a site, and patients travel between them, so that the places of all
hospitals run at the same time. The *event log* has each patient's way, for tools that animate it
(vidigi) or mine it (pm4py): `event_logs` has both.

    python emergency.py [LOG.csv]

The network is open and of Jackson's kind, so the mean time in each queue is that of an M/M/c with
the rate of all who come there.

`crates/warpline-processes/examples/emergency.rs` has the same in Rust, with the same digest and the
same log.
"""

import sys
from typing import Annotated, Any

from bars import bars, compare

import warpline_sim as wl

#: The places of a hospital, in the order of their sites.
TRIAGE, DOCTORS, XRAY = range(3)
#: Whom one waits for there, how many there are, and for how many minutes one needs them.
NAMES = ("nurse", "doctor", "scanner")
UNITS = (2, 5, 2)
TIMES = (5.0, 15.0, 10.0)


@wl.state
class Seen:
    nurse: wl.Tally
    doctor: wl.Tally
    scanner: wl.Tally
    stay: wl.Tally
    #: How many stayed for so long, in steps of 20 minutes.
    stays: Annotated[wl.Array[wl.f64], 12]


@wl.params
class Hospitals:
    interarrival: wl.f64 = 6.0
    #: The probability that a doctor sends somebody to X-ray.
    scanned: wl.f64 = 0.3
    #: From place to place.
    way: wl.f64 = 2.0


def units(place):
    """How many there are at a site: of one place each."""
    return lambda hospitals, site: UNITS[place] if site % 3 == place else None


world = wl.World("emergency", site=Seen, params=Hospitals, event_log=True)
SERVERS = world.resources(NAMES, [units(place) for place in range(3)])


@world.process
def patient(env):
    came = env.now
    while True:
        place, queued = env.here % 3, env.now
        yield env.acquire(SERVERS[place])
        wait = env.now - queued
        if place == TRIAGE:
            wl.tally(env.site.nurse, wait)
        elif place == DOCTORS:
            wl.tally(env.site.doctor, wait)
        else:
            wl.tally(env.site.scanner, wait)
        yield env.hold(env.exponential(TIMES[place]))
        env.release(SERVERS[place])
        if place == DOCTORS and not env.chance(env.params.scanned):
            break
        to = XRAY if place == DOCTORS else DOCTORS
        yield env.travel(env.here - place + to, env.params.way)
    wl.tally(env.site.stay, env.now - came)
    env.site.stays[min(int((env.now - came) / 20), 11)] += 1


@world.process
def arrivals(env):
    while True:
        yield env.hold(env.exponential(env.params.interarrival))
        env.spawn(patient)


@world.start
def start(env):
    if env.here % 3 == TRIAGE:
        env.spawn(arrivals)


SETTINGS: dict[str, Any] = {"sites": 3 * 8, "lookahead": 2.0}


def wait_in_mmc(servers, interarrival, service):
    """The mean time in the queue of an M/M/c, by Erlang."""
    load, lost = service / interarrival, 1.0
    for n in range(1, servers + 1):
        lost = load * lost / (n + load * lost)
    return lost / (servers - load * (1 - lost)) * servers * service / (servers - load)


def theory(hospitals=Hospitals()):
    # A patient sees a doctor once more for each X-ray.
    visits = 1 / (1 - hospitals.scanned)
    rates = [1, visits, visits * hospitals.scanned]
    each = zip(NAMES, UNITS, rates, TIMES, strict=True)
    return {f"{name}_mean": wait_in_mmc(servers, hospitals.interarrival / rate, time)
            for name, servers, rate, time in each}


def main(log=None):
    if log is not None:
        # That of a long run is large: it is of one hospital, for some hours.
        world.run(sites=3, lookahead=2.0, seed=1, end=240, event_log=log)
        return
    report = world.run(**SETTINGS, end=100_000, engine="conservative", workers=2)
    labels = [f"{start} to {start + 20}" for start in range(0, 220, 20)] + ["220 or more"]
    bars("Patients, by how long they stay", labels, report.states["stays"].sum(axis=0))
    for name, by_theory in theory().items():
        compare(f"Wait for a {name.removesuffix('_mean')}", report.results[name], by_theory)


if __name__ == "__main__":
    main(*sys.argv[1:])
