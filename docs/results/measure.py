#!/usr/bin/env python3
"""Measures results again and writes them into their files, by one command each.

    docs/results/measure.py                         # names what can be measured
    docs/results/measure.py engines load-sharing    # measures these

It builds the command, runs it, and writes the rows of `docs/results/NAME.json`; some names measure
several files at once. Then `cargo test -p warpline-lab --test results -- update` makes the tables.
What `warpline bench` and `warpline lab` write as it is published is not here. Rates are medians,
and ratios are medians of the ratios within rounds: in a round, all that is compared runs in turn.
So nothing else should run on the machine, and the ratios say more than the rates.

`--command FILE` takes a command that is there, `--netlists FOLDER` has the ISCAS circuits.
"""

import argparse
import json
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/results"

# The workloads of `warpline bench` as `warpline run` has them.
W1 = "phold --lps 256 --population 1024 --remote 1 --end 4000"
W2 = "phold --lps 1024 --population 16384 --remote 0.1 --lookahead 0.1 --end 270"
W3 = "phold --lps 65536 --population 1048576 --remote 0.5 --lookahead 0.1 --end 5"
W4 = "hypercube --end 400"
W5 = "pcs --end 120"
W8 = "network --topology fat-tree:16 --end 5.6e8"
W9 = "queues --end 14000"
TRAFFIC = "traffic --interarrival 45 --end 43200"
WORKLOADS = {"W1": W1, "W2": W2, "W3": W3, "W4": W4, "W5": W5, "W8": W8, "W9": W9}
HOT = "phold --lps 1024 --population 16384 --remote 0.5 --hot 0.7 --lookahead 0.1"
# Time Warp as it is set by default, but typed: so no worker goes on alone.
TIME_WARP = "--engine timewarp --batch 64 --workers"

Row = list[str | int | float]
TABLES: dict[str, Callable[["Bench"], dict[str, list[Row]]]] = {}


def measures(name: str):
    """Names what the decorated function measures: it returns the rows of files by their names."""
    return lambda function: TABLES.setdefault(name, function)


class Bench:
    """Runs the command, and knows what machine it is."""

    def __init__(self, command: Path, netlists: Path | None) -> None:
        self.command, self.netlists = command, netlists

    def run(self, arguments: str) -> dict:
        """One run: its report."""
        words = [str(self.command), "run", *arguments.split(), "--format", "json"]
        return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)

    def rounds(self, cases: dict, rounds: int, figure: str = "events_per_second") -> dict:
        """A figure of each case in each round; every second round goes backwards."""
        found = {case: [] for case in cases}
        for number in range(rounds):
            for case in list(cases)[:: 1 if number % 2 else -1]:
                found[case].append(self.run(cases[case])[figure])
        return found

    def bench(self, arguments: str) -> dict[tuple[str, str], dict]:
        """`warpline bench`: its rows, by workload and variant."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "results.json")
            words = [str(self.command), "bench", *arguments.split(), "--results", str(file)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            results = json.loads(file.read_text())
        return {(row["workload"], row["variant"]): row for row in named(results)}

    def lab(self, figure: str) -> list[dict]:
        """`warpline lab`: its rows."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "results.json")
            words = [str(self.command), "lab", figure, "--results", str(file), "--output", folder]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            return named(json.loads(file.read_text()))

    def lab_text(self, figure: str) -> str:
        """`warpline lab`: its text."""
        with tempfile.TemporaryDirectory() as folder:
            words = [str(self.command), "lab", figure, "--output", folder]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            return Path(folder, f"{figure}.md").read_text()


def named(results: dict) -> list[dict]:
    """The rows of a file, with the names of the columns."""
    return [dict(zip(results["columns"], row)) for row in results["rows"]]


def million(rates: list[float]) -> str:
    return f"{statistics.median(rates) / 1e6:.1f}"


def ratio(of: list[float], by: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(of, by))


