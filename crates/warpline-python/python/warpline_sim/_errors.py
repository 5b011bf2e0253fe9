"""Exceptions: what happened, where, and what to do."""

from __future__ import annotations

import json
from typing import Any

from ._report import Report
from ._table import Table


class WarplineError(Exception):
    """A run, or a call, that failed.

    All fields are ``None`` where they are not known.

    Attributes:
        kind: ``"configuration"``, ``"run"``, ``"model"``, ``"memory"``, ``"rank"``, ``"network"``
            or ``"difference"``.
        lp: The number of the LP that was active.
        virtual_time: When, in virtual time.
        event: The key of the event that it handled.
        engine: The engine, as ``engine=`` takes it.
        worker: The worker within the engine.
        seed: The seed of the run.
        advice: What to do.
        report: The report, if the run came to its end: what failed is a file beside it, as
            ``trace=``, or the comparison of ``verify=True``.
        table: The rows of a sweep whose other runs failed.
    """

    #: The kind of error if nothing else is said.
    _kind = "run"

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        lp: int | None = None,
        virtual_time: float | None = None,
        event: str | None = None,
        engine: str | None = None,
        worker: int | None = None,
        seed: int | None = None,
        advice: str | None = None,
        report: Report | None = None,
        table: Table | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind or self._kind
        self.lp = lp
        self.virtual_time = virtual_time
        self.event = event
        self.engine = engine
        self.worker = worker
        self.seed = seed
        self.advice = advice
        self.report = report
        self.table = table

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), str(self), dict(self.__dict__))


class ConfigurationError(WarplineError, ValueError):
    """A key, a value or a file that cannot be used; nothing has run."""

    _kind = "configuration"


class ModelError(WarplineError):
    """The model made a mistake, such as an event into the past."""

    _kind = "model"


class OutOfMemory(WarplineError, MemoryError):
    """The pending events need more memory than ``memory=`` allows."""

    _kind = "memory"


class DifferenceFound(WarplineError):
    """``verify=True`` found that two runs committed different things."""

    _kind = "difference"


_CLASSES: dict[str, type[WarplineError]] = {
    cls._kind: cls for cls in (ConfigurationError, ModelError, OutOfMemory, DifferenceFound)
}


def make(
    kind: str, message: str, place: str, advice: str | None, report: str | None
) -> WarplineError:
    """The exception for an error of the native part; ``place`` and ``report`` are JSON."""
    found = None if report is None else json.loads(report)
    return _CLASSES.get(kind, WarplineError)(
        message,
        kind=kind,
        advice=advice,
        report=Report.from_dict(found) if isinstance(found, dict) else None,
        table=Table(found) if isinstance(found, list) else None,
        **json.loads(place),
    )


def _rebuilt(cls: type[WarplineError], message: str, fields: dict[str, Any]) -> WarplineError:
    return cls(message, **fields)
