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
from ._table import Table

if TYPE_CHECKING:
    from ._models._model import Model
    from ._models._records import (
        Array,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        message,
        params,
        state,
        u8,
        u16,
        u32,
        u64,
    )

__all__ = [
    "Array",
    "Model",
    "ConfigurationError",
    "DifferenceFound",
    "Findings",
    "ModelError",
    "OutOfMemory",
    "Report",
    "Table",
    "WarplineError",
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
    "params",
    "replicate",
    "run",
    "state",
    "sweep",
    "u16",
    "u32",
    "u64",
    "u8",
]


def __getattr__(name: str) -> Any:
    """What models need comes with NumPy, which takes longer to load than all else here."""
    if name in __all__:
        from ._models import _model, _records

        return getattr(_model if name == "Model" else _records, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
