"""The types: mypy accepts the package, and the stubs of the native part are what it has."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent


def check(*command: str) -> None:
    told = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_package_is_typed() -> None:
    source = PROJECT / "python" / "warpline_sim"
    check("mypy", "--config-file", str(PROJECT / "pyproject.toml"), str(source))


def test_stubs_are_those_of_the_native_part() -> None:
    config = str(PROJECT / "pyproject.toml")
    check("mypy.stubtest", "--mypy-config-file", config, "warpline_sim._native")
