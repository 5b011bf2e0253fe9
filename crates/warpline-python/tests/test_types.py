"""The types: mypy accepts the package and finds mistakes in calls; what is generated is what the
native part has."""

import os
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent

#: Calls, with what mypy says about a line in a comment.
CALLS = '''
from pathlib import Path
from typing import Annotated

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


wl.run("psc")  # incompatible type
settings: wl.RunSettings = {"engine": "timewarp", "workers": 2}
wl.run("phold", **settings)


@wl.params
class Params:
    mean: wl.f64
    jobs: wl.i64 = 3
    weights: wl.Array[wl.f64]
    near: Annotated[wl.Array[wl.i32], 4]


params = Params(mean=1, weights=[0.5, 1.0], near=(1, 2, 3, 4))
params.weights[0] + params.mean + params.jobs + params.near[3]
Params(mean=1, weights=wl.discrete([0.5, 1]), near=[])
wl.empirical(["one"])  # incompatible type
Params(mean="one", weights=[], near=[])  # incompatible type
Params(maen=1.0, mean=1.0, weights=[], near=[])  # Unexpected keyword
params.jbos  # has no attribute


def own(model: wl.Model) -> None:
    model.run(lps=8, end=100, engine="timewarp", workers=2, saving="copy")
    model.run(lps=8, end=100, wokers=2)  # Unexpected keyword
    with model.open(params, lps=8, end=10) as session:
        session.states["jobs"].sum()
        session.branch({"mean": 2.0}).inject(3, 1.0, hops=1)
        session.inject("three", 1.0)  # incompatible type
    model.run(lps=8, channels=12)  # Unexpected keyword
    model.run(lps=8, precision="5%")
    model.replicate(params, 8, lps=8, end=100, lookahead=0.1)
    model.replicate(params, 8, lps=8, ned=100)  # Unexpected keyword
    model.sweep(params, {"mean": [0.5, 1.0], "lps": [8, 16]}, end=100)


def own_world(world: wl.World) -> None:
    desks = world.resources(["left", "right"], [1, lambda p, site: 2 if site else None])
    world.resources(["left", 2])  # incompatible type
    len(desks) + desks[0].number
    world.run(params, sites=8, end=100, event_log=Path("log.csv"))
    world.run(params, sites=8, end=100, event_lgo="log.csv")  # Unexpected keyword
    with world.open(params, sites=8, end=10, engine="timewarp") as session:
        session.branch({"mean": 2.0}).states["jobs"].sum()
        session.spawn_at("three", 1.0, session)  # incompatible type
    world.sweep(params, {"event_log": ["a.csv", "b.csv"]}, sites=8)
'''


def run_python(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **env}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=env)


def check(*command: str) -> None:
    result = run_python(*command)
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


def test_the_examples_are_typed() -> None:
    examples = [str(path) for path in sorted((PROJECT / "examples").glob("*.py"))]
    check("-m", "mypy", "--config-file=", *examples)


def test_a_program_is_checked_where_numba_is_not_there(tmp_path: Path) -> None:
    """What this package may import is not the user's concern."""
    example = str(PROJECT / "examples" / "phold.py")
    path = str(PROJECT / "python")
    arguments = ["-m", "mypy", "--config-file=", "--no-site-packages", example]
    result = run_python(*arguments, MYPYPATH=path, MYPY_CACHE_DIR=str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_mistakes_in_calls_are_found(tmp_path: Path) -> None:
    path = tmp_path / "calls.py"
    path.write_text(CALLS)
    result = run_python("-m", "mypy", "--config-file", str(PROJECT / "pyproject.toml"), str(path))
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
