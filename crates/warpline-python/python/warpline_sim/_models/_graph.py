"""Which LPs send to which, and which worker has which: arrays, as a run takes them."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import ConfigurationError


def links_of(links: Any, lps: int) -> list[tuple[int, int, float]]:
    """The links as the native part takes them."""
    rows = _numbers(links)
    if rows is None or rows.ndim != 2 or rows.shape[1] != 3:
        found = "no array of numbers" if rows is None else f"an array {rows.shape}"
        raise ConfigurationError(
            f"`links` is {found}, but must have rows of three: sender, receiver, least delay"
        )
    ends, delays = rows[:, :2], rows[:, 2]
    fits = _whole_below(ends, lps).all(axis=1) & np.isfinite(delays) & (delays >= 0)
    if not fits.all():
        wrong = int(np.argmin(fits))
        raise ConfigurationError(
            f"`links` has the row {wrong}: {rows[wrong].tolist()}, but sender and receiver must be "
            f"whole numbers below lps={lps}, and the delay a number of 0 or more"
        )
    return [(int(sender), int(receiver), delay) for sender, receiver, delay in rows.tolist()]


def placement_of(placement: Any, lps: int) -> str | None:
    """The setting for a placement."""
    if placement is None or isinstance(placement, str):
        return placement
    workers = _numbers(placement)
    if workers is None or workers.shape != (lps,) or not _whole_below(workers, 2**32).all():
        found = "no array of numbers" if workers is None else f"an array {workers.shape}"
        raise ConfigurationError(
            f"`placement` is {found}, but must have the number of a worker, from 0 on, for each "
            f"of {lps} LPs"
        )
    return ",".join(str(int(worker)) for worker in workers)


def _numbers(array: Any) -> Any:
    try:
        return np.asarray(array, float)
    except (TypeError, ValueError):
        return None


def _whole_below(numbers: Any, limit: int) -> Any:
    return (numbers >= 0) & (numbers < limit) & (numbers == np.floor(numbers))
