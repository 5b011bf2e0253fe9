"""A model written in Python."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Unpack

import numpy as np

from .. import _native
from .._calls import Progress, settings_of
from .._errors import ConfigurationError, ModelError
from .._report import Report
from .._settings import OwnSettings
from .._table import Table
from ._base import Base, plain
from ._check import check, decorator
from ._graph import links_of, placement_of
from ._interpreter import Interpreted
from ._key import Key
from ._records import View, fields_of, filled, record_of, statistics_of, words_of
from ._session import MAY_DIFFER, OwnSession

_Handler = Callable[..., Any]


class Keywords(OwnSettings, total=False):
    """What ``run`` has beside the parameters, to be kept and given with ``**``."""

    states: Any
    lookahead: float | None
    links: Any
    placement: Any
    interpret: bool | None


class Model(Base):
    """A model: the records of an LP's state, of messages and of parameters, and its handlers.

    ::

        @wl.state
        class Node:
            handled: wl.i64

        @wl.message
        class Token:
            hops: wl.i64

        @wl.params
        class Params:
            mean: wl.f64

        model = wl.Model("ring", Node, Token, Params)

        @model.start
        def start(state, cx):
            cx.send(cx.me, cx.exponential(cx.model.mean))

        @model.handler
        def handle(state, msg, cx):
            state.handled += 1
            to = (cx.me + 1) % cx.lp_count
            cx.send(to, cx.exponential(cx.model.mean), hops=msg.hops + 1)

        report = model.run(Params(mean=1.0), lps=8, end=100, engine="timewarp", workers=2)
        print(report.states["handled"].sum())

    Handlers are compiled by Numba, and every engine runs them; without Numba, or with
    ``interpret=True``, the interpreter runs them on the sequential engine, with the same result.
    """

    _in_interpreter = ("sequential", "reverse-check", "saving-check")

    def __init__(
        self, name: str, state: type[Any], message: type[Any], params: type[Any]
    ) -> None:
        super().__init__(name, record_of(state, "state"), record_of(params, "params"))
        self._message = record_of(message, "message")
        self._handlers: dict[str, _Handler] = {}
        self._compiled: Any = None

    def _take(self, role: str, handler: _Handler) -> _Handler:
        check(handler, role, (self._state, self._message, self._params))
        self._handlers[role] = handler
        self._compiled = None
        return handler

    def start(self, handler: _Handler) -> _Handler:
        """``start(state, cx)`` sends the first events of an LP."""
        return self._take("start", handler)

    def handler(self, handler: _Handler) -> _Handler:
        """``handle(state, msg, cx)`` handles an event."""
        return self._take("handle", handler)

    def reverse(self, handler: _Handler) -> _Handler:
        """``reverse(state, msg, cx)`` undoes what the handler did to the state for this message,
        for ``saving="reverse"`` of Time Warp; ``engine="reverse-check"`` finds what it leaves out.
        Its random numbers are those that the handler drew, in the same order. ``cx.noted`` is the
        whole number that the handler left with ``cx.note``, ``cx.noted_float`` another one."""
        return self._take("reverse", handler)

    def run(
        self,
        params: Any = None,
        *,
        lps: int,
        states: Any = None,
        lookahead: float | None = None,
        links: Any = None,
        placement: Any = None,
        interpret: bool | None = None,
        progress: Progress = False,
        **own: Unpack[OwnSettings],
    ) -> Report:
        """Runs the model, and returns its report; ``report.states`` has the states at the end.

        Args:
            params: An instance of the record of parameters, or a mapping.
            lps: The number of LPs.
            states: The states at the beginning, an array with the ``dtype`` of the state's class
                and one record for each LP; zeros without it.
            lookahead: A promise: no event to another LP has a smaller delay.
            links: A promise: where LPs send to, for null messages. An array with a row for each
                link: sender, receiver, and the least delay of its events.
            placement: The worker of each LP, an array; or a name, as ``warpline run`` takes it.
            interpret: True to run the handlers in the interpreter, on the sequential engine.
            own: The settings: ``end``, ``engine``, ``workers``, ``seed``, ``precision`` and the
                other flags of ``warpline run``, with ``_`` in place of ``-``.

        Raises:
            ConfigurationError: a key or a value cannot be used.
            ModelError: a send cannot be admitted, such as an event into the past.
            Exception: whatever a handler raises, with LP, virtual time and event in a note; and
                whatever ``finish`` raises.
        """
        settings: dict[str, Any] = {**own}
        prepared = self._prepared(
            params,
            settings,
            lps=lps,
            states=states,
            lookahead=lookahead,
            links=links,
            placement=placement,
            interpret=interpret,
        )
        return self._run(_native.run_model, prepared, settings, progress, int(lps))

    def open(
        self, params: Any = None, *, lps: int, **keywords: Unpack[Keywords]
    ) -> ModelSession:
        """Opens the model for a run that goes on step by step, or, with ``resume``, goes on with a
        checkpoint of it. The arguments are those of :meth:`run`::

            with model.open({"mean": 1.0}, lps=8, end=100) as s:
                s.run_until(50)
                s.states["handled"].sum()
                s.inject(3, s.now, hops=0)
                slower = s.branch({"mean": 2.0})
                slower.run_until()
        """
        settings: dict[str, Any] = {**keywords}
        own = {key: settings.pop(key, None) for key in ("states", *MAY_DIFFER)}
        prepared = self._prepared(params, settings, lps=lps, **own)
        try:
            number = _native.session_open_model(prepared.written, settings_of(settings))
        except ModelError as error:
            raise prepared.own(error) from None
        return ModelSession(number, prepared)

    def _prepared(
        self,
        params: Any,
        settings: dict[str, Any],
        before: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> Prepared:
        """What a run needs; puts into the settings what follows from the other keywords. Those of a
        branch come after the settings of the session before."""
        base = before or {}
        for role in ("start", "handle"):
            if role not in self._handlers:
                raise ConfigurationError(f"the model has no handler `{decorator(role)}`")
        lps, links = keywords["lps"], keywords["links"]
        # A branch has them, whatever becomes of the caller's arrays.
        values = copy.deepcopy(self._values(params))
        whole, arrays = filled(self._params, values)
        if not isinstance(lps, int | np.integer) or lps < 1:
            raise ConfigurationError(f"`lps` is {lps!r}, but must be a whole number above 0")
        lps = int(lps)
        view = View(whole, arrays)
        records = (self._state, self._message)
        in_interpreter = Interpreted(self._handlers, records, view)
        in_force = {**base, **settings}
        is_interpreted = self._interprets(keywords["interpret"], in_force)
        if in_force.get("engine") != base.get("engine"):
            settings["engine"] = in_force["engine"]
        runner: Any = in_interpreter if is_interpreted else self.compiled()
        of_links = None if links is None else links_of(links, lps)
        initial = self._initial(keywords["states"], lps)
        # What ranks compare: not the record of parameters, which has addresses.
        fixed = {name: whole[name] for name in self._params.fields if name not in self._params.arrays}
        identity = Key()
        identity.add((runner.key, fixed, arrays, np.asarray(of_links or (), float), initial))
        written = SimpleNamespace(
            name=self.name,
            lps=lps,
            lookahead=keywords["lookahead"],
            links=of_links,
            start=runner.address("start"),
            handle=runner.address("handle"),
            reverse=runner.address("reverse") if self._reverses(in_force) else None,
            state_words=self._state.words,
            message_words=self._message.words,
            fields=fields_of(self._state),
            statistics=statistics_of(self._state),
            initial=initial,
            parameters=words_of(whole) or bytes(8),
            shown=json.dumps({name: plain(value) for name, value in values.items()}),
            identity=identity.digest(),
            finish=None if self._finish is None else self._results(view, lps),
        )
        settings["placement"] = placement_of(keywords["placement"], lps)
        in_force |= settings
        return Prepared(self, values, keywords, in_force, written, in_interpreter, runner)

    def replicate(
        self,
        params: Any = None,
        replications: int = 10,
        *,
        lps: int,
        progress: Progress = False,
        **keywords: Unpack[Keywords],
    ) -> Report:
        """Runs independent replications on all cores: ``results``, those of ``finish``, are means,
        and ``half_width_95`` half the widths of their 95 % confidence intervals. The keywords are
        those of ``run``; ``run(..., precision="5%")`` makes as many replications as it takes."""
        settings: dict[str, Any] = {**keywords, "replications": replications}
        return self.run(params, lps=lps, progress=progress, **settings)

    def sweep(
        self,
        params: Any = None,
        vary: Mapping[str, Iterable[Any]] | None = None,
        *,
        lps: int | None = None,
        progress: Progress = False,
        **keywords: Unpack[Keywords],
    ) -> Table:
        """Runs the model for every combination of the values of ``vary``, one after the other: of
        fields of the parameters, of ``lps``, and of other keywords of ``run``.

        One row per run, in order; the last key varies fastest. An interrupt (Ctrl-C) ends it, and
        the table has the rows that are done.

        ``model.sweep({"mean": 1.0}, {"mean": [0.5, 1.0], "seed": range(3)}, lps=64, end=100)``
        """
        return self._sweep(self.run, params, vary, progress, {"lps": lps, **keywords})

    def message_words(self, fields: dict[str, Any]) -> bytes:
        """A message with these fields, as words."""
        whole, _ = filled(self._message, fields)
        return words_of(whole) if self._message.fields else b""

    def compiled(self) -> Any:
        """The handlers, compiled. A run does this by itself; a call moves the time it takes."""
        if self._compiled is None:
            from ._cache import Cached

            records = (self._state, self._message, self._params)
            self._compiled = Cached(self._handlers, records)
        return self._compiled

    def _reverses(self, settings: dict[str, Any]) -> bool:
        """Whether the run needs the reverse handler, and there is one."""
        if "reverse" not in self._handlers:
            return False
        of_run = (settings.get("saving"), settings.get("engine"))
        return "reverse" in of_run or "reverse-check" in of_run

@dataclass
class Prepared:
    """A model with what a run of it needs, which lives as long as the run."""

    model: Model
    values: dict[str, Any]
    keywords: dict[str, Any]
    settings: dict[str, Any]
    #: What the native part reads, and the handlers, whose addresses are in it.
    written: SimpleNamespace
    in_interpreter: Interpreted
    runner: Any

    @property
    def lps(self) -> int:
        return int(self.written.lps)

    def own(self, error: ModelError) -> Exception:
        """The exception of the handler itself, if one has raised."""
        failure = getattr(error, "_failure", None)
        if failure is None:
            return error
        raised = self.in_interpreter.error
        if self.runner is not self.in_interpreter:
            raised = self.in_interpreter.repeat(failure, self.lps)
        if raised is None:
            return error
        raised.add_note(str(error))
        return raised


class ModelSession(OwnSession):
    """A session of a model written in Python, made by :meth:`Model.open`."""

    def inject(self, to: int, time: float, **fields: Any) -> None:
        """Sends an event from outside, with these fields of a message. It is as if ``to`` had sent it
        to itself now, so its place does not depend on the engine. ``time`` is ``now`` or later."""
        words = self._prepared.model.message_words(fields)
        _native.session_inject(self._number, to, float(time), words)
