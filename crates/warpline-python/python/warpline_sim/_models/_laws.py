"""The distributions that handlers draw from, and tables for those that a model gives by numbers.

`_native.laws` names the distributions; the compiler and the interpreter make their functions of it.
A table is an array of numbers, of which the first says what it is: no weight is negative, and so no
list of weights is taken for a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .. import _native
from .._errors import ConfigurationError

#: The distributions, in the order of their numbers: name, parameters, whether they are whole.
LAWS: list[tuple[str, list[str], bool]] = _native.laws()
#: As many parameters as each of them gets.
PARAMETERS = 4
#: What handlers draw beside them and what is uniform.
OTHERS = ["choice", "discrete", "empirical", "exponential", "permutation", "shuffle"]

#: What an empty or a wrong array is to `cx.discrete` and `cx.empirical`.
NO_DISCRETE = "cx.discrete takes a table that wl.discrete(weights) has made"
NO_EMPIRICAL = "cx.empirical takes a table that wl.empirical(observations) has made"


def discrete(weights: Iterable[float]) -> list[float]:
    """The table of a distribution over 0, 1, 2 and so on with probabilities in proportion to these
    weights: for a parameter of type ``wl.Array[wl.f64]``, from which ``cx.discrete`` draws.

    It takes the same time for any number of weights (the alias method). What is drawn has the
    probability of its weight up to 2**-53.

    Raises:
        ConfigurationError: a weight is negative, infinite or NaN, or all are 0, or there is none.
    """
    return _table(_native.discrete, "wl.discrete", weights)


def empirical(observations: Iterable[float]) -> list[float]:
    """The table of the distribution of observations: for a parameter of type ``wl.Array[wl.f64]``,
    from which ``cx.empirical`` draws.

    Between each sorted observation and the next, what is drawn is uniform, and each of these
    intervals has the same probability; ``cx.choice`` draws only what was observed.

    Raises:
        ConfigurationError: an observation is infinite or NaN, or there is none.
    """
    return _table(_native.empirical, "wl.empirical", observations)


def _table(
    make: Callable[[list[float]], list[float]], name: str, numbers: Iterable[float]
) -> list[float]:
    try:
        return make([float(number) for number in numbers])
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{name}: {error}") from None
