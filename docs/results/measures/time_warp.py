"""Time Warp by itself: its costs, its memory, and settings that are not the default."""

import json
import re
import statistics
import subprocess

from .bench import (
    TIME_WARP,
    TRAFFIC,
    W1,
    W2,
    W3,
    W5,
    WORKLOADS,
    Bench,
    Row,
    measures,
    published,
    ratio,
    until,
)


@measures("time-warp-busy")
def time_warp_busy(bench: Bench) -> dict[str, list[Row]]:
    """Time Warp while another process keeps a core busy."""
    found = bench.bench("W1 W2 W3 W5 W8 W9 --only timewarp --workers 2 --busy --samples 5")
    goals = {row[0]: row[4] for row in published("time-warp-busy")["rows"]}
    rows = []
    for load, goal in goals.items():
        free, busy = (found[load, f"timewarp, 2 workers{w}"] for w in ("", ", a core busy"))
        rates = [f"{row['million events/s']:.1f}" for row in (free, busy)]
        rows.append([load, *rates, f"{busy['by undisturbed']:.2f}", goal])
    return {"time-warp-busy": rows}


@measures("time-warp-costs")
def time_warp_costs(bench: Bench) -> dict[str, list[Row]]:
    """Where the time of Time Warp goes, with one worker and with two."""
    parts = ["receive", "pending_set", "state_saving", "handler", "send", "rollback"]
    parts += ["fossil_collection", "other"]
    names = [part.replace("_", " ") for part in parts[:-1]] + ["other, waiting included"]
    rows = [[name] for name in names]
    for load in ("W1", "W2", "W3", "W4", "W8", "W9"):
        for count in ("1 --as-if-many", "2"):
            run = f"{WORKLOADS[load]} {TIME_WARP} {count} --costs"
            costs = [bench.run(run)["costs_ns_per_event"] for _ in range(3)]
            for row, part in zip(rows, parts):
                row.append(f"{statistics.median(cost[part] for cost in costs):.1f}")
    return {"time-warp-costs": rows}


@measures("time-warp-alone")
def time_warp_alone(bench: Bench) -> dict[str, list[Row]]:
    """One worker of Time Warp, and one that does all that one of many does."""
    rows = [["one worker"], ["`--as-if-many`"]]
    for load in ("W1", "W2", "W3", "W4", "W5"):
        run = f"{WORKLOADS[load]} --engine"
        cases = {"alone": "timewarp --workers 1", "many": "timewarp --workers 1 --as-if-many"}
        cases |= {"sequential": "sequential"}
        found = bench.rounds({name: f"{run} {case}" for name, case in cases.items()}, 5)
        for row, name in zip(rows, ("alone", "many")):
            row.append(f"{ratio(found[name], found['sequential']):.2f}")
    return {"time-warp-alone": rows}


@measures("engine-instructions")
def engine_instructions(bench: Bench) -> dict[str, list[Row]]:
    """Instructions for an event of four workloads, by engine (valgrind)."""
    small = "network --topology fat-tree:8 --end 6e7"
    lengths = {W1: (150, 50), W2: (15, 5), W5: (8, 4), small: (60_000_000, 20_000_000)}
    engines = {
        "sequential": ("sequential", lengths),
        "Time Warp, two workers in turn": ("timewarp --workers 2 --in-turn --batch 64", lengths),
        "Time Warp, one worker, `--as-if-many`": ("timewarp --workers 1 --as-if-many", lengths),
        "speculative, one worker": ("speculative --workers 1", lengths),
        # The others have no lookahead.
        "conservative, one worker": ("conservative --workers 1", (W2, small)),
    }
    rows = []
    for name, (engine, runs) in engines.items():
        flags = f"--engine {engine}"
        counts = {run: per_event(bench, run, flags, lengths[run]) for run in runs}
        rows.append([name, *(f"{counts[run]:.0f}" if run in runs else "" for run in lengths)])
    return {"engine-instructions": rows}


def per_event(bench: Bench, run: str, flags: str, ends: tuple[int, int]) -> float:
    """Instructions for an event, by the difference of two lengths of a run (valgrind)."""
    runs = [f"{until(run, end)} {flags}" for end in ends]
    (long, events), (short, fewer) = (instructions(bench, run) for run in runs)
    return (long - short) / (events - fewer)


def instructions(bench: Bench, run: str) -> tuple[int, int]:
    """Instructions and committed events of a run."""
    pin = "" if run.endswith("sequential") else " --pin off"
    words = f"valgrind --tool=callgrind --callgrind-out-file=/dev/null {bench.command} run"
    words = f"{words} {run}{pin} --format json".split()
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    return int(counted[1]), json.loads(done.stdout)["committed_events"]


@measures("peaks")
def peaks(bench: Bench) -> dict[str, list[Row]]:
    """Memory of W3 at the peak: `time-warp-peak` and `speculative-memory`."""
    rows = {}
    for name, engine in (("time-warp-peak", "timewarp"), ("speculative-memory", "speculative")):
        run = f"{W3} --engine {engine} --workers 2"
        most = max(bench.run(run)["peak_resident_bytes"] for _ in range(3))
        title, _, goal = published(name)["rows"][0]
        rows[name] = [[title, f"{most / 2**20:.0f}", goal]]
    return rows


@measures("time-warp-policies")
def time_warp_policies(bench: Bench) -> dict[str, list[Row]]:
    """Two workers of Time Warp with one setting that is not the default."""
    loads = ["W1", "W2", "W3", "W5", "W8", "W9"]
    flags = ["--batch 64", "--throttle off", "--saving reverse", "--saving copy:interval=8"]
    flags += ["--batch 16", "--batch 1", "--pin off --batch 64", "--gvt-interval 256", "--batch 64"]
    titles = [row[0] for row in published("time-warp-policies")["rows"]]
    found = {(row, load): [] for row in range(len(flags)) for load in loads}
    only = "--only sequential,timewarp --workers 2 --length 0.5 --samples 1"
    for _ in range(5):
        for row, flag in enumerate(flags):
            # The others have no reverse handlers.
            runnable = loads[:3] if "reverse" in flag else loads
            rates = bench.bench(f"{' '.join(runnable)} {only} {flag}")
            for load in runnable:
                found[row, load].append(rates[load, "timewarp, 2 workers"]["by sequential"])
    medians = {case: f"{statistics.median(by):.2f}" for case, by in found.items() if by}
    missing = "no reverse handler"
    rows = [
        [title, *(medians.get((row, load), missing) for load in loads)]
        for row, title in enumerate(titles)
    ]
    return {"time-warp-policies": rows}


@measures("numa-one-node")
def numa_one_node(bench: Bench) -> dict[str, list[Row]]:
    """What the placement of memory costs where there is one node."""
    settings = {"off": "off", "worker": "worker", "lp": "lp", "half": "off --mail bottom-half"}
    rows = []
    runs = (W1, W2, until(TRAFFIC, 21600))
    for (title, *_), run in zip(published("numa-one-node")["rows"], runs):
        case = f"{run} {TIME_WARP} 2 --memory-placement"
        cases = {name: f"{case} {setting}" for name, setting in settings.items()}
        found = bench.rounds(cases, 5, "wall_seconds")
        by = [f"{ratio(found[name], found['off']):.2f}" for name in ("worker", "lp", "half")]
        rows.append([title, *by])
    return {"numa-one-node": rows}
