from _typeshed import Incomplete, SupportsGetItem, SupportsLenAndGetItem
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex

__all__ = [
    "VERSION",
    "arrow_stream",
    "constants_layout",
    "describe",
    "discrete",
    "draw",
    "empirical",
    "exponential",
    "figures",
    "keywords",
    "lab",
    "laws",
    "layout",
    "main",
    "page",
    "process_layout",
    "run",
    "run_model",
    "run_world",
    "session_branch",
    "session_branch_model",
    "session_branch_world",
    "session_close",
    "session_inject",
    "session_open",
    "session_open_model",
    "session_open_world",
    "session_report",
    "session_run",
    "session_save",
    "session_spawn",
    "session_state",
    "session_states",
    "session_times",
    "sweep",
]

_Weights = SupportsGetItem[int, SupportsFloat | SupportsIndex]
_Parameters = SupportsLenAndGetItem[SupportsFloat | SupportsIndex]
_Settings = SupportsGetItem[int, tuple[str, bool | SupportsIndex | SupportsFloat | str]]
_Vary = SupportsGetItem[int, tuple[str, SupportsGetItem[int, str]]]

VERSION: Final[str]

def arrow_stream(columns: str) -> object:
    """A capsule with a stream of one batch: these columns, in order, each with its cells as
    JSON."""

def constants_layout() -> dict[str, int]:
    """Where the fields are of what is the same in all calls, in bytes."""

def describe(model: str | None = None) -> str:
    """What `warpline info` says of a model, or of all, as JSON."""

def discrete(weights: _Weights) -> list[float]:
    """The table of a distribution with these weights: the number of columns, negative, and of each
    column the part that is its own, and the number that the rest belongs to."""

def draw(
    law: SupportsIndex,
    parameters: _Parameters,
    low: SupportsIndex,
    high: SupportsIndex,
) -> tuple[int, int, int]:
    """Draws from a distribution, given by its place, with the stream with these words; returns the
    bits of the number, and the words after it."""

def empirical(observations: _Weights) -> list[float]:
    """The table of the distribution of observations: their number and one half, negative, and the
    observations, sorted."""

def exponential(low: SupportsIndex, high: SupportsIndex) -> tuple[float, int, int]:
    """Draws an exponential number with mean 1 from the stream with these words; returns it, and the
    words after it."""

def figures() -> str:
    """The figures of the laboratory, as JSON."""

def keywords() -> str:
    """The keywords of all calls, as JSON."""

def lab(figure: str, settings: _Settings, progress: Any | None) -> list[Path]:
    """Measures a figure of the laboratory, and returns the paths of its files; none if it was
    interrupted."""

def laws() -> list[tuple[str, list[str], bool]]:
    """The distributions that `draw` draws from, in their order: the name, the names of the
    parameters, and whether a number is whole."""

def layout() -> dict[str, int]:
    """Where the fields of a handler's context are, in bytes."""

def main(words: SupportsGetItem[int, str]) -> int:
    """Carries out a command line of `warpline`, and returns its exit status."""

def page(report: str) -> str:
    """The page of a report, which is JSON as `run` returns it."""

def process_layout() -> dict[str, int]:
    """Where the fields of a process's context are, in bytes."""

def run(model: str, settings: _Settings, progress: Any | None) -> str:
    """Runs a model, and returns its report as JSON."""

def run_model(model: Incomplete, settings: _Settings, progress: Any | None) -> tuple[str, bytes]:
    """Runs a model, and returns its report as JSON, and the states at its end."""

def run_world(world: Incomplete, settings: _Settings, progress: Any | None) -> tuple[str, bytes]:
    """Runs a world, and returns its report as JSON, and the sites at its end."""

def session_branch(session: SupportsIndex, changes: _Settings) -> int:
    """Another session that goes on from here, with these settings changed; returns its number."""

def session_branch_model(session: SupportsIndex, model: Incomplete, changes: _Settings) -> int:
    """The same for a session of a model that Python has written; the branch goes on as this one."""

def session_branch_world(session: SupportsIndex, world: Incomplete, changes: _Settings) -> int:
    """The same for a session of a world."""

def session_close(session: SupportsIndex) -> None:
    """Closes a session; one that is closed stays so."""

def session_inject(
    session: SupportsIndex,
    to: SupportsIndex,
    time: SupportsFloat | SupportsIndex,
    message: SupportsGetItem[int, SupportsIndex],
) -> None:
    """Sends an event from outside to an LP of such a model, with the words of a message."""

def session_open(model: str, settings: _Settings) -> int:
    """Opens a model, or goes on with a checkpoint of it; returns the number of the session."""

def session_open_model(model: Incomplete, settings: _Settings) -> int:
    """Opens a model that Python has written."""

def session_open_world(world: Incomplete, settings: _Settings) -> int:
    """Opens a world that Python has written."""

def session_report(session: SupportsIndex) -> str:
    """The report of the run up to now, as JSON."""

def session_run(
    session: SupportsIndex,
    until: SupportsFloat | SupportsIndex | None,
    progress: Any | None,
) -> None:
    """Goes on to a virtual time, or to the end of the run."""

def session_save(session: SupportsIndex, checkpoint: str | PathLike[str]) -> None:
    """Writes a checkpoint."""

def session_spawn(
    session: SupportsIndex,
    to: SupportsIndex,
    time: SupportsFloat | SupportsIndex,
    kind: SupportsIndex,
    process: SupportsGetItem[int, SupportsIndex],
) -> None:
    """Lets a process of this kind begin at a site of a world, from outside, with these words."""

def session_state(session: SupportsIndex, lp: SupportsIndex) -> str:
    """The text of an LP's state."""

def session_states(session: SupportsIndex) -> bytes:
    """The states of all LPs of a model that Python has written, one after the other."""

def session_times(session: SupportsIndex) -> tuple[float, float | None]:
    """The virtual time of a session, and that of its next event."""

def sweep(model: str, vary: _Vary, settings: _Settings, progress: Any | None) -> str:
    """Runs a model for every combination of the values of `vary`, and returns the rows as JSON."""
