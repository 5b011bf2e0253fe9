"""The report of a run."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from . import _native
from ._table import Table

_MAPPINGS = ("results", "parameters", "counters", "half_width_95", "warm_up")


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """What a run, or several replications, came to.

    ``report.results["calls"]`` is a result of the model; ``wl.info(model)`` says what it means.
    """

    #: The model's name.
    model: str
    #: The engine that ran it.
    engine: str
    #: The number of ranks, and of workers of all ranks.
    ranks: int
    workers: int
    #: The seed of the (first) run.
    seed: int
    #: The virtual time up to which the model ran.
    end_time: float
    #: Whether the run was stopped before its end.
    interrupted: bool
    #: Events that took effect; those that were handled; those that were undone.
    committed_events: int
    processed_events: int
    rolled_back_events: int
    #: How often some LP was rolled back.
    rollbacks: int
    #: How often global virtual time was computed.
    gvt_rounds: int
    #: Committed events by processed events.
    efficiency: float
    #: Seconds of wall time.
    wall_seconds: float
    #: Committed events per second of wall time.
    events_per_second: float
    #: The most bytes that event buffers took at one time.
    peak_buffer_bytes: int
    #: Stands for all committed events, in order, of every LP: the same for every engine.
    digest: str
    #: The model's results: means, if there are several replications. Counts of a run are ``int``.
    results: Mapping[str, float]
    #: The model's parameters.
    parameters: Mapping[str, Any]
    #: Counters of the engine.
    counters: Mapping[str, int] = field(default_factory=dict)
    #: How it was run, or why it was slow and what to change.
    remarks: tuple[str, ...] = ()
    #: The number of replications, and half the width of the 95 % confidence interval of each
    #: result.
    replications: int = 1
    half_width_95: Mapping[str, float] | None = None
    #: With ``find_warmup=N``: the part of the run to leave out, in virtual time; ``"longest"`` of
    #: all results, and each of ``"results"``; ``None`` where a longer run is needed. What never
    #: settles, such as the longest wait, is not among them, but in ``"left_out"``.
    warm_up: Mapping[str, Any] | None = None
    #: Whether ``verify=True`` found another run to commit the same; ``None`` without it.
    verified: bool | None = None
    #: The states of all LPs at the end, an array of records, of a model written in Python.
    states: Any = None
    _all: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Report:
        """The report that :meth:`to_dict` returned."""
        known = set(cls.__dataclass_fields__) - {"_all", "states"}
        fields = {name: value for name, value in values.items() if name in known}
        for name in _MAPPINGS:
            if fields.get(name) is not None:
                fields[name] = MappingProxyType(fields[name])
        fields["remarks"] = tuple(fields.get("remarks", ()))
        return cls(**fields, _all=MappingProxyType(dict(values)))

    def to_dict(self) -> dict[str, Any]:
        """Everything, with the names of ``warpline run --format json``."""
        copy: dict[str, Any] = json.loads(self.to_json())
        return copy

    def to_json(self) -> str:
        """Everything, as JSON."""
        return json.dumps(dict(self._all))

    @property
    def runs(self) -> Table | None:
        """A row for each replication; ``None`` of a single run."""
        rows = self._all.get("runs")
        return None if rows is None else Table(rows)

    @property
    def series(self) -> Table | None:
        """How a single run went on: moments of wall time, with what was done since the start.

        ``worker_0_events`` and so on are what each worker has handled, and ``worker_0_rollbacks``
        how often it has rolled back some LP.
        """
        series = self._all.get("series")
        if series is None:
            return None
        columns = dict(series)
        # What the workers have counted is not known of the last moment.
        for what in ("events", "rollbacks"):
            for number, counts in enumerate(columns.pop(f"worker_{what}")):
                columns[f"worker_{number}_{what}"] = [*counts, None]
        return Table.of_columns(columns)

    @property
    def statistics(self) -> Table | None:
        """The series and histograms of the model: a row for each step of virtual time and for each
        bar, as ``warpline run --statistics FILE`` writes them; ``None`` of several replications."""
        rows = self._all.get("statistics")
        return None if rows is None else Table(rows)

    def html(self) -> str:
        """A page about the run, with plots: HTML that needs no other file.

        ``Path("run.html").write_text(report.html())`` writes what ``warpline run --report run.html``
        writes.
        """
        return _native.page(self.to_json())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_dict(), self.states)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._all == other._all

    def __hash__(self) -> int:
        return hash((self.model, self.digest, self.seed, self.wall_seconds))

    def __repr__(self) -> str:
        results = ", ".join(f"{name}={value:.6g}" for name, value in self._told())
        mark = ", interrupted" if self.interrupted else ""
        return (
            f"<Report of {self.model}: {self.committed_events} events, "
            f"{self.events_per_second / 1e6:.2f} M/s, {self.engine}{mark}; {results}>"
        )

    def _told(self) -> list[tuple[str, float]]:
        return [(name, value) for name, value in self.results.items() if value is not None]

    def _repr_html_(self) -> str:
        def row(*cells: str) -> str:
            return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"

        widths = self.half_width_95 or {}
        head = f"{self.model}{' (interrupted)' if self.interrupted else ''}"
        workers = f"{self.workers} worker{'' if self.workers == 1 else 's'}"
        facts = [
            ("events", f"{self.committed_events:,} committed, efficiency {self.efficiency:.3f}"),
            ("speed", f"{self.events_per_second / 1e6:.2f} M events/s, {self.wall_seconds:.2f} s"),
            ("engine", f"{self.engine}, {workers}, seed {self.seed}"),
            ("digest", self.digest),
        ]
        results = [
            (name, f"{value:.6g}" + (f" ± {widths[name]:.2g}" if widths.get(name) else ""))
            for name, value in self._told()
        ]
        rows = "".join(row(*cells) for cells in facts + results)
        return f"<table><caption>{html.escape(head)}</caption>{rows}</table>"


def _restored(values: Mapping[str, Any], states: Any) -> Report:
    return replace(Report.from_dict(values), states=states)
