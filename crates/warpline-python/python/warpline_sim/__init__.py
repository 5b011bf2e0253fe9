"""Warpline: parallel discrete-event simulation. One model, any engine, the same answer.

>>> import warpline_sim as wl
>>> report = wl.run("phold", lps=64, population=256, end=100)
>>> report.digest == wl.run("phold", lps=64, population=256, end=100, engine="sequential").digest
True
"""

from typing import TYPE_CHECKING, Any

from ._calls import info, replicate, run, sweep
from ._errors import (
    ConfigurationError,
    DifferenceFound,
    ModelError,
    OutOfMemory,
    WarplineError,
)
from ._lab import Findings, figures, lab
from ._report import Report
from ._session import Session, open
from ._settings import EngineName, ModelName, RunSettings
from ._table import Table

if TYPE_CHECKING:
    # What numbers are to handlers in the interpreter, and to whoever gives them.
    from builtins import float as f32
    from builtins import float as f64
    from builtins import int as i8
    from builtins import int as i16
    from builtins import int as i32
    from builtins import int as i64
    from builtins import int as u8
    from builtins import int as u16
    from builtins import int as u32
    from builtins import int as u64

    from ._models._laws import discrete, empirical
    from ._models._model import Model
    from ._models._records import Array, message, params, state
    from ._models._statistics import Counter, Level, Tally, add_level, count, set_level, tally
    from ._processes._world import World

__all__ = [
    "Array",
    "Model",
    "ConfigurationError",
    "Counter",
    "DifferenceFound",
    "EngineName",
    "Findings",
    "Level",
    "ModelError",
    "ModelName",
    "OutOfMemory",
    "Report",
    "RunSettings",
    "Session",
    "Table",
    "Tally",
    "WarplineError",
    "World",
    "add_level",
    "count",
    "discrete",
    "empirical",
    "f32",
    "f64",
    "figures",
    "i16",
    "i32",
    "i64",
    "i8",
    "info",
    "lab",
    "message",
    "open",
    "params",
    "replicate",
    "run",
    "set_level",
    "state",
    "sweep",
    "tally",
    "u16",
    "u32",
    "u64",
    "u8",
]


_STATISTICS = ("Counter", "Level", "Tally", "add_level", "count", "set_level", "tally")


def __getattr__(name: str) -> Any:
    """What models need comes with NumPy, which takes longer to load than all else here."""
    if name in __all__:
        from ._models import _laws, _model, _records, _statistics
        from ._processes import _world

        modules: dict[str, Any] = {"Model": _model, "World": _world}
        modules |= {"discrete": _laws, "empirical": _laws}
        home = _statistics if name in _STATISTICS else modules.get(name, _records)
        return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
