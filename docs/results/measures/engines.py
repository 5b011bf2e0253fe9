"""Engines beside each other: every workload, short runs, busy machines, load sharing."""

import re
import statistics
import subprocess
import tempfile
import time

from .bench import (
    HOT,
    TIME_WARP,
    TRAFFIC,
    W1,
    W2,
    W4,
    W5,
    Bench,
    Row,
    measures,
    million,
    published,
    ratio,
    spaced,
    span,
    until,
    workers,
)


@measures("engines")
def engines(bench: Bench) -> dict[str, list[Row]]:
    """Every engine on every workload: `engines`, `default` and what is made of them."""
    kinds = "sequential,auto,speculative,timewarp,conservative"
    found = bench.bench(f"--only {kinds} --workers 1,2 --samples 11")

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


def cell(row: dict | None, has_ratio: bool) -> str:
    if row is None:
        return ""
    by = f" ({row['by sequential']:.2f})" if has_ratio else ""
    return f"{row['million events/s']:.1f}{by}"


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


@measures("circuits")
def circuits(bench: Bench) -> dict[str, list[Row]]:
    """The 112 080 transistors of s38417: `circuits-speed-now` and `circuits-start`."""
    found = bench.bench("W6 --only sequential,auto,conservative,bare --workers 2 --samples 5")
    names = ["sequential ladder", "conservative, 2 workers", "auto, 2 workers", "bare loop"]
    by = [f"{found['W6', name]['by sequential']:.2f}" for name in names]
    run = f"circuit --netlist {bench.netlist('s38417')} --engine"
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
