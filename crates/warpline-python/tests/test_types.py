"""The types: mypy accepts the package and finds mistakes in calls; what is generated is what the
native part has."""

import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent

#: Calls, with what mypy says about a line in a comment.
CALLS = '''
from pathlib import Path

import warpline_sim as wl

wl.run("pcs", channels=12, engine="timewarp", workers=2, memory="64MiB", pin=False, seed=None)
wl.run("circuit", save=["a", "b"], netlist=Path("a.cir"), period=1e-8, lookahead="auto")
wl.run("phold", enigne="timewarp")  # Unexpected keyword
wl.run("phold", engine="timewrap")  # incompatible type
wl.run("phold", workers="two")  # incompatible type
wl.run("pcs", chanels=12)  # Unexpected keyword
wl.run("pcs", memory=0.5)  # incompatible type
wl.replicate("pcs", 8, end=300, channels=12)
wl.replicate("pcs", 8, ned=300)  # Unexpected keyword
wl.sweep("pcs", {"channels": range(8, 13)}, end=300, seed=7)
wl.sweep("pcs", {"channels": [8]}, trace="a.pftrace")  # Unexpected keyword
wl.lab("fig3", quick=True, workers=[1, 2])
wl.lab("fig3", quik=True)  # Unexpected keyword


def own(model: wl.Model) -> None:
    model.run(lps=8, end=100, engine="timewarp", workers=2, saving="copy")
    model.run(lps=8, end=100, wokers=2)  # Unexpected keyword
    model.run(lps=8, channels=12)  # Unexpected keyword
'''


def told(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True)


def check(*command: str) -> None:
    result = told(*command)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_package_is_typed() -> None:
    source = PROJECT / "python" / "warpline_sim"
    config = str(PROJECT / "pyproject.toml")
    check("-m", "mypy", "--config-file", config, str(source), str(PROJECT / "stubs.py"))


def test_stubs_are_those_of_the_native_part() -> None:
    config = str(PROJECT / "pyproject.toml")
    check("-m", "mypy.stubtest", "--mypy-config-file", config, "warpline_sim._native")


def test_generated_files_are_up_to_date() -> None:
    check(str(PROJECT / "stubs.py"), "--check")


def test_mistakes_in_calls_are_found(tmp_path: Path) -> None:
    path = tmp_path / "calls.py"
    path.write_text(CALLS)
    result = told("-m", "mypy", "--config-file", str(PROJECT / "pyproject.toml"), str(path))
    found = {
        int(line): text for line, text in re.findall(r":(\d+): error: (.*)", result.stdout)
    }
    expected = {
        number: line.split("  # ")[1]
        for number, line in enumerate(CALLS.splitlines(), 1)
        if "  # " in line
    }
    assert found.keys() == expected.keys(), result.stdout
    for number, text in expected.items():
        assert text in found[number], result.stdout
