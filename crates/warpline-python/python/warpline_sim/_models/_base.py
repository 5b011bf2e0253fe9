"""What models of events and worlds of processes share: parameters, records of LPs, results."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import importlib.util
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from .. import _progress
from .._calls import Progress, choices, settings_of
from .._errors import ConfigurationError, ModelError
from .._report import Report
from .._table import Table
from ._records import Record, View


class Base:
    """A model, of one kind or the other."""

    #: The engines that the interpreter runs on: it is one thread.
    _in_interpreter: tuple[str, ...] = ("sequential",)

    def __init__(self, name: str, state: Record, params: Record) -> None:
        self.name = name
        self._state, self._params = state, params
        self._finish: Callable[..., Mapping[str, float]] | None = None

    def _prepared(
        self,
        params: Any,
        settings: dict[str, Any],
        before: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> Any:
        """What a run needs; puts into the settings what follows from the other keywords. Those of a
        branch come after the settings of the session before."""
        raise NotImplementedError

    def prepared_for(
        self, base: Any, params: Any, settings: dict[str, Any], given: Mapping[str, Any]
    ) -> Any:
        """What a branch of a session needs: the parameters and keywords that are not given are those
        before it."""
        values = {} if params is None else params
        values = dict(values if isinstance(values, Mapping) else vars(values))
        keywords = {**base.keywords, **given}
        return self._prepared(base.values | values, settings, base.settings, **keywords)

    def finish(self, finish: Callable[..., Mapping[str, float]]) -> Any:
        """``finish(states, params, end)`` computes the results of a run, in the interpreter: from
        the states of all LPs, an array of records, to numbers by name."""
        self._finish = finish
        return finish

    def _run(
        self,
        native: Callable[..., tuple[str, bytes]],
        prepared: Any,
        settings: dict[str, Any],
        progress: Progress,
        lps: int,
    ) -> Report:
        """Runs what was prepared, by this function of the native module."""
        try:
            with _progress.shown(progress, self.name) as show:
                told, final = native(prepared.written, settings_of(settings), show)
        except ModelError as error:
            raise prepared.own(error) from None
        report = Report.from_dict(json.loads(told))
        # Of several runs there are several.
        several = report.half_width_95 is not None
        return replace(report, states=None if several else self.read(final, lps))

    def _sweep(
        self,
        run: Callable[..., Report],
        params: Any,
        vary: Mapping[str, Iterable[Any]] | None,
        progress: Progress,
        keywords: dict[str, Any],
    ) -> Table:
        """Runs the model for every combination of values."""
        varied = {key: choices(values) for key, values in (vary or {}).items()}
        fields = [name for name in varied if name in self._params.fields]
        base = self._values(params)
        points = list(itertools.product(*varied.values()))
        rows = []
        with _progress.shown(progress, self.name) as show:
            for number, point in enumerate(points):
                chosen = dict(zip(varied, point, strict=True))
                own = {name: chosen[name] for name in fields}
                more = {name: value for name, value in chosen.items() if name not in fields}
                report = run(base | own, **{**keywords, **more})
                if report.interrupted:
                    break
                cells = {key: plain(value) for key, value in chosen.items()}
                rows.append(cells | _row(report))
                if show is not None:
                    show((number + 1) / len(points), f"{number + 1} of {len(points)} runs")
        return Table(rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the records of ``report.states``, and of ``states=`` of a run."""
        return self._state.dtype

    def _values(self, params: Any) -> dict[str, Any]:
        """The parameters by name, those that have a value."""
        given = {} if params is None else params
        return self._params.defaults | dict(given if isinstance(given, Mapping) else vars(given))

    def _results(
        self, view: View, lps: int
    ) -> Callable[[bytes, float], list[tuple[str, float, bool]]]:
        """What computes the results of a run from the states at its end: each with its name, and
        whether it is a whole number, which stays one."""
        finish = self._finish
        assert finish is not None

        def results(final: bytes, end: float) -> list[tuple[str, float, bool]]:
            told = finish(self.read(final, lps), view, end)
            return [
                (name, float(value), isinstance(value, Integral)) for name, value in told.items()
            ]

        return results

    def _interprets(self, asked: bool | None, settings: dict[str, Any]) -> bool:
        if asked is False:
            return False
        if not asked and importlib.util.find_spec("numba") is not None:
            return False
        engine = settings.setdefault("engine", "sequential")
        if engine not in self._in_interpreter:
            why = "with interpret=True" if asked else "without Numba (pip install warpline-sim[models])"
            allowed = " or ".join(map(repr, self._in_interpreter))
            raise ConfigurationError(f"`engine` is {engine!r}, but must be {allowed} {why}")
        return True

    def _initial(self, states: Any, lps: int) -> bytes:
        if states is None:
            return bytes(8 * self._state.words * lps)
        array = np.asarray(states)
        if array.dtype != self._state.dtype or array.shape != (lps,):
            raise ConfigurationError(
                f"`states` is an array {array.shape} of {array.dtype}, but must be one of "
                f"({lps},) with the dtype of the state, {self._state.dtype}"
            )
        rows = np.zeros((lps, 8 * self._state.words), np.uint8)
        rows[:, : array.dtype.itemsize] = np.ascontiguousarray(array).view(np.uint8).reshape(
            lps, -1
        )
        return rows.tobytes()

    def read(self, final: bytes, lps: int) -> Any:
        """The states of all LPs from their words, as an array of records."""
        if not self._state.fields:
            return np.zeros(lps, self._state.dtype)
        rows = np.frombuffer(final, np.uint8).reshape(lps, -1)
        rows = np.ascontiguousarray(rows[:, : self._state.dtype.itemsize])
        return rows.view(self._state.dtype)[:, 0]


def _row(report: Report) -> dict[str, Any]:
    """A run as a row of a table: its results, and what else is a single value."""
    told = report.to_dict()
    single = {key: value for key, value in told.items() if not isinstance(value, dict | list)}
    widths = {f"{name}_half_width_95": of for name, of in (report.half_width_95 or {}).items()}
    return dict(report.results) | widths | single


def plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    array = np.asarray(value)
    if array.size > 16:
        return f"{array.size} numbers"
    plain = array.tolist()
    if isinstance(plain, float) and not math.isfinite(plain):
        return str(plain)
    return plain
