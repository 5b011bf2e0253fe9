"""Sessions: a run that stops, is looked at, and goes on; ``open``."""

from __future__ import annotations

import json
import os
import weakref
from types import TracebackType
from typing import Any, Self, Unpack

from . import _native, _progress
from ._calls import Progress, settings_of
from ._report import Report
from ._settings import ModelName, RunSettings


class Session:
    """A run of a model that goes on step by step.

    Made by :func:`open`, and by :meth:`branch`. It is closed at the end of a ``with`` block, or when
    it is not used any more::

        with wl.open("pcs", channels=10) as s:
            s.run_until(60)
            print(s.results["blocking_probability"])
            fewer = s.branch(channels=8)
            for future in s, fewer:
                future.run_until(120)
                print(future.results["blocking_probability"])
    """

    def __init__(self, number: int, model: str) -> None:
        self._number, self._model = number, model
        self._close = weakref.finalize(self, _native.session_close, number)

    def run_until(self, time: float | None = None, *, progress: Progress = False) -> None:
        """Handles all events that are due before ``time``, or before the end of the run.

        The interpreter is free meanwhile. An interrupt (Ctrl-C) ends the step where it is; the
        session can go on from there.
        """
        with _progress.shown(progress, self._model) as show:
            _native.session_run(self._number, None if time is None else float(time), show)

    @property
    def now(self) -> float:
        """The virtual time up to which all events are committed."""
        return _native.session_times(self._number)[0]

    @property
    def next_event_time(self) -> float | None:
        """The virtual time of the next event; ``None`` if there is none."""
        return _native.session_times(self._number)[1]

    def report(self) -> Report:
        """The report of the run up to now, as if it ended here."""
        return Report.from_dict(json.loads(_native.session_report(self._number)))

    @property
    def results(self) -> dict[str, Any]:
        """The results of the run up to now."""
        return dict(self.report().results)

    def state(self, lp: int) -> str:
        """The state of an LP, as text."""
        return _native.session_state(self._number, lp)

    def branch(self, **changes: Unpack[RunSettings]) -> Session:
        """Another session that goes on from here: the same states, pending events and random
        streams. Settings that are given differ: the engine, or parameters of the model that may
        differ between branches."""
        return Session(_native.session_branch(self._number, settings_of(changes)), self._model)

    def save(self, checkpoint: str | os.PathLike[str]) -> None:
        """Writes a checkpoint, from which :func:`open` and ``warpline run --resume`` go on."""
        _native.session_save(self._number, os.fspath(checkpoint))

    def close(self) -> None:
        """Lets go of the states. A session that is closed cannot be used any more."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._close.alive:
            return f"<Session of {self._model}, closed>"
        return f"<Session of {self._model} at {self.now:g}>"


def open(model: ModelName, **settings: Unpack[RunSettings]) -> Session:
    """Opens a model for a run that goes on step by step, or, with ``resume``, goes on with a
    checkpoint of it.

    The settings are those of :func:`run`.
    """
    return Session(_native.session_open(model, settings_of(settings)), model)
