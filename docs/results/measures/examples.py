"""Tables from the examples that measure, and from counts that single runs tell."""

import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from .bench import (
    ROOT,
    W1,
    W3,
    Bench,
    Row,
    measures,
    published,
    spaced,
)

# What a critical path allows: with LPs anywhere, and as they are placed.
COLUMNS = ("speedup", "placed")
# A line of what processes cost.
EVENT_COSTS = re.compile(r"^(\w+) +(\S.*?) +([\d.]+) ns +([\d.]+) ns +([\d.]+)$", re.MULTILINE)


@measures("processes")
def processes(bench: Bench) -> dict[str, list[Row]]:
    """Processes by the same models written event by event, and on two cores: `process-…`."""
    told = bench.example("warpline-processes", "process_cost", features="measurements")
    cells, cores = {}, []
    for what, which, first, second, by in EVENT_COSTS.findall(told):
        if what == "stations":
            cores.append([spaced(int(which)), first, second, by])
        else:
            cells.setdefault(what, []).append(f"{first} ({by})")
    titles = [row[0] for row in published("process-cost")["rows"]]
    rows = [[title, *cells[what]] for title, what in zip(titles, ("bank", "network", "crowd"))]
    return {"process-cost": rows, "process-cores": cores}


def table(text: str) -> list[list[str]]:
    """The lines of a table in Markdown but for its head, as cells."""
    lines = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[1:] if not line[0].startswith("--")]


@measures("mail-blocks")
def mail_blocks(bench: Bench) -> dict[str, list[Row]]:
    """What an item costs between two threads, in blocks without a lock and with one."""
    costs = {int(row[0]): row for row in table(bench.example("warpline-memory", "inbox_cost"))}
    most = max(costs)
    fewer = [float(costs[size][3]) for size in (4, 16)]
    found = [costs[most][1], costs[most][2], f"{min(fewer):.1f} to {max(fewer):.1f} times as much"]
    titles = [row[0] for row in published("mail-blocks")["rows"]]
    return {"mail-blocks": [[title, now] for title, now in zip(titles, found)]}


@measures("send-cost")
def send_cost(bench: Bench) -> dict[str, list[Row]]:
    """What it costs to send large messages, and to write them in place."""
    found: dict[str, list[list[str]]] = {}
    for line in table(bench.example("warpline", "send_cost", features="measurements")):
        found.setdefault(line[0], []).append(line)
    rows = []
    for size, lines in found.items():
        cells = [[spaced(float(line[at])) for at in (2, 3, 5, 6)] for line in lines]
        whole = [f"{sent} / {in_place}" for sent, in_place, _, _ in cells]
        part = [f"{sent} / {in_place}" for _, _, sent, in_place in cells]
        rows.append([spaced(int(size)), *whole, *part])
    return {"send-cost": rows}


@measures("saving-sparse")
def saving_sparse(bench: Bench) -> dict[str, list[Row]]:
    """Copies of states of several sizes, sparse copies, and what `auto` finds."""
    told = bench.example("warpline", "saving_cost", "5", features="measurements")
    rows = [line.split() for line in told.splitlines()[1:]]
    return {"saving-sparse": [[spaced(int(size)), *rest] for size, *rest in rows]}


@measures("pending")
def pending(bench: Bench) -> dict[str, list[Row]]:
    """The pending sets, on workloads and by themselves: `pending-sets`, `pending-holds`."""
    loads = published("pending-sets")["columns"][2:]
    found = bench.bench(f"{' '.join(loads)} --only sequential --all-pending --samples 3")
    sets = []
    for title, flag, *_ in published("pending-sets")["rows"]:
        variant = f"sequential {flag.strip('`')}"
        rates = [found[load, variant]["million events/s"] for load in loads]
        sets.append([title, flag, *(f"{rate:.1f}" for rate in rates)])
    holds = table(bench.example("warpline", "holds", features="measurements"))
    return {"pending-sets": sets, "pending-holds": holds}


