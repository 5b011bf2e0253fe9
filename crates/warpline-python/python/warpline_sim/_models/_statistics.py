"""Statistics in states: numbers that handlers change with the functions here.

A state declares ``waits: wl.Tally``, or ``Annotated[wl.Tally, "minutes", "how long they wait"]`` with
the unit and the meaning of reports. It is a field of numbers as any other, so it is rolled back with
the state; what the numbers mean is that of ``warpline::statistics`` (docs/statistics.md), where they
are merged over LPs, begin anew at the end of a warm-up, and become results.

The functions are plain Python, for the interpreter; ``_compiler`` compiles the same for Numba.
"""

from __future__ import annotations

from ._records import Array


class Counter(Array[float]):
    """How often something happens: results ``NAME`` and ``NAME_rate``."""

    _statistic = ("counter", 2)


class Tally(Array[float]):
    """Numbers, each on its own: results ``NAME_mean``, ``_sd``, ``_min``, ``_max``, ``_count``."""

    _statistic = ("tally", 5)


class Level(Array[float]):
    """A number that lasts until it changes: results ``NAME_mean`` (over time), ``_min``, ``_max``."""

    _statistic = ("level", 6)


def count(counter: Counter, more: int = 1) -> None:
    """``wl.count(state.served)`` counts one more; ``more`` is a whole number."""
    counter[0] += int(more)


def tally(numbers: Tally, number: float) -> None:
    """``wl.tally(state.waits, wait)`` observes a number (Welford 1962)."""
    total = numbers[0] + 1.0
    before = number - numbers[1]
    mean = numbers[1] + before / total
    numbers[0], numbers[1] = total, mean
    numbers[2] += before * (number - mean)
    if total == 1.0 or number < numbers[3]:
        numbers[3] = number
    if total == 1.0 or number > numbers[4]:
        numbers[4] = number


def set_level(level: Level, value: float, now: float) -> None:
    """``wl.set_level(state.queue, length, cx.now)`` lets it be that from now on."""
    level[2] += level[0] * (now - level[1])
    level[0], level[1] = value, now
    if value < level[3]:
        level[3] = value
    if value > level[4]:
        level[4] = value


def add_level(level: Level, by: float, now: float) -> None:
    """``wl.add_level(state.queue, 1, cx.now)`` lets it be higher from now on; or lower."""
    set_level(level, level[0] + by, now)


#: What handlers call.
FUNCTIONS = (count, tally, set_level, add_level)
