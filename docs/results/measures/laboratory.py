"""Tables from figures of the laboratory (`warpline lab`)."""

import re
from fractions import Fraction

from .bench import Bench, Row, measures, published, spaced

# The circuits of the runtime paper's figures, and what a text tells of one.
CIRCUITS = ("c2670", "multiplier:16", "regfile:16x32")
COUNTS = r"(\d+) subcircuits, (\d+) transistors, (\d+) steps, (\d+) events"
TIMES = r"([\d.]+) s sequentially, ([\d.]+) s with null messages"
TABLE_1 = re.compile(rf"^- (\S+): {COUNTS}; {TIMES}", re.MULTILINE)
# What a text tells of another value: how it is called, and the first figure with it.
SENSITIVITY = re.compile(r"^- Sensitivity, ([^;\n]*?): \D*?([\d.]+\d)[^;\n]*\.$", re.MULTILINE)
# What a text tells of null messages per event.
NULL_MESSAGES = re.compile(r"^- (\S+), null messages per event: (.*)\.$", re.MULTILINE)
# The curves of the buffer paper's figure 6.
NEIGHBORS = ("4 neighbors", "2 neighbors", "1 neighbor")


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
        for changed, found in SENSITIVITY.findall(bench.lab_text(figure)):
            row = rows.setdefault(changed, [changed, "", "", "", ""])
            row[1 + nth] = found
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


@measures("pages-missed")
def pages_missed(bench: Bench) -> dict[str, list[Row]]:
    """Page misses and knees on the model of the KSR-2: `lab-pages`."""
    memory = "memory for event buffers (MiB, all workers)"
    missed = {(row["curve"], row[memory]): row["page misses"] for row in bench.lab("fig5")}
    by_size = {(row["curve"], row[memory]): row["page misses"] for row in bench.lab("fig6")}
    least = first_missed(missed, "sender")
    found = [str(max(at for _, at in missed if at < least))]
    for at in (40, 50, 60):
        found.append(f"1/{missed['sender', at] / missed['adaptive', at]:.0f}")
    knees = [first_missed(by_size, neighbors) for neighbors in NEIGHBORS]
    found.append(str(knees[0]))
    found += [f"{knee} ({Fraction(knee, knees[0])})" for knee in knees[1:]]
    found.append(f"{missed['sender', 60] / missed['receiver', 60]:.0f}")
    rows = published("lab-pages")["rows"]
    return {"lab-pages": [[what, now, paper] for (what, _, paper), now in zip(rows, found)]}


def first_missed(missed: dict[tuple[str, float], int], curve: str) -> float:
    """The least memory with page misses."""
    return min(at for (of, at), misses in missed.items() if of == curve and misses > 0)


@measures("runtime")
def runtime(bench: Bench) -> dict[str, list[Row]]:
    """Table 1 and figures 5 and 6 of the runtime paper: `lab-runtime-…`."""
    c2670 = f"--netlist {bench.netlist('c2670')}"
    rates, counts = {}, []
    # The multiplier takes the place of c2670 where there is no netlist.
    for flags, name in (("", "runtime-fig5-generated"), (c2670, "")):
        rates |= by_circuit(bench.lab("runtime-fig5", flags, name))
        counts += TABLE_1.findall(bench.lab_text("runtime-fig5", flags, name))
    ways = {"1 worker": (1, ""), "2 workers": (2, ""), "2 ranks over MPI": (2, " on ranks")}
    figure_5 = by_ways({circuit: rates[circuit] for circuit in CIRCUITS}, ways)
    figures = {circuit: figures for circuit, *figures in counts}
    table_1 = []
    for circuit in CIRCUITS:
        *counted, sequential, one = figures[circuit]
        times = [f"{seconds} s" for seconds in (sequential, one)]
        table_1.append([circuit, *(spaced(int(count)) for count in counted), *times])
    figure_6a: dict[str, list[float]] = {}
    for row in bench.lab("runtime-fig6a", c2670):
        figure_6a.setdefault(row["curve"], []).append(row["median events/s"] / 1e6)
    figure_6b: dict[str, list[str]] = {}
    for row in bench.lab("runtime-fig6b", c2670):
        rate = row["median events/s"] / 1e6
        figure_6b.setdefault(f"{row['curve']}, rate", []).append(f"{rate:.2f}")
    for circuit, told in NULL_MESSAGES.findall(bench.lab_text("runtime-fig6b", c2670)):
        figure_6b[f"{circuit}, null messages"] = re.findall(r"([\d.]+) at", told)
    rows_6b = [row[0] for row in published("lab-runtime-fig6b")["rows"]]
    return {
        "lab-runtime-fig5": figure_5,
        "lab-runtime-table1": table_1,
        "lab-runtime-fig6a": [[name, *best_bold(of)] for name, of in figure_6a.items()],
        "lab-runtime-fig6b": [[title, *figure_6b[title]] for title in rows_6b],
    }


def by_circuit(rows: list[dict]) -> dict[str, dict[tuple[str, int], float]]:
    """Rates of each circuit, by the engine and its number of workers."""
    rates: dict[str, dict[tuple[str, int], float]] = {}
    for row in rows:
        circuit, how = row["curve"].split(", ")
        rates.setdefault(circuit, {})[how, row["workers"]] = row["median events/s"]
    return rates


def by_ways(
    rates: dict[str, dict[tuple[str, int], float]], ways: dict[str, tuple[int, str]]
) -> list[Row]:
    """Rates of circuits by that of the sequential engine, a row for each way to run them."""
    rows = []
    for title, found in rates.items():
        for how, (workers, on) in ways.items():
            curves = (f"{curve}{on}" for curve in ("null-messages", "windows", "timewarp"))
            ratios = (found[curve, workers] / found["sequential", 1] for curve in curves)
            rows.append([title, how, *(f"{ratio:.2f}" for ratio in ratios)])
            title = ""
    return rows


@measures("runtime-feedback")
def runtime_feedback(bench: Bench) -> dict[str, list[Row]]:
    """Circuits with feedback and without, s38417 among them: `lab-runtime-feedback`."""
    s5378, s38417 = (f"--netlist {bench.netlist(name)}" for name in ("s5378", "s38417"))
    large = f"{s38417} --samples 5"
    rates = by_circuit(bench.lab("runtime-feedback", large, "runtime-feedback-s38417"))
    rates |= by_circuit(bench.lab("runtime-feedback", s5378))
    rows = by_ways(dict(sorted(rates.items())), {"1 worker": (1, ""), "2 workers": (2, "")})
    return {"lab-runtime-feedback": rows}


def best_bold(rates: list[float]) -> list[str]:
    cells = [f"{rate:.2f}" for rate in rates]
    best = rates.index(max(rates))
    cells[best] = f"**{cells[best]}**"
    return cells


@measures("numa-fig6")
def numa_fig6(bench: Bench) -> dict[str, list[Row]]:
    """The NUMA paper's figure 6 on this machine: `lab-numa-fig6`."""
    rows: dict[str, Row] = {}
    for row in bench.lab("numa-fig6"):
        between = str(row["time between cars at a junction (s)"])
        seconds = row["committed events"] / row["median events/s"]
        rows.setdefault(between, [between]).append(f"{seconds:.2f}")
    return {"lab-numa-fig6": [rows[row[0]] for row in published("lab-numa-fig6")["rows"]]}
