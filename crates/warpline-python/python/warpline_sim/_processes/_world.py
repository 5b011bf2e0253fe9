"""A world written in Python: sites, and processes that hold, queue and travel."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import copy
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar, Unpack

import numpy as np

from .. import _native
from .._calls import Progress, settings_of
from .._errors import ConfigurationError, ModelError
from .._models._base import Base, plain
from .._models._graph import links_of, placement_of
from .._models._key import Key
from .._models._model import Keywords
from .._models._records import Record, View, filled, record_of, statistics_of, words_of
from .._models._session import MAY_DIFFER
from .._report import Report
from .._settings import OwnSettings
from .._table import Table
from ._check import check_process
from ._facilities import (
    Amount,
    BoundedStore,
    Condition,
    Container,
    Facility,
    PreemptiveResource,
    Process,
    Resource,
    Resources,
    Store,
)
from ._interpreter import Interpreted
from ._session import NO_COPY, WorldSession

_Facility = TypeVar("_Facility", bound=Facility)
_NOTHING = Record("nothing", np.dtype([]), {})
#: The settings of runs that stop and go on.
_WRITTEN = ("resume", "checkpoint", "checkpoint_every")


class World(Base):
    """A world: sites, with a record each, and processes there.

    ::

        @wl.state
        class Branch:
            waits: wl.Tally

        @wl.params
        class Params:
            tellers: wl.i64
            interarrival: wl.f64
            service: wl.f64

        world = wl.World("bank", site=Branch, params=Params)
        TELLER = world.resource("teller", lambda p, site: p.tellers)

        @world.process
        def customer(env):
            arrived = env.now
            yield env.acquire(TELLER)
            wl.tally(env.site.waits, env.now - arrived)
            yield env.hold(env.exponential(env.params.service))
            env.release(TELLER)

        @world.process
        def arrivals(env):
            while True:
                yield env.hold(env.exponential(env.params.interarrival))
                env.spawn(customer)

        world.start(lambda env: env.spawn(arrivals))
        report = world.run(Params(tellers=5, interarrival=0.25, service=1.0), sites=64, end=1000)

    A process is a generator: what it yields is what it waits for. Numba compiles it to a few bytes
    that every engine copies, undoes and sends; without Numba, or with ``interpret=True``, the
    interpreter runs it on the sequential engine, with the same result.
    """

    def __init__(
        self,
        name: str,
        site: type[Any] | None = None,
        params: type[Any] | None = None,
        *,
        event_log: bool = False,
    ) -> None:
        """With ``event_log``, what happens to each process is told to the event log that a run may
        write. That are events, too, of a run with a log and of one without."""
        of_site = _NOTHING if site is None else record_of(site, "state")
        super().__init__(name, of_site, _NOTHING if params is None else record_of(params, "params"))
        self._facilities: list[Facility] = []
        self._processes: list[Process] = []
        self._start: Callable[..., Any] | None = None
        self._compiled: Any = None
        self._is_logged = event_log

    # What it has.

    def has(self, process: Process) -> bool:
        """Whether a process is one of this world."""
        return any(process is other for other in self._processes)

    def resource(self, name: str, units: Amount = 1, *, preemptive: bool = False) -> Resource:
        """So many equal units at each site: a number, or a function of the parameters and the
        number of the site, as ``lambda p, site: p.tellers``; a site for which that is ``None`` has
        no such resource. With ``preemptive``,
        ``env.acquire(…, preempt=True)`` takes a unit from a process with a lower priority."""
        kind = PreemptiveResource if preemptive else Resource
        return self._add(kind(name, len(self._facilities), units))

    def resources(
        self,
        names: Iterable[str],
        units: Amount | Iterable[Amount] = 1,
        *,
        preemptive: bool = False,
    ) -> Resources:
        """Several resources with these names, of which a process takes one by its number, as
        ``env.acquire(SERVERS[place])``. ``units`` is that of all, or what each has."""
        names = list(names)
        each = list(units) if isinstance(units, Iterable) else [units] * len(names)
        if not names or len(each) != len(names):
            raise ConfigurationError(
                f"there are {len(names)} names of resources and {len(each)} numbers of units, but "
                "each name must have one, and there must be a name"
            )
        pairs = zip(names, each, strict=True)
        return Resources([self.resource(name, of, preemptive=preemptive) for name, of in pairs])

    def store(self, name: str, capacity: Amount = math.inf) -> Store:
        """Items at each site, numbers, for at most so many of them."""
        kind = Store if capacity == math.inf else BoundedStore
        return self._add(kind(name, len(self._facilities), capacity))

    def container(
        self, name: str, capacity: Amount = math.inf, amount: Amount = 0.0
    ) -> Container:
        """An amount at each site: at most ``capacity``, and ``amount`` at the beginning."""
        return self._add(Container(name, len(self._facilities), capacity, amount))

    def condition(self, name: str) -> Condition:
        """A condition at each site, which processes wait for and signal."""
        return self._add(Condition(name, len(self._facilities), 0.0))

    def _add(self, facility: _Facility) -> _Facility:
        if any(other.name == facility.name for other in self._facilities):
            raise ConfigurationError(f"the world has two facilities `{facility.name}`")
        self._facilities.append(facility)
        self._compiled = None
        return facility

    def process(self, function: Callable[..., Any]) -> Process:
        """``process(env, …)`` is a generator: each ``yield`` is a wait. Its arguments behind
        ``env`` are numbers, and have types: ``patience: wl.f64``."""
        process = Process(function, len(self._processes))
        check_process(function, self._state, self._params, is_process=True)
        self._processes.append(process)
        self._compiled = None
        return process

    def start(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``start(env)`` spawns the first processes of a site, at time zero."""
        check_process(function, self._state, self._params, is_process=False)
        self._start = function
        self._compiled = None
        return function

    # Runs.

    def run(
        self,
        params: Any = None,
        *,
        sites: int = 1,
        states: Any = None,
        lookahead: float | None = None,
        links: Any = None,
        placement: Any = None,
        interpret: bool | None = None,
        event_log: str | os.PathLike[str] | None = None,
        progress: Progress = False,
        **own: Unpack[OwnSettings],
    ) -> Report:
        """Runs the world, and returns its report; ``report.states`` has the sites at the end.

        Args:
            params: An instance of the record of parameters, or a mapping.
            sites: The number of sites.
            states: The records of the sites at the beginning; zeros without it.
            lookahead: A promise: no process travels to another site in less time.
            links: A promise: where processes travel to; as for :meth:`Model.run`.
            placement: The worker of each site, an array; or a name, as ``warpline run`` takes it.
            interpret: True to run the processes in the interpreter, on the sequential engine.
            event_log: A file, .csv or .parquet, that gets a row for whatever happens to a process:
                it begins, queues, gets or releases a unit, gives up, travels, ends. The world has
                ``event_log=True``.
            own: The settings: ``end``, ``engine``, ``workers``, ``seed``, ``precision`` and the
                other flags of ``warpline run``, with ``_`` in place of ``-``.

        Raises:
            ConfigurationError: a key or a value cannot be used, or a process cannot be compiled.
            ModelError: a process made a mistake, as to end with a unit that it has not released.
            Exception: whatever a process raises, with site, virtual time and event in a note; and
                whatever ``finish`` raises.
        """
        settings: dict[str, Any] = {**own}
        prepared = self._prepared(
            params,
            settings,
            sites=sites,
            states=states,
            lookahead=lookahead,
            links=links,
            placement=placement,
            interpret=interpret,
            event_log=event_log,
        )
        return self._run(_native.run_world, prepared, settings, progress, int(sites))

    def open(
        self, params: Any = None, *, sites: int = 1, **keywords: Unpack[Keywords]
    ) -> WorldSession:
        """Opens the world for a run that goes on step by step, or, with ``resume``, goes on with a
        checkpoint of it. The arguments are those of :meth:`run`::

            with world.open({"tellers": 5}, sites=8, end=100) as s:
                s.run_until(50)
                s.states["waits"], s.results["teller_in_use_mean"]
                s.spawn_at(3, s.now, customer, patience=2.0)
                busier = s.branch({"interarrival": 0.1})
                busier.run_until()
        """
        settings: dict[str, Any] = {**keywords}
        if settings.pop("event_log", None) is not None:
            raise ConfigurationError(
                f"an event log is of a whole run, and `{self.name}` is opened for one in steps: "
                "leave event_log out, or call run"
            )
        own = {key: settings.pop(key, None) for key in ("states", *MAY_DIFFER)}
        prepared = self._prepared(params, settings, sites=sites, **own)
        try:
            number = _native.session_open_world(prepared.written, settings_of(settings))
        except ModelError as error:
            raise prepared.own(error) from None
        return WorldSession(number, prepared)

    def replicate(
        self,
        params: Any = None,
        replications: int = 10,
        *,
        sites: int = 1,
        progress: Progress = False,
        **keywords: Unpack[Keywords],
    ) -> Report:
        """Runs independent replications on all cores, as :meth:`Model.replicate`."""
        settings: dict[str, Any] = {**keywords, "replications": replications}
        return self.run(params, sites=sites, progress=progress, **settings)

    def sweep(
        self,
        params: Any = None,
        vary: Mapping[str, Iterable[Any]] | None = None,
        *,
        sites: int = 1,
        progress: Progress = False,
        **keywords: Unpack[Keywords],
    ) -> Table:
        """Runs the world for every combination of values, as :meth:`Model.sweep`."""
        if "event_log" in keywords:
            raise ConfigurationError(
                "an event log is of one run, and each run of a sweep would write the same file: "
                "name one for each, as vary={'event_log': [...]}, or leave event_log out"
            )
        return self._sweep(self.run, params, vary, progress, {"sites": sites, **keywords})

    def compiled(self) -> Any:
        """The processes, compiled. A run does this by itself; a call moves the time it takes."""
        if self._compiled is None:
            from ._cache import Cached

            assert self._start is not None
            records = (self._state, self._params)
            self._compiled = Cached(self._start, self._processes, records)
        return self._compiled

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
        if self._start is None:
            raise ConfigurationError("the world has no `@world.start`, which spawns processes")
        sites, links = keywords["sites"], keywords["links"]
        if not isinstance(sites, int | np.integer) or sites < 1:
            raise ConfigurationError(f"`sites` is {sites!r}, but must be a whole number above 0")
        sites = int(sites)
        values = copy.deepcopy(self._values(params))
        whole, arrays = filled(self._params, values)
        view = View(whole, arrays)
        in_force = {**base, **settings}
        runner = self._runner(keywords["interpret"], in_force, view)
        if in_force.get("engine") != base.get("engine"):
            settings["engine"] = in_force["engine"]
        of_links = None if links is None else links_of(links, sites)
        initial = self._initial(keywords["states"], sites)
        facilities = [
            (facility.name, facility.kind, facility.of_sites(view, sites))
            for facility in self._facilities
        ]
        # What ranks compare: not the record of parameters, which has addresses.
        fixed = {name: whole[name] for name in self._params.fields if name not in arrays}
        identity = Key()
        of_links_key = np.asarray(of_links or (), float)
        identity.add((runner.key, fixed, arrays, of_links_key, initial, facilities))
        names = [process.name for process in self._processes]
        written = SimpleNamespace(
            name=self.name,
            sites=sites,
            start=runner.start,
            processes=[(name, *of) for name, of in zip(names, runner.processes, strict=True)],
            facilities=facilities,
            site_words=self._state.words,
            statistics=statistics_of(self._state),
            initial=initial,
            parameters=words_of(whole) or bytes(8),
            shown=json.dumps({name: plain(value) for name, value in values.items()}),
            identity=identity.digest(),
            lookahead=keywords["lookahead"],
            links=of_links,
            finish=None if self._finish is None else self._results(view, sites),
            is_logged=self._is_logged,
            event_log=self._log_of(keywords.get("event_log"), in_force),
        )
        settings["placement"] = placement_of(keywords["placement"], sites)
        in_force |= settings
        keywords.pop("event_log", None)
        processes = list(self._processes)
        return Prepared(self, values, keywords, in_force, written, runner, view, processes)

    def prepared_for(
        self, base: Prepared, params: Any, settings: dict[str, Any], given: Mapping[str, Any]
    ) -> Prepared:
        """What a branch of a session needs."""
        prepared: Prepared = super().prepared_for(base, params, settings, given)
        if prepared.runner.key != base.runner.key:
            raise ConfigurationError(
                f"a branch of `{self.name}` goes on with the processes that are there: neither "
                "they nor interpret may differ from when the session was opened"
            )
        return prepared

    def _runner(self, asked: bool | None, settings: dict[str, Any], view: View) -> Any:
        """The functions: those of the interpreter, or compiled ones."""
        assert self._start is not None
        if not self._interprets(asked, settings):
            return self.compiled()
        if any(settings.get(key) is not None for key in _WRITTEN):
            raise ConfigurationError(f"`{self.name}` has no checkpoints: {NO_COPY}")
        return Interpreted(self._start, self._processes, view, self._state)

    def _log_of(self, path: Any, settings: dict[str, Any]) -> str | None:
        """The file of the event log, if a run may write it."""
        if path is None:
            return None
        if not self._is_logged:
            raise ConfigurationError(
                f"`{self.name}` has no event log, because its rows are events, too: make it with "
                "wl.World(…, event_log=True)"
            )
        asked = [key for key in _WRITTEN if settings.get(key) is not None]
        if asked:
            raise ConfigurationError(
                f"an event log is of a whole run, and `{asked[0]}` of a part: leave one of them out"
            )
        return str(os.fspath(path))


@dataclass
class Prepared:
    """A world with what a run of it needs, which lives as long as the run."""

    model: World
    values: dict[str, Any]
    keywords: dict[str, Any]
    settings: dict[str, Any]
    #: What the native part reads, and the functions, whose addresses are in it.
    written: SimpleNamespace
    runner: Any
    view: View
    processes: list[Process]

    @property
    def lps(self) -> int:
        return int(self.written.sites)

    def own(self, error: ModelError) -> Exception:
        """The exception of the process itself, if one has raised."""
        failure = getattr(error, "_failure", None)
        if failure is None:
            return error
        raised = self._raised(failure[3], failure[4])
        if raised is None:
            return error
        raised.add_note(str(error))
        return raised

    def _raised(self, address: int, state: bytes) -> Exception | None:
        """The exception whose address a process has kept, which has this state."""
        if isinstance(self.runner, Interpreted):
            return self.runner.error
        from ._raised import exception_at, wait_in

        raised = exception_at(address)
        if raised is not None and state:
            word = int.from_bytes(state[:8], sys.byteorder)
            wait = wait_in(self.processes[(word >> 32) - 1], word & 0xFFFF_FFFF)
            if wait is not None:
                raised.add_note(wait)
        return raised
