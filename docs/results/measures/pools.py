"""The buffer pools, on workloads and with little memory."""

import statistics

from .bench import (
    TIME_WARP,
    W1,
    W2,
    WORKLOADS,
    Bench,
    Row,
    measures,
    million,
    published,
    ratio,
    spaced,
)
from .time_warp import per_event

POOLS = ["sender", "receiver", "partitioned", "adaptive"]


@measures("pool-models")
def pool_models(bench: Bench) -> dict[str, list[Row]]:
    """The buffer pools on every workload, without a limit."""
    rows = []
    for load in ("W1", "W2", "W4", "W5", "W8", "W9"):
        case = f"{WORKLOADS[load]} {TIME_WARP} 2 --pool"
        found = bench.rounds({pool: f"{case} {pool}" for pool in POOLS}, 15)
        by = [f"{ratio(found['adaptive'], found[pool]):.2f}" for pool in POOLS[:3]]
        rows.append([load, *(million(found[pool]) for pool in POOLS), *by])
    return {"pool-models": rows}


@measures("pool-little-memory")
def pool_little_memory(bench: Bench) -> dict[str, list[Row]]:
    """The buffer pools with 1.2 to 3 times the memory of the pending events."""
    loads = [("W1", "phold --payload 64 --end 800", 320 * 1024)]
    loads += [("W4", "hypercube --end 500", 520 * 2048)]
    rows = []
    for load, run, pending in loads:
        for times in ("1.2", "1.5", "2", "3"):
            limit = int(float(times) * pending)
            case = f"{run} {TIME_WARP} 2 --memory {limit} --pool"
            found = bench.rounds({pool: f"{case} {pool}" for pool in POOLS}, 5)
            medians = [statistics.median(found[pool]) / 1e6 for pool in POOLS]
            rates = [f"{rate:.1f}" if rate > 1 else f"{rate:.2f}" for rate in medians]
            rows.append([load, times, *rates])
    return {"pool-little-memory": rows}


@measures("pool-conservative")
def pool_conservative(bench: Bench) -> dict[str, list[Row]]:
    """The buffer pools where nothing is rolled back: Time Warp within the lookahead of GVT."""
    phold = "phold --lps 1024 --population 16384 --lookahead 0.1 --payload 64 --end 100 --remote"
    loads = [("PHOLD, mostly local", f"{phold} 0.1"), ("PHOLD, all remote", f"{phold} 1")]
    rows = []
    for load, run in loads:
        for memory, limit in (("no limit", ""), ("3 times", f" --memory {3 * 320 * 16384}")):
            case = f"{run} {TIME_WARP} 2{limit} --window 0.1 --balance off --pool"
            found = bench.rounds({pool: f"{case} {pool}" for pool in POOLS}, 9)
            by = [f"{ratio(found['adaptive'], found[pool]):.2f}" for pool in POOLS[:3]]
            rows.append([load, memory, *(million(found[pool]) for pool in POOLS), *by])
    return {"pool-conservative": rows}


@measures("pool-on-the-fly")
def pool_on_the_fly(bench: Bench) -> dict[str, list[Row]]:
    """On-the-fly fossil collection by `block`, without and with a limit."""
    w2 = "phold --lps 1024 --population 16384 --remote 0.1 --lookahead 0.1 --payload 64 --end 30"
    loads = [("W1", "phold --payload 64 --end 400", 320 * 1024), ("W2", w2, 320 * 16384)]
    loads += [("W4", "hypercube --end 120", 432 * 2048)]
    rows = []
    for load, run, pending in loads:
        row = [load]
        for limit in ("", f" --memory {3 * pending}"):
            case = f"{run} {TIME_WARP} 2{limit} --pool partitioned"
            found = bench.rounds({"block": case, "fly": f"{case}:on-the-fly"}, 9)
            block, fly = found["block"], found["fly"]
            row += [million(block), million(fly), f"{ratio(fly, block):.2f}"]
        rows.append(row)
    return {"pool-on-the-fly": rows}


@measures("pool-sends")
def pool_sends(bench: Bench) -> dict[str, list[Row]]:
    """What a message between two workers costs with each pool."""
    found = bench.bench_rows("--sends --samples 9")
    costs = {(row["bytes"], row["pool"]): f"{row['ns per message']:.0f}" for row in found}
    sizes = sorted({size for size, _ in costs})
    return {
        "pool-sends": [[f"{size} bytes", *(costs[size, pool] for pool in POOLS)] for size in sizes]
    }


@measures("pool-quota")
def pool_quota(bench: Bench) -> dict[str, list[Row]]:
    """A quota of buffers beside the paper's rule, by counts: `pool-quota-memory`."""
    model = "pcs --cells 16x16 --portables 4000 --end 40 --mobility high"
    run = f"{model} --engine timewarp --workers 4 --in-turn"
    figures = {"rounds of GVT": [], "events undone": [], "cancelbacks": []}
    shares = {row[0].split(", ")[1]: row[1] for row in published("pool-quota-memory")["rows"]}
    for memory, share in shares.items():
        quotas = (int(share) // 2, int(share), 2 * int(share))
        pools = ["sender", *(f"sender:quota={quota}" for quota in quotas), "adaptive"]
        limit = 1000 * int(memory.removesuffix(" KB"))
        reports = [bench.run(f"{run} --memory {limit} --pool {pool}") for pool in pools]
        counts = {
            "rounds of GVT": [report["gvt_rounds"] for report in reports],
            "events undone": [report["rolled_back_events"] for report in reports],
            "cancelbacks": [report["counters"]["cancelbacks"] for report in reports],
        }
        for what, rows in figures.items():
            rows.append([f"{what}, {memory}", share, *map(spaced, counts[what])])
    return {"pool-quota-memory": [row for rows in figures.values() for row in rows]}


@measures("on-the-fly")
def on_the_fly(bench: Bench) -> dict[str, list[Row]]:
    """Instructions of on-the-fly fossil collection (valgrind): `on-the-fly-instructions`."""
    more = ["more than with `partitioned`"]
    for run, ends in ((W1, (150, 50)), (W2, (15, 5))):
        flags = f"{TIME_WARP} 2 --in-turn --pool partitioned"
        block, fly = (per_event(bench, run, flags + how, ends) for how in ("", ":on-the-fly"))
        more.append(f"{100 * (fly / block - 1):.0f} %")
    return {"on-the-fly-instructions": [more]}