def spaced(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")


def published(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text())


def workers(engine: str, count: int) -> str:
    return f"{engine}, {count} worker{'s' if count > 1 else ''}"


def until(run: str, end: int) -> str:
    """A run with another end."""
    return f"{run.rsplit(' --end', 1)[0]} --end {end}"


def cell(row: dict | None, has_ratio: bool) -> str:
    if row is None:
        return ""
    by = f" ({row['by sequential']:.2f})" if has_ratio else ""
    return f"{row['million events/s']:.1f}{by}"


@measures("engines")
def engines(bench: Bench) -> dict[str, list[Row]]:
    """Every engine on every workload: `engines`, `default` and what is made of them."""
    kinds = "sequential,auto,speculative,timewarp,conservative"
    found = bench.bench(f"--only {kinds} --workers 1,2 --samples 5")

    def rows(name: str, kinds: list[str], last: int = 0) -> list[Row]:
        variants = ["sequential ladder", *(workers(kind, n) for kind in kinds for n in (1, 2))]
        rows = []
        for title, *more in published(name)["rows"]:
            of = [found.get((title.split()[0], variant)) for variant in variants]
            cells = [cell(row, number > 0) for number, row in enumerate(of)]
            rows.append([title, *cells, *more[len(more) - last :]])
        return rows

    def by_sequential(title: str, kind: str) -> float | None:
        row = found.get((title.split()[0], workers(kind, 2)))
        return row and row["by sequential"]

    names = {"conservative": "conservative", "speculative": "speculative"}
    names["timewarp"] = "Time Warp"
    best = []
    for title, *_ in published("auto-best")["rows"]:
        others = {names[kind]: by_sequential(title, kind) for kind in names}
        others = {"sequential": 1.0} | {name: rate for name, rate in others.items() if rate}
        name, auto = max(others, key=others.get), by_sequential(title, "auto")
        of_best = f"{name}: {others[name]:.2f}"
        best.append([title, f"{auto:.2f}", of_best, f"{auto / others[name]:.2f}"])

    windows = []
    for title, _, goal_one, _, _, goal_two in published("conservative")["rows"]:
        variants = [workers("conservative", 1), workers("conservative", 2), "sequential ladder"]
        one, two, sequential = (found[title.split()[0], variant] for variant in variants)
        most = max(one / other for one, other in zip(two["samples"], sequential["samples"]))
        cells = [one["by sequential"], two["by sequential"], most]
        one, two, most = (f"{number:.2f}" for number in cells)
        windows.append([title, one, goal_one, two, most, goal_two])
    return {
        "default": rows("default", ["auto", "speculative"]),
        "engines": rows("engines", ["conservative", "timewarp"]),
        "speculative": rows("speculative", ["speculative"], 1),
        "auto-best": best,
        "conservative": windows,
    }


@measures("engines-beside")
def engines_beside(bench: Bench) -> dict[str, list[Row]]:
    """Every engine while each core has another program, too."""
    spinning = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        kinds = "sequential,auto,speculative,timewarp"
        found = bench.bench(f"--only {kinds} --workers 2 --samples 7")
    finally:
        for program in spinning:
            program.kill()
    names = {"`auto`": "auto", "speculative": "speculative", "Time Warp": "timewarp"}
    rates = {
        name: [f"{found[load, workers(kind, 2)]['by sequential']:.2f}" for load in columns(found)]
        for name, kind in names.items()
    }
    return {"engines-beside": [[name, *cells] for name, cells in rates.items()]}


def columns(found: dict[tuple[str, str], dict]) -> list[str]:
    return list(dict.fromkeys(workload for workload, _ in found))


@measures("bare")
def bare(bench: Bench) -> dict[str, list[Row]]:
    """The sequential engine beside bare loops: `bench-yardstick`, -goals and -memory."""
    found = bench.bench("W1 W2 W3 W4 W5 --only sequential,bare --samples 5")
    names = published("bench-yardstick")["views"]["rates"]["names"]
    shown = ["million events/s", "least", "greatest", "by the yardstick"]
    yardstick = [
        [load, loop, *(round(row[column], 2) for column in shown)]
        for (load, loop), row in found.items()
        if loop in names
    ]
    pending = {"W1": 1024, "W2": 16384, "W3": 1048576, "W4": 2048, "W5": 50000}
    engine = {load: found[load, "sequential ladder"] for load in pending}
    peaks = {load: row["peak resident bytes"] for load, row in engine.items()}
    memory = [
        [load, f"{peak / 2**20:.1f}", spaced(peak / pending[load])] for load, peak in peaks.items()
    ]
    goals = published("bench-goals")["rows"]
    reached = [f"{engine[load]['by the yardstick']:.2f}" for load in ("W1", "W2", "W3")]
    reached.append(f"{peaks['W3'] / pending['W3']:.0f}")
    goals = [[title, goal, now] for (title, goal, _), now in zip(goals, reached)]
    return {"bench-yardstick": yardstick, "bench-memory": memory, "bench-goals": goals}


@measures("auto-length")
def auto_length(bench: Bench) -> dict[str, list[Row]]:
    """`auto` in runs of a tenth, three tenths and all of each workload."""
    loads = "W1 W2 W3 W4 W5 W6 W7 W8 W9 W10".split()
    rows = {load: [load] for load in loads}
    for length in ("0.1", "0.3", "1"):
        only = "--only sequential,auto --workers 2 --samples 7"
        found = bench.bench(f"{' '.join(loads)} {only} --length {length}")
        for load in loads:
            # The tenth of a circuit has 91 events.
            is_run = (load, length) != ("W6", "0.1")
            by = found[load, "auto, 2 workers"]["by sequential"]
            rows[load].append(f"{by:.2f}" if is_run else "")
    return {"auto-length": list(rows.values())}


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


@measures("time-warp-instructions")
def time_warp_instructions(bench: Bench) -> dict[str, list[Row]]:
    """Instructions for an event of W1, by the difference of two lengths of run (valgrind)."""
    engines = ["timewarp --workers 1 --as-if-many", "speculative --workers 1", "sequential"]
    found = []
    for engine in engines:
        runs = [f"{until(W1, end)} --engine {engine}" for end in (150, 50)]
        totals = [instructions(bench, run) for run in runs]
        (long, events), (short, fewer) = totals
        found.append(f"{(long - short) / (events - fewer):.0f}")
    rows = published("time-warp-instructions")["rows"]
    return {"time-warp-instructions": [[row[0], now] for row, now in zip(rows, found)]}


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


@measures("speculative-grain")
def speculative_grain(bench: Bench) -> dict[str, list[Row]]:
    """Two workers on handlers that take 200 ns to a microsecond."""
    engines = {"speculative": "speculative", "`auto`": "auto", "Time Warp": "timewarp"}
    rows = {name: [name] for name in engines}
    for load, grain, end in ((W1, 200, 2000), (W1, 500, 1000), (W1, 1000, 600), (W2, 1000, 40)):
        run = f"{until(load, end)} --grain {grain} --engine"
        cases = {name: f"{run} {engine} --workers 2" for name, engine in engines.items()}
        found = bench.rounds(cases | {"sequential": f"{run} sequential"}, 5)
        for name in engines:
            rows[name].append(f"{ratio(found[name], found['sequential']):.2f}")
    return {"speculative-grain": list(rows.values())}


@measures("load-sharing")
def load_sharing(bench: Bench) -> dict[str, list[Row]]:
    """`--balance on` by `off`: `load-sharing`, -default (Time Warp) and -mean."""
    hot, wandering = f"{HOT} --end 200", f"{HOT} --hot-period 1000 --end 600"
    fifth = "phold --remote 1 --hot 0.2 --hot-lps 1 --end 3000"
    cases = [(hot, "speculative"), (hot, "conservative"), (wandering, "speculative")]
    cases += [(wandering, "conservative"), (fifth, "speculative"), (W1, "speculative")]
    cases += [(W2, "speculative"), (W2, "conservative"), (W5, "speculative")]
    rows = []
    for (title, *_), (run, engine) in zip(published("load-sharing")["rows"], cases):
        off, on = on_and_off(bench, f"{run} --engine {engine} --workers 2", 5)
        rows.append([title, engine, million(off), f"{million(on)} ({ratio(on, off):.2f})"])
    default = ["`on` by `off`"]
    for run in (W1, W2, W5, TRAFFIC):
        off, on = on_and_off(bench, f"{run} {TIME_WARP} 2", 7)
        default.append(f"{ratio(on, off):.2f}")
    runs = [f"{hot} --engine {engine} --workers 2" for engine in ("speculative", "conservative")]
    before, after, _ = by_mean(bench, runs * 3)
    mean = [["before", span(before)], ["at the end", span(after)]]
    return {"load-sharing": rows, "load-sharing-default": [default], "load-sharing-mean": mean}


@measures("load-sharing-time-warp")
def load_sharing_time_warp(bench: Bench) -> dict[str, list[Row]]:
    """What moves gain in Time Warp where a hot spot stays, and where it wanders."""
    rows = []
    hot, wandering = "--end 400", "--hot-period 600 --end 2400"
    titles = {hot: "a hot spot that stays", wandering: "the same, wandering, four periods"}
    for flags, title in titles.items():
        run = f"{HOT} {flags} {TIME_WARP} 2"
        off, on = on_and_off(bench, run, 5)
        before, _, mean = by_mean(bench, [run] * 3)
        rows.append([title, f"`{flags}`", span(before), span(mean), f"{ratio(on, off):.2f}"])
    return {"load-sharing-time-warp": rows}


def by_mean(bench: Bench, runs: list[str]) -> tuple[list[float], list[float], list[float]]:
    """What the busiest worker had to do by the mean: at first, at the end and on average."""
    found = []
    for remark in (remark for run in runs for remark in bench.run(run)["remarks"]):
        if "times the mean" in remark:
            found.append([float(number) for number in re.findall(r"(\d\.\d+) times", remark)])
    before, after, mean = zip(*found)
    return before, after, mean


def on_and_off(bench: Bench, run: str, rounds: int) -> tuple[list[float], list[float]]:
    found = bench.rounds({value: f"{run} --balance {value}" for value in ("off", "on")}, rounds)
    return found["off"], found["on"]


def span(numbers: list[float]) -> str:
    return f"{min(numbers):.2f} to {max(numbers):.2f}"


@measures("traffic-speed")
def traffic_speed(bench: Bench) -> dict[str, list[Row]]:
    """The motorways of Italy with two workers, and where cars join unevenly."""
    engines = ["sequential", "conservative", "speculative", "timewarp", "auto"]
    limits = {engine: "" if engine == "sequential" else " --workers 2" for engine in engines}
    even = {engine: f"{TRAFFIC} --engine {engine}{limits[engine]}" for engine in engines}
    even = bench.rounds(even, 5)
    run = f"{until(TRAFFIC, 28800)} --uneven 3 --engine"
    cases = {("sequential", ""): f"{run} sequential"}
    for engine in ("conservative", "speculative"):
        for on in ("off", "on"):
            cases[engine, on] = f"{run} {engine} --workers 2 --balance {on}"
    uneven = bench.rounds(cases, 5)
    alone = uneven["sequential", ""]
    rows = []
    for (title, *_), engine in zip(published("traffic-speed")["rows"], engines):
        rate, by = even[engine], f"{ratio(even[engine], even['sequential']):.2f}"
        shared = [uneven.get((engine, on)) for on in ("off", "on")]
        cells = [f"{million(of)} ({ratio(of, alone):.2f})" if of else "" for of in shared]
        cells = [million(alone)] * 2 if engine == "sequential" else cells
        rows.append([title, million(rate), by, *cells])
    return {"traffic-speed": rows}


@measures("null-messages")
def null_messages(bench: Bench) -> dict[str, list[Row]]:
    """Null messages on the hypercube: `null-message-schedulers`, `null-messages-hypercube`."""
    run = "--engine conservative --synchronization"
    orders = ["simulation-time", "fifo", "lifo"]
    both = [(order, count) for order in orders for count in (1, 2)]
    short, long = W4, until(W4, 2000)

    def with_length(length: str) -> dict:
        chosen = "null-messages --scheduler"
        return {(o, n): f"{length} {run} {chosen} {o} --workers {n}" for o, n in both}

    counters = {case: bench.run(words)["counters"] for case, words in with_length(short).items()}
    rates = bench.rounds(with_length(long), 9)
    schedulers = []
    for order in orders:
        one, two = counters[order, 1], counters[order, 2]
        by = [f"{ratio(rates[order, n], rates['simulation-time', n]):.2f}" for n in (1, 2)]
        counts = [spaced(one["turns"]), spaced(one["null_messages"])]
        schedulers.append([f"`{order}`", *counts, by[0], spaced(two["null_messages"]), by[1]])
    ways = {"null messages": "null-messages", "windows": "windows"}
    both = [(name, count) for name in ways for count in (1, 2)]
    cases = {(name, n): f"{short} {run} {ways[name]} --workers {n}" for name, n in both}
    found = bench.rounds(cases | {"sequential": f"{short} --engine sequential"}, 5)
    by_name = {n: [f"{ratio(found[n, w], found['sequential']):.2f}" for w in (1, 2)] for n in ways}
    hypercube = [[name, *by] for name, by in by_name.items()]
    return {"null-message-schedulers": schedulers, "null-messages-hypercube": hypercube}


POOLS = ["sender", "receiver", "partitioned", "adaptive"]


@measures("pool-models")
def pool_models(bench: Bench) -> dict[str, list[Row]]:
    """The buffer pools on every workload, without a limit."""
    loads = ["W1", "W2", "W4", "W5", "W8", "W9"]
    rates = {(load, pool): [] for load in loads for pool in POOLS}
    only = "--only timewarp --workers 2 --batch 64 --samples 1 --pool"
    for number in range(9):
        for pool in POOLS[:: 1 if number % 2 else -1]:
            found = bench.bench(f"{' '.join(loads)} {only} {pool}")
            for load in loads:
                row = found[load, "timewarp, 2 workers"]
                rates[load, pool].append(1e6 * row["million events/s"])
    rows = []
    for load in loads:
        adaptive = rates[load, "adaptive"]
        by = [f"{ratio(adaptive, rates[load, pool]):.2f}" for pool in POOLS[:3]]
        rows.append([load, *(million(rates[load, pool]) for pool in POOLS), *by])
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


@measures("circuits")
def circuits(bench: Bench) -> dict[str, list[Row]]:
    """The 112 080 transistors of s38417: `circuits-speed-now` and `circuits-start`."""
    if bench.netlists is None:
        raise SystemExit("circuits: --netlists FOLDER says where s38417.bench is")
    found = bench.bench("W6 --only sequential,auto,conservative,bare --workers 2 --samples 5")
    names = ["sequential ladder", "conservative, 2 workers", "auto, 2 workers", "bare loop"]
    by = [f"{found['W6', name]['by sequential']:.2f}" for name in names]
    run = f"circuit --netlist {next(bench.netlists.rglob('s38417.bench'))} --engine"
    engines = {"sequential": "sequential", "windows": "conservative", "auto": "auto"}
    cases = {name: f"{run} {engine}" for name, engine in engines.items()}
    cases["off"] = f"{run} conservative --balance off"
    found = bench.rounds(cases, 3, "wall_seconds")
    took = {name: f"{statistics.median(times):.1f}" for name, times in found.items()}
    begun = time.monotonic()
    report = bench.run(cases["windows"])
    whole = time.monotonic() - begun
    everything = f"{whole:.1f}, and {report['peak_resident_bytes'] / 2**20:.0f} MiB"
    speed = [["sequential", "1", took["sequential"]], ["windows", by[1], took["windows"]]]
    speed += [["windows, `--balance off`", "", took["off"]], ["`auto`", by[2], took["auto"]]]
    speed += [["bare loop", by[3], ""]]
    speed += [["windows, with reading and the operating point", "", everything]]
    start = f"{whole - report['wall_seconds']:.1f} s"
    return {"circuits-speed-now": speed, "circuits-start": [["before its first event", start]]}


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


@measures("pages")
def pages(bench: Bench) -> dict[str, list[Row]]:
    """What `--trace` and `--report` cost: `trace-cost` and `report-cost`."""
    long = f"phold --end 20000 {TIME_WARP} 2"
    with tempfile.TemporaryDirectory() as folder:
        trace, page = f"--trace {folder}/a.pftrace", f"--report {folder}/a.html"

        def compared(run: str, flag: str, rounds: int) -> tuple[dict, list[float]]:
            found = bench.rounds({"without": run, "with": f"{run} {flag}"}, rounds, "wall_seconds")
            return found, [one / other for one, other in zip(found["with"], found["without"])]

        traced = []
        for (title, *_), run in zip(published("trace-cost")["rows"], (long, f"{long} --in-turn")):
            found, by = compared(run, trace, 9)
            times = [f"{statistics.median(found[name]):.3f} s" for name in ("without", "with")]
            traced.append([title, "9", *times, f"{statistics.median(by):.2f} ({span(by)})"])
        reported = []
        runs = (long, "circuit --engine sequential")
        for (title, *_), run in zip(published("report-cost")["rows"], runs):
            _, by = compared(run, page, 9)
            reported.append([title, f"{statistics.median(by):.2f}", span(by).replace(" to", ",")])
    return {"trace-cost": traced, "report-cost": reported}


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


@measures("flooding")
def flooding(bench: Bench) -> dict[str, list[Row]]:
    """What workers keep of their rate beside a flood: `flood-kept` and `flood-turns`."""
    kept, turns = {}, {}
    for row in bench.lab("flooding"):
        buffers = row["buffers"]
        kept.setdefault(buffers, [spaced(buffers)]).append(f"{row['rate kept']:.2f}")
        count = spaced(row["turns beside it"] / 1000)
        turns.setdefault(buffers, [spaced(buffers)]).append(count)
    return {"flood-kept": list(kept.values()), "flood-turns": list(turns.values())}


@measures("pool-memory")
def pool_memory(bench: Bench) -> dict[str, list[Row]]:
    """How much memory each pool needs: events by turns of eight workers."""
    rows = {row[0]: [row[0]] for row in published("pool-memory")["rows"]}
    for row in bench.lab("pool-memory"):
        buffers = f"{row['event buffers by pending events']:g}"
        if buffers in rows and row["workers"] == 8:
            rows[buffers].append(f"{row['events by turns']:.2f}")
    return {"pool-memory": list(rows.values())}


@measures("numa-nodes")
def numa_nodes(bench: Bench) -> dict[str, list[Row]]:
    """The NUMA paper's figure 6 on a model of its machine: `lab-numa-nodes`."""
    rows = {row[0]: [row[0]] for row in published("lab-numa-nodes")["rows"]}
    for row in bench.lab("numa-fig6-nodes"):
        rows[str(row["time between cars (s)"])].append(f"{row['execution time (s)']:.3f}")
    return {"lab-numa-nodes": list(rows.values())}


@measures("numa-daemons")
def numa_daemons(bench: Bench) -> dict[str, list[Row]]:
    """The NUMA paper's figures 7 to 9 on that model, but for rows of other constants."""
    rows = published("lab-numa-789")["rows"]
    for row, figure, digits in zip(rows, ("numa-fig7", "numa-fig8", "numa-fig9"), (1, 2, 2)):
        found = bench.lab(figure)
        column = list(found[0])[2]
        # The paper's periods; that of the first line, which others are compared with, is empty.
        papers = [line for line in found if line["period (s)"] in range(2, 11)]
        rates = [line[column] for line in papers]
        row[2] = f"{min(rates):.{digits}f} to {max(rates):.{digits}f}"
        if figure == "numa-fig8":
            places = [("compared with", ""), ("4 daemons", 10), ("4 daemons", 2)]
            lines = {(line["curve"], line["period (s)"]): line for line in found}
            shares = [share_of_far(lines[place]) for place in places]
            rows[4][2] = "{:.1f}, {:.1f} and {:.1f} %".format(*shares)
    return {"lab-numa-789": rows}


@measures("numa-sensitivity")
def numa_sensitivity(bench: Bench) -> dict[str, list[Row]]:
    """What that model says with other values of what nobody measured, from texts of figures."""
    rows: dict[str, Row] = {}
    figures = ("numa-fig6-nodes", "numa-fig7", "numa-fig8", "numa-fig9")
    for nth, figure in enumerate(figures):
        told = re.findall(r"^- Sensitivity, (.*): ([^;]*)\.$", bench.lab_text(figure), re.MULTILINE)
        for changed, found in told:
            row = rows.setdefault(changed, [changed, "", "", "", ""])
            row[1 + nth] = re.search(r"[\d.]+", found)[0]
    return {"lab-numa-sensitivity": list(rows.values())}


def share_of_far(line: dict) -> float:
    """Per cent of the lines read that are read from another node."""
    far = line["far lines read"]
    return 100 * far / (far + line["near lines read"])


@measures("architectures")
def architectures(bench: Bench) -> dict[str, list[Row]]:
    """Waiting for buffers on a server and on the KSR-2, by the memory-system model."""
    rows = {(row[0], row[1]): row[:2] for row in published("architectures")["rows"]}
    for row in bench.lab("architectures"):
        where = f"{row['machine']}, {row['protocol']}", str(row["workers"])
        if where in rows:
            rows[where].append(spaced(row["ns per event"]))
    return {"architectures": list(rows.values())}


def write(name: str, rows: list[Row], machine: str) -> None:
    """Puts rows into a published file, a row in a line."""
    results = published(name)
    is_computed = results["machine"].startswith("computed")
    results |= {"machine": results["machine"] if is_computed else machine, "rows": []}
    results.pop("stale", None)
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    text = json.dumps(results, indent=2, ensure_ascii=False)
    filled = '"rows": [\n    ' + ",\n    ".join(lines) + "\n  ]"
    (FOLDER / f"{name}.json").write_text(text.replace('"rows": []', filled) + "\n")


def machine() -> str:
    """The processor and its cores, as captions have it."""
    info = json.loads(subprocess.check_output(["lscpu", "--json"]))["lscpu"]
    fields = {entry["field"]: entry["data"] for entry in info}
    name = fields["Model name:"].replace("(R)", "").replace(" Processor", "")
    return f"{name}, {fields['CPU(s):']} virtual cores"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*TABLES, []], metavar="NAME")
    parser.add_argument("--command", type=Path)
    parser.add_argument("--netlists", type=Path)
    chosen = parser.parse_args()
    if not chosen.names:
        for name, function in TABLES.items():
            print(f"{name:24}{function.__doc__}")
        return
    cargo = ["cargo", "build", "--release", "--quiet", "-p", "warpline-cli"]
    if chosen.command is None:
        subprocess.run(cargo, cwd=ROOT, check=True)
    command = (chosen.command or ROOT / "target/release/warpline").resolve()
    bench = Bench(command, chosen.netlists)
    for name in chosen.names:
        files = TABLES[name](bench)
        for file, rows in files.items():
            write(file, rows, machine())
        noted = ["cargo", "test", "--quiet", "-p", "warpline-lab", "--test", "results", "--"]
        subprocess.run([*noted, "measured", str(command), *files], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
