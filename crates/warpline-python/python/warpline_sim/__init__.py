"""Warpline: parallel discrete-event simulation. One model, any engine, the same answer.

>>> import warpline_sim as wl
>>> report = wl.run("phold", lps=64, population=256, end=100)
>>> report.digest == wl.run("phold", lps=64, population=256, end=100, engine="sequential").digest
True
"""

from ._calls import info, replicate, run, sweep
from ._errors import (
    ConfigurationError,
    DifferenceFound,
    ModelError,
    OutOfMemory,
    WarplineError,
)
from ._report import Report
from ._table import Table

__all__ = [
    "ConfigurationError",
    "DifferenceFound",
    "ModelError",
    "OutOfMemory",
    "Report",
    "Table",
    "WarplineError",
    "info",
    "replicate",
    "run",
    "sweep",
]
