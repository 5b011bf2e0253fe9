from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = [
    "VERSION",
    "arrow_stream",
    "describe",
    "exponential",
    "figures",
    "lab",
    "layout",
    "main",
    "page",
    "run",
    "run_model",
    "sweep",
]

VERSION: str

_Settings = list[tuple[str, bool | int | float | str]]
_Progress = Callable[[float, str], object] | None

def run(model: str, settings: _Settings, progress: _Progress) -> str: ...
def sweep(
    model: str, vary: list[tuple[str, list[str]]], settings: _Settings, progress: _Progress
) -> str: ...
def lab(figure: str, settings: _Settings, progress: _Progress) -> list[Path]: ...
def figures() -> str: ...
def describe(model: str | None = None) -> str: ...
def page(report: str) -> str: ...
def main(words: list[str]) -> int: ...
def arrow_stream(columns: str) -> Any: ...
def layout() -> dict[str, int]: ...
def exponential(low: int, high: int) -> tuple[float, int, int]: ...
def run_model(model: object, settings: _Settings, progress: _Progress) -> tuple[str, bytes]: ...
