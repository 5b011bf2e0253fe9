"""The command that measures, what it runs, and how figures are written. Used by all rooms."""

import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
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

    def __init__(self, command: Path, netlists: Path | None, figures: Path | None) -> None:
        self.command, self.netlists, self.figures = command, netlists, figures
        # What has measured last: the command, or an example.
        self.program = command

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
        return {(row["workload"], row["variant"]): row for row in self.bench_rows(arguments)}

    def bench_rows(self, arguments: str) -> list[dict]:
        """`warpline bench`: its rows."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "results.json")
            words = [str(self.command), "bench", *arguments.split(), "--results", str(file)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            return named(json.loads(file.read_text()))

    def lab(self, figure: str, flags: str = "", name: str = "") -> list[dict]:
        """The rows of a figure of the laboratory. With other flags it has another name."""
        folder = self.drawn(figure, flags, name)
        return named(json.loads((folder / f"{name or figure}.json").read_text()))

    def lab_text(self, figure: str, flags: str = "", name: str = "") -> str:
        """The text of a figure of the laboratory."""
        return (self.drawn(figure, flags, name) / f"{name or figure}.md").read_text()

    def drawn(self, figure: str, flags: str, name: str) -> Path:
        """The folder with a figure, which is drawn if it is not there."""
        if self.figures is None:
            self.figures = Path(tempfile.mkdtemp())
        results = self.figures / f"{name or figure}.json"
        if not results.exists():
            with tempfile.TemporaryDirectory() as folder:
                words = [str(self.command), "lab", figure, *flags.split(), "--output", folder]
                words += ["--results", str(results)]
                words += [] if name else ["--claims", str(FOLDER / "lab-verdicts.json")]
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
                shutil.move(Path(folder, f"{figure}.md"), self.figures / f"{name or figure}.md")
        return self.figures

    def netlist(self, name: str) -> Path:
        """The file of an ISCAS circuit."""
        if self.netlists is None:
            raise SystemExit(f"--netlists FOLDER says where {name}.bench is")
        return next(self.netlists.rglob(f"{name}.bench")).resolve()

    def example(self, package: str, name: str, arguments: str = "", features: str = "") -> str:
        """What an example of a package prints. It is what has measured."""
        self.program = ROOT / "target/release/examples" / name
        cargo = ["cargo", "build", "--release", "--quiet", "--locked", "-p", package]
        cargo += ["--example", name, "--features", features]
        subprocess.run(cargo, cwd=ROOT, check=True)
        words = [str(self.program), *arguments.split()]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout


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


def span(numbers: list[float]) -> str:
    return f"{min(numbers):.2f} to {max(numbers):.2f}"
