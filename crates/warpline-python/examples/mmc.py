"""A queue with several servers (M/M/c) in 20 lines, on 16 sites."""

import warpline_sim as wl


@wl.state
class Shop:
    waits: wl.Tally


world = wl.World("M/M/c", site=Shop)
SERVER = world.resource("server", 5)


@world.process
def customer(env):
    arrived = env.now
    yield env.acquire(SERVER)
    wl.tally(env.site.waits, env.now - arrived)
    yield env.hold(env.exponential(1.0))
    env.release(SERVER)


@world.process
def arrivals(env):
    while True:
        yield env.hold(env.exponential(0.25))
        env.spawn(customer)


world.start(lambda env: env.spawn(arrivals))

if __name__ == "__main__":
    report = world.run(sites=16, end=3000, warmup=300, engine="timewarp", workers=2)
    print(f"mean wait {report.results['waits_mean']:.3f}; by Erlang C 0.554")
