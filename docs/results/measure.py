#!/usr/bin/env python3
"""Measures results again and writes them into their files, by one command each.

    docs/results/measure.py                         # names what can be measured
    docs/results/measure.py engines load-sharing    # measures these

It builds the command, runs it, and writes the rows of `docs/results/NAME.json`; some names measure
several files at once. Then `cargo test -p warpline-lab --test results -- update` makes the tables.
Rates are medians, and ratios are medians of the ratios within rounds: in a round, all that is
compared runs in turn. So nothing else should run on the machine, and the ratios say more than the
rates. What is measured is in the folder `measures`, a file for each subject.

`--command FILE` takes a command that is there, `--netlists FOLDER` has the ISCAS circuits.
`--figures FOLDER` keeps the figures of the laboratory, and takes those that are there:
`warpline lab NAME --results FOLDER/NAME.json --output FOLDER` draws one.
"""

import argparse
import json
import subprocess
from pathlib import Path

from measures.bench import FOLDER, ROOT, TABLES, Bench, Row, published


def write(name: str, rows: list[Row], machine: str) -> None:
    """Puts rows into a published file, a row in a line."""
    results = published(name)
    # What is counted or computed is the same on every machine.
    is_of_any = results["machine"].startswith(("computed", "any"))
    results |= {"machine": results["machine"] if is_of_any else machine, "rows": []}
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
    parser.add_argument("--figures", type=Path)
    chosen = parser.parse_args()
    if not chosen.names:
        for name, function in TABLES.items():
            print(f"{name:24}{function.__doc__}")
        return
    cargo = ["cargo", "build", "--release", "--quiet", "-p", "warpline-cli"]
    if chosen.command is None:
        subprocess.run(cargo, cwd=ROOT, check=True)
    command = (chosen.command or ROOT / "target/release/warpline").resolve()
    bench = Bench(command, chosen.netlists, chosen.figures and chosen.figures.resolve())
    for name in chosen.names:
        bench.program = command
        files = TABLES[name](bench)
        for file, rows in files.items():
            write(file, rows, machine())
        noted = ["cargo", "test", "--quiet", "-p", "warpline-lab", "--test", "results", "--"]
        subprocess.run([*noted, "measured", str(bench.program), *files], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