@measures("critical-path")
def critical_path(bench: Bench) -> dict[str, list[Row]]:
    """The critical paths of W1, W6 and W3: `critical-path`, -chains and -time."""
    runs = {"W1": W1, "W6": "circuit"}
    paths = {load: path_of(bench, run, "events") for load, run in runs.items()}
    bounds = {load: {at["workers"]: at for at in path["speedups"]} for load, path in paths.items()}
    curves = []
    for workers in bounds["W1"]:
        at = [bounds[load][workers] for load in runs]
        curves.append([spaced(workers), *(f"{of[key]:.2f}" for of in at for key in COLUMNS)])
    most = [cell for path in paths.values() for cell in (f"{path['parallelism']:.2f}", "")]
    curves.append(["any number", *most])
    chains = []
    for title, path in paths.items():
        counts = [spaced(path["events"]), spaced(path["length"])]
        chains.append([title, *counts, f"{path['parallelism']:.2f}"])
    large = path_of(bench, W3, "events")
    (most,) = (at["placed"] for at in large["speedups"] if at["workers"] == 1024)
    counts = [spaced(large["events"]), spaced(large["length"])]
    chains.append(["W3, with 1 024 workers", *counts, f"{int(most)}"])
    times = []
    for load, run in runs.items():
        timed = [path_of(bench, run, "time") for _ in range(3)]
        events = timed[0]["events"]
        cost = statistics.median(path["work"] for path in timed) / events
        found = [path["parallelism"] for path in timed]
        by_time = f"{min(found):.1f} to {max(found):.1f}"
        times.append([load, f"{cost:.0f}", by_time, f"{paths[load]['parallelism']:.1f}"])
    return {
        "critical-path": curves,
        "critical-path-chains": chains,
        "critical-path-time": times,
    }


def path_of(bench: Bench, run: str, cost: str) -> dict:
    return bench.run(f"{run} --critical-path {cost}")["critical_path"]


@measures("send-instructions")
def send_instructions(bench: Bench) -> dict[str, list[Row]]:
    """Instructions of sends of large messages, and those of `memcpy` (valgrind)."""
    bench.example("warpline", "send_cost", "64 send full", features="measurements")
    rows = []
    for size in (64, 1024, 8192, 65_536):
        row = [spaced(size)]
        for way in ("send", "send_with"):
            row += counted(bench.program, f"{size} {way} full")
        rows.append(row)
    return {"send-instructions": rows}


def counted(program: Path, arguments: str) -> list[str]:
    """Instructions of a program, and those of `memcpy`, in millions."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "callgrind.out")
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", str(program)]
        subprocess.run([*words, *arguments.split()], check=True, capture_output=True)
        words = ["callgrind_annotate", "--threshold=100", str(file)]
        told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    lines = re.findall(r"^ *([\d,]+) .*$", told, re.MULTILINE)
    of_memcpy = re.findall(r"^ *([\d,]+) .*memcpy", told, re.MULTILINE)
    return [millions(lines[:1]), millions(of_memcpy)]


def millions(counts: list[str]) -> str:
    return spaced(sum(int(count.replace(",", "")) for count in counts) / 1e6)


# What is compared with stored crossings by ngspice: as the table has it, the circuit, its options.
COMPARED = (
    ("chain of 21 inverters", "4", "chain", "chain:21 vectors=4"),
    ("adder of 8 bits", "6", "adder", "adder:8 vectors=6"),
    ("c17", "10", "c17", "vectors=10"),
    ("s27", "10", "s27", "vectors=10"),
    ("c432", "10", "c432", "vectors=10"),
    ("c2670", "3", "c2670", "vectors=3"),
    ("c6288, last crossings", "2 of 40 ns", "c6288", "vectors=2 period=40e-9 last=40e-9"),
)
# What the example says of a comparison.
COMPARISON = re.compile(
    r"(\d+) crossings, (\d+) missed, (\d+) extra, "
    r"delay error mean ([\d.]+) %, p95 ([\d.]+) %, max ([\d.]+) %"
)


@measures("circuits-accuracy")
def circuits_accuracy(bench: Bench) -> dict[str, list[Row]]:
    """How exact circuits are, beside stored crossings by ngspice."""
    references = ROOT / "crates/warpline-circuits/tests/references"
    rows = []
    for title, vectors, name, options in COMPARED:
        circuit = options if ":" in options else f"{bench.netlist(name)} {options}"
        for tolerance in ("default", "fine"):
            told = bench.example(
                "warpline-circuits",
                "accuracy",
                f"{circuit} tolerance={tolerance} nets=all reference={references}/{name}.csv",
            )
            *crossings, mean, most_of_them, most = COMPARISON.search(told).groups()
            errors = [f"{error} %" for error in (mean, most_of_them, most)]
            head = [title, vectors] if tolerance == "default" else ["", ""]
            rows.append([*head, tolerance, ", ".join(crossings), *errors])
    return {"circuits-accuracy": rows}


@measures("width-search")
def width_search(_: Bench) -> dict[str, list[Row]]:
    """The search for a width on models of costs, without a clock: `speculative-width-search`."""
    drawn = 20_000
    law = "speculative::width::tests::the_width_finds_itself"
    words = ["cargo", "test", "--locked", "--quiet", "-p", "warpline", "--lib", law]
    subprocess.run(words, cwd=ROOT, check=True, env={**os.environ, "PROPTEST_CASES": str(drawn)})
    rows = published("speculative-width-search")["rows"]
    return {"speculative-width-search": [[title, spaced(drawn)] for title, _ in rows]}
