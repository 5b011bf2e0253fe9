"""Sessions of what Python has written: models of events, and worlds of processes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from .. import _native
from .._calls import Progress, settings_of
from .._errors import ConfigurationError, ModelError
from .._report import Report
from .._session import Session

#: The keywords of a model or a world that may differ in a branch of a session.
MAY_DIFFER = ("lookahead", "links", "placement", "interpret")


class OwnSession(Session):
    """A session of a model or a world written in Python."""

    #: What makes a branch, and what a branch cannot change.
    _native_branch = "session_branch_model"
    _fixed: tuple[str, ...] = ("lps", "states")

    def __init__(self, number: int, prepared: Any) -> None:
        super().__init__(number, prepared.model.name)
        self._prepared = prepared

    def run_until(self, time: float | None = None, *, progress: Progress = False) -> None:
        """Handles all events that are due before ``time``, or before the end of the run.

        Raises:
            Exception: whatever a handler or a process raises, with its place, virtual time and
                event in a note. The session has no state any more then.
        """
        try:
            super().run_until(time, progress=progress)
        except ModelError as error:
            raise self._prepared.own(error) from None

    @property
    def states(self) -> Any:
        """The states of all LPs, or the records of all sites: an array of records, a copy of the
        session's own."""
        return self._prepared.model.read(_native.session_states(self._number), self._prepared.lps)

    def report(self) -> Report:
        """The report of the run up to now, as if it ended here, with the states."""
        return replace(super().report(), states=self.states)

    def branch(self, params: Any = None, **changes: Any) -> Self:
        """Another session that goes on from here: the same states, pending events and random
        streams. Parameters that are given differ, and settings and keywords of ``open``, but the
        number of LPs or sites, the states and the seed."""
        for key in self._fixed:
            if key in changes:
                raise ConfigurationError(
                    f"{key} cannot differ in a branch: it goes on with what is there"
                )
        given = {key: changes.pop(key) for key in MAY_DIFFER if key in changes}
        prepared = self._prepared.model.prepared_for(self._prepared, params, changes, given)
        branch = getattr(_native, self._native_branch)
        try:
            number = branch(self._number, prepared.written, settings_of(changes))
        except ModelError as error:
            raise prepared.own(error) from None
        return type(self)(number, prepared)
