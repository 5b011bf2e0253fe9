"""Sessions of worlds: `World.open`."""

from __future__ import annotations

import os
from typing import Any, Self

from .. import _native
from .._errors import ConfigurationError
from .._models._session import OwnSession
from ._facilities import Process
from ._interpreter import Interpreted, first_words

#: Why a world in the interpreter is neither copied nor written.
NO_COPY = (
    "the interpreter runs the processes as generators of Python, which cannot be copied: leave "
    "interpret=True out, and install Numba (pip install warpline-sim[models])"
)


class WorldSession(OwnSession):
    """A session of a world, made by :meth:`World.open`."""

    _native_branch = "session_branch_world"
    _fixed = ("sites", "states")

    def branch(self, params: Any = None, **changes: Any) -> Self:
        """Another session that goes on from here: the same sites, processes and random streams.
        Parameters that are given differ, and settings and keywords of :meth:`World.open`, but the
        number of sites, their records, what facilities have, and the seed."""
        self._refuse_generators("has no branch")
        return super().branch(params, **changes)

    def save(self, checkpoint: str | os.PathLike[str]) -> None:
        """Writes a checkpoint, from which :meth:`World.open` and :meth:`World.run` go on with
        ``resume``: with the same processes, because one that waits is a place in its code."""
        self._refuse_generators("is not written to a checkpoint")
        super().save(checkpoint)

    def _refuse_generators(self, what: str) -> None:
        if isinstance(self._prepared.runner, Interpreted):
            raise ConfigurationError(f"`{self._model}` {what}: {NO_COPY}")

    def spawn_at(
        self, site: int, time: float, process: Process, *values: Any, **named: Any
    ) -> None:
        """Lets a process begin at a site, from outside. ``time`` is :attr:`now` or later; what is
        behind ``process`` are its arguments."""
        world = self._prepared.model
        if not isinstance(process, Process) or not world.has(process):
            raise ConfigurationError(
                f"spawn_at takes a process of `{world.name}`, but gets {process!r:.60}"
            )
        try:
            words = first_words(process, process.ordered(values, named))
        except TypeError as error:
            raise ConfigurationError(str(error)) from None
        _native.session_spawn(self._number, site, float(time), process.number, words)
