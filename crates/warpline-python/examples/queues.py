"""A network of queues in Python: two kinds of messages, an array in the state, and zero delays.

Jobs go from server to server. A server holds at most eight; a job that finds it full goes on.
"""

from typing import Annotated

import numpy as np

import warpline_sim as wl

ARRIVE, DEPART = 0, 1


@wl.state
class Server:
    served: wl.i64
    #: The jobs here, oldest first, from `head` on: when they came.
    head: wl.i64
    length: wl.i64
    came: Annotated[wl.Array[wl.f64], 8]
    #: Time that jobs have spent here.
    spent: wl.f64


@wl.message
class Job:
    kind: wl.i32
    hops: wl.i32


@wl.params
class Network:
    service: wl.f64
    #: Where jobs go from each server, if they do not go anywhere.
    route: wl.Array[wl.i64]


model = wl.Model("queues", Server, Job, Network)


@model.start
def start(state, cx):
    for _ in range(4):
        cx.send(cx.me, cx.exponential(1.0), kind=ARRIVE)


def onward(cx):
    return cx.below(cx.lp_count) if cx.chance(0.5) else cx.model.route[cx.me]


@model.handler
def handle(state, msg, cx):
    if msg.kind == ARRIVE:
        if state.length == len(state.came):
            cx.send(onward(cx), cx.exponential(1.0), kind=ARRIVE, hops=msg.hops + 1)
            return
        state.came[(state.head + state.length) % len(state.came)] = cx.now
        state.length += 1
    else:
        state.spent += cx.now - state.came[state.head]
        state.head = (state.head + 1) % len(state.came)
        state.length -= 1
        state.served += 1
        cx.send(onward(cx), 0.0, kind=ARRIVE, hops=msg.hops + 1)
    if state.length > 0 and (msg.kind == DEPART or state.length == 1):
        cx.send(cx.me, cx.exponential(cx.model.service), kind=DEPART)


@model.finish
def finish(states, params, end):
    served = states["served"].sum()
    return {"served": served, "mean_time": states["spent"].sum() / served}


def main() -> None:
    network = Network(service=0.2, route=np.roll(np.arange(64), 1))
    engines: list[wl.EngineName] = ["sequential", "timewarp"]
    for engine in engines:
        report = model.run(network, lps=64, end=200, engine=engine)
        print(f"{engine:12} {report.digest} {dict(report.results)}")
    report = model.replicate(network, 20, lps=64, end=200)
    width = (report.half_width_95 or {})["mean_time"]
    print(f"time at a server: {report.results['mean_time']:.4f} ± {width:.4f}")
    print(model.sweep(network, {"service": [0.1, 0.2, 0.3]}, lps=64, end=200))


if __name__ == "__main__":
    main()
