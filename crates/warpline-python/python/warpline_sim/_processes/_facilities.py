"""What a world has beside its records: kinds of processes, and what they queue for."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._errors import ConfigurationError
from .._models._records import Kind, meant

#: A number, or what computes it from the parameters and the number of a site; ``None`` of a site
#: that has no such facility.
Amount = float | Callable[[Any, int], float | None]


class Facility:
    """What processes queue for; a constant of the model's module."""

    #: What it is, as the native part calls it.
    kind = ""

    def __init__(self, name: str, number: int, capacity: Amount, amount: Amount = 0.0) -> None:
        self.name, self.number = name, number
        self._capacity, self._amount = capacity, amount

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def key(self) -> tuple[Any, ...]:
        """What compiled code knows of it."""
        return (type(self).__name__, self.kind, self.number)

    def of_sites(self, params: Any, sites: int) -> list[tuple[float, float]]:
        """What each site has of it."""
        return [(self._of(self._capacity, params, site), self._of(self._amount, params, site))
                for site in range(sites)]

    def _of(self, amount: Amount, params: Any, site: int) -> float:
        found = amount(params, site) if callable(amount) else amount
        if found is None:
            return math.nan
        try:
            number = float(found)
        except (TypeError, ValueError):
            number = math.nan
        whole = self.kind in ("resource", "preemptive", "store") and number != math.inf
        if not number >= 0 or (whole and not number.is_integer()):
            kind = "a whole number" if whole else "a number"
            raise ConfigurationError(
                f"`{self.name}` has {found!r} at site {site}, but must have {kind} of 0 or more"
            )
        return number


class Resource(Facility):
    """Equal units, which processes acquire and release."""

    kind = "resource"


class PreemptiveResource(Resource):
    """A resource of which a process may take a unit from another one with a lower priority."""

    kind = "preemptive"


class Store(Facility):
    """Items, numbers, which processes put in and get out, the oldest first."""

    kind = "store"


class BoundedStore(Store):
    """A store that may be full."""


class Container(Facility):
    """An amount, of which processes take and which they fill."""

    kind = "container"


class Condition(Facility):
    """What processes wait for, until another one signals it."""

    kind = "condition"


class Resources(Sequence[Resource]):
    """Several resources, of which a process takes one by its number: ``SERVERS[place]``."""

    def __init__(self, all_of_them: list[Resource]) -> None:
        self._all = all_of_them
        #: Where the numbers begin: one is behind the other.
        self.first = all_of_them[0].number

    def __repr__(self) -> str:
        return f"<resources {', '.join(resource.name for resource in self._all)}>"

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._all)

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < len(self._all):
            raise IndexError(self.out_of_range)
        return self._all[number]

    @property
    def out_of_range(self) -> str:
        """What is wrong with another number."""
        names = ", ".join(resource.name for resource in self._all)
        return f"the resources are {names}: their numbers go from 0 to {len(self._all) - 1}"

    def key(self) -> tuple[Any, ...]:
        """What compiled code knows of them."""
        return ("resources", self.out_of_range, [resource.key() for resource in self._all])


class Process:
    """A kind of processes: a generator function. ``env.spawn(customer, 3.0)`` begins one."""

    def __init__(self, function: Callable[..., Any], number: int) -> None:
        self.function, self.number = function, number
        self.name = function.__name__
        self.__doc__ = function.__doc__
        #: The types of the arguments behind ``env``, by name.
        self.arguments: dict[str, Kind] = _arguments(function)

    def __repr__(self) -> str:
        return f"<process {self.name}>"

    def key(self) -> tuple[Any, ...]:
        """What compiled code knows of it, where it is spawned."""
        kinds = [(name, kind.dtype) for name, kind in self.arguments.items()]
        return ("process", self.number, kinds)

    def ordered(self, values: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """The arguments behind ``env`` in their order, of those that have been given.

        Raises:
            TypeError: they are not those of the process.
        """
        names = list(self.arguments)
        takes = f"{self.name} takes {len(names)} arguments ({', '.join(names)})"
        if len(values) + len(named) != len(names):
            raise TypeError(f"{takes}, but gets {len(values) + len(named)}")
        behind = names[len(values):]
        for name in named:
            if name not in behind:
                found = f"`{name}`" + (" twice" if name in names else meant(name, names))
                raise TypeError(f"{takes}, but gets {found}")
        return [*values, *(named[name] for name in behind)]


def place_of(function: Callable[..., Any], line: int | None = None) -> str:
    """File and line of a function."""
    code = function.__code__
    return f"{code.co_filename}:{line or code.co_firstlineno}"


def _arguments(function: Callable[..., Any]) -> dict[str, Kind]:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    told = f"{place_of(function)}: `{function.__name__}`"
    if not inspect.isgeneratorfunction(function):
        what = "a process waits, for a time or for others"
        raise ConfigurationError(f"{told} has no `yield`: {what}")
    if not names:
        raise ConfigurationError(f"{told} has no argument: the first one is `env`")
    kinds = inspect.get_annotations(function, eval_str=True)
    found = {}
    for name in names[1:]:
        kind = kinds.get(name)
        if not isinstance(kind, Kind) or kind.shape:
            raise ConfigurationError(
                f"{told}: the argument `{name}` has no type, but must have one: `{name}: wl.f64`, "
                "or another number, wl.i8 to wl.i64 and so on"
            )
        found[name] = kind
    return found
