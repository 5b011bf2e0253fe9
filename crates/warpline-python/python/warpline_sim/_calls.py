"""Calls: ``run``, ``replicate``, ``sweep`` and ``info``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

from . import _native, _progress
from ._report import Report
from ._settings import ModelName, ReplicateSettings, RunSettings, SweepSettings
from ._table import Table

#: ``True`` for a bar (if tqdm is installed), or a function that is called with the part that is
#: done, from 0 to 1, and a text.
Progress = bool | Callable[[float, str], object]


def _word(value: Any) -> Any:
    """A value as the native part takes it."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # a number or an array of NumPy
        return _word(value.tolist())
    if isinstance(value, Sequence):
        return ",".join(str(_word(item)) for item in value)
    return str(value)


def choices(values: Iterable[Any]) -> list[Any]:
    """The values of something that is varied. A text is one of them, as the command reads it (a
    list, or a range such as "1:5"), and no list of letters."""
    return [values] if isinstance(values, str) else list(values)


def settings_of(keywords: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Keywords as the native part takes them."""
    return [(key, _word(value)) for key, value in keywords.items() if value is not None]


def run(model: ModelName, *, progress: Progress = False, **settings: Unpack[RunSettings]) -> Report:
    """Runs a model, and returns its report.

    The settings are the flags of ``warpline run MODEL``, with ``_`` in place of ``-``::

        wl.run("pcs", end=4320, engine="timewarp", workers=2, channels=12)

    The interpreter is free while it runs. An interrupt (Ctrl-C) ends the run, and the report is of
    what was done so far: ``report.interrupted``.

    Raises:
        ConfigurationError: a key or a value cannot be used.
        WarplineError: the run failed, with LP, virtual time, engine, worker and seed.
    """
    with _progress.shown(progress, model) as show:
        return Report.from_dict(json.loads(_native.run(model, settings_of(settings), show)))


def replicate(
    model: ModelName,
    replications: int,
    *,
    progress: Progress = False,
    **settings: Unpack[ReplicateSettings],
) -> Report:
    """Runs independent replications on all cores: ``results`` are means, and ``half_width_95``
    half the widths of their 95 % confidence intervals."""
    return run(model, progress=progress, replications=replications, **settings)


def sweep(
    model: ModelName,
    vary: Mapping[str, Iterable[Any]],
    *,
    progress: Progress = False,
    **settings: Unpack[SweepSettings],
) -> Table:
    """Runs a model for every combination of the values of ``vary``, several at a time.

    One row per run, in order; the last key varies fastest. An interrupt (Ctrl-C) ends it, and the
    table has the rows that are done.

    ``wl.sweep("pcs", {"channels": range(8, 13), "seed": [1, 2]}, end=300)``

    A text has values as the command takes them: ``{"channels": "8:12"}``.
    """
    def text(value: Any) -> str:
        word = _word(value)
        return ("on" if word else "off") if isinstance(word, bool) else str(word)

    values = [(key, [text(value) for value in choices(some)]) for key, some in vary.items()]
    with _progress.shown(progress, model) as show:
        return Table(json.loads(_native.sweep(model, values, settings_of(settings), show)))


def info(model: ModelName | None = None) -> Any:
    """What a model's parameters, results and workloads are; without one, a list of all."""
    return json.loads(_native.describe(model))
