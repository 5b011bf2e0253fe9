"""PHOLD written in Python: the same events as PHOLD in Rust, on every engine.

Needs Numba (`pip install "warpline-sim[models]"`).
"""

import warpline_sim as wl


@wl.state
class Node:
    handled: wl.i64
    remote: wl.i64


@wl.message
class Token:
    pass


@wl.params
class Params:
    population: wl.i64
    remote: wl.f64
    mean: wl.f64
    lookahead: wl.f64


model = wl.Model("phold-py", Node, Token, Params)


@model.start
def start(state, cx):
    p = cx.model
    for _ in range(p.population // cx.lp_count + (cx.me < p.population % cx.lp_count)):
        cx.send(cx.me, p.lookahead + cx.exponential(p.mean))


@model.handler
def handle(state, msg, cx):
    p = cx.model
    state.handled += 1
    to = cx.me
    if p.remote >= 1.0 or cx.chance(p.remote):
        state.remote += 1
        to = cx.below(cx.lp_count)
    cx.send(to, p.lookahead + cx.exponential(p.mean))


@model.reverse
def reverse(state, msg, cx):
    p = cx.model
    state.handled -= 1
    if p.remote >= 1.0 or cx.chance(p.remote):
        state.remote -= 1


def main() -> None:
    params = Params(population=1024, remote=0.9, mean=1.0, lookahead=0.1)
    in_rust = wl.run("phold", lps=256, population=1024, remote=0.9, lookahead=0.1, end=200)
    print(f"{'in Rust':32} {in_rust.digest}")
    engines: list[wl.EngineName] = ["sequential", "conservative", "speculative", "timewarp"]
    for engine in engines:
        workers = None if engine == "sequential" else 2
        report = model.run(params, lps=256, end=200, lookahead=0.1, engine=engine, workers=workers)
        rate = report.events_per_second / 1e6
        print(f"{'in Python, ' + engine:32} {report.digest} {rate:6.2f} million events/s")
        assert report.digest == in_rust.digest
        assert report.states["handled"].sum() == report.committed_events


if __name__ == "__main__":
    main()
