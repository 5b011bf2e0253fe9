"""Random numbers in compiled handlers: what is short is compiled into them, and the distributions
are functions of the engine, to which the context has a pointer.

Called by `_compiler`, which makes a model's context.
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from .. import _native
from ._interpreter import CONSTANTS, MULTIPLIER, UNIT
from ._laws import LAWS, NO_DISCRETE, NO_EMPIRICAL, PARAMETERS

#: Where the fields of contexts are: of handlers, and of processes, which begin with the same ones.
AT: dict[str, int] = _native.layout() | _native.process_layout()
I8, I32, I64, I128 = (ir.IntType(bits) for bits in (8, 32, 64, 128))
F64 = ir.DoubleType()


def slot(builder: Any, context: Any, field: str, kind: Any) -> Any:
    """Where a field of the context is, or of the constants."""
    at = AT
    if field in CONSTANTS:
        context, at = fixed(builder, context, "constants", I8.as_pointer()), CONSTANTS
    place = builder.gep(context, [I32(at[field])])
    return builder.bitcast(place, kind.as_pointer())


def fixed(builder: Any, context: Any, field: str, kind: Any) -> Any:
    """The value of a field that stays the same during a call: it need not be loaded again."""
    value = builder.load(slot(builder, context, field, kind))
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@intrinsic
def _bits(typing: Any, cx: Any) -> Any:
    """The next 64 bits of the stream: PCG, as `Stream::from_words` of warpline-core says."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = fixed(builder, args[0], "stream", I128.as_pointer())
        state = builder.load(place)
        state.align = 8
        state = builder.mul(state, ir.Constant(I128, MULTIPLIER))
        builder.store(state, place, align=8)
        turn = builder.trunc(builder.lshr(state, ir.Constant(I128, 122)), I64)
        high = builder.trunc(builder.lshr(state, ir.Constant(I128, 64)), I64)
        word = builder.xor(high, builder.trunc(state, I64))
        rotate = ir.FunctionType(I64, [I64] * 3)
        rotate = cgutils.get_or_insert_function(builder.module, rotate, "llvm.fshr.i64")
        return builder.call(rotate, [word, word, turn])

    return types.uint64(cx), generate


@intrinsic
def _high_half(typing: Any, one: Any, other: Any) -> Any:
    """The high half of a product."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = builder.mul(builder.zext(args[0], I128), builder.zext(args[1], I128))
        return builder.trunc(builder.lshr(wide, ir.Constant(I128, 64)), I64)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _abscissa(typing: Any, cx: Any, layer: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table = fixed(builder, args[0], "abscissas", F64.as_pointer())
        return builder.load(builder.gep(table, [args[1]]))

    return types.float64(cx, types.uint64), generate


@intrinsic
def _edge(typing: Any, cx: Any, layer: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(F64, [I8.as_pointer(), I64, F64]).as_pointer()
        return builder.call(fixed(builder, args[0], "edge", kind), args)

    return types.float64(cx, types.uint64, types.float64), generate


def _drawer(number: int, is_whole: bool) -> Any:
    """Draws from the distribution with this number, by a call of the engine's function."""

    @intrinsic
    def draw(typing: Any, cx: Any, parameters: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            cx, given = args
            kinds = signature.args[1].types
            values = [
                context.cast(builder, builder.extract_value(given, at), kinds[at], types.float64)
                for at in range(len(kinds))
            ]
            values += [F64(0.0)] * (PARAMETERS - len(values))
            kind = ir.FunctionType(I64, [I8.as_pointer(), I64] + [F64] * PARAMETERS)
            function = fixed(builder, cx, "draw", kind.as_pointer())
            bits = builder.call(function, [cx, I64(number), *values])
            return bits if is_whole else builder.bitcast(bits, F64)

        return (types.int64 if is_whole else types.float64)(cx, parameters), generate

    return draw


def _law(number: int, name: str, parameters: list[str], is_whole: bool) -> Any:
    """The overload of a method that draws from a distribution."""
    names = ", ".join(parameters)
    source = (
        f"def {name}(cx, {names}):\n"
        f"    def implementation(cx, {names}):\n"
        f"        return draw(cx, ({names},))\n"
        f"    return implementation\n"
    )
    space: dict[str, Any] = {"draw": _drawer(number, is_whole)}
    exec(source, space)
    return space[name]


@njit
def _uniform(cx: Any) -> Any:
    return np.float64(_bits(cx) >> np.uint64(11)) * UNIT


@njit
def _exponential(cx: Any, mean: Any) -> Any:
    bits = _bits(cx)
    layer = bits & np.uint64(0xFF)
    x = np.float64(bits >> np.uint64(11)) * UNIT * _abscissa(cx, layer)
    if x < _abscissa(cx, layer + np.uint64(1)):
        return x * mean
    return _edge(cx, layer, x) * mean


@njit
def _below(cx: Any, bound: Any) -> Any:
    return np.int64(_high_half(_bits(cx), np.uint64(bound)))


@njit
def _split(cx: Any, bound: Any) -> Any:
    """A whole number below a bound, and from the other bits a number below 1."""
    bits = _bits(cx)
    rest = bits * np.uint64(bound) >> np.uint64(11)
    return np.int64(_high_half(bits, np.uint64(bound))), np.float64(rest) * UNIT


@njit(boundscheck=True)
def _discrete(cx: Any, table: Any) -> Any:
    columns = len(table) // 2
    if table[0] != -columns:
        raise ValueError(NO_DISCRETE)
    column, rest = _split(cx, columns)
    return column if rest < table[1 + 2 * column] else np.int64(table[2 + 2 * column])


@njit(boundscheck=True)
def _empirical(cx: Any, table: Any) -> Any:
    last = len(table) - 1
    if table[0] != -0.5 - last:
        raise ValueError(NO_EMPIRICAL)
    place, part = _split(cx, last - 1)
    start, end = table[1 + place], table[min(2 + place, last)]
    drawn = start + part * (end - start)
    return drawn if drawn < end else end


@njit(boundscheck=True)
def _choice(cx: Any, items: Any) -> Any:
    return items[_below(cx, len(items))]


@njit(boundscheck=True)
def _shuffle(cx: Any, items: Any) -> Any:
    for end in range(len(items) - 1, 0, -1):
        other = _below(cx, end + 1)
        items[end], items[other] = items[other], items[end]


@njit(boundscheck=True)
def _permutation(cx: Any, items: Any) -> Any:
    for place in range(len(items)):
        items[place] = place
    _shuffle(cx, items)


#: The methods of a context that draw, as overloads for Numba.
METHODS: dict[str, Any] = {
    "bits": lambda cx: lambda cx: _bits(cx),
    "uniform": lambda cx: lambda cx: _uniform(cx),
    "uniform_in": lambda cx, low, high: lambda cx, low, high: low + (high - low) * _uniform(cx),
    "chance": lambda cx, p: lambda cx, p: _uniform(cx) < p,
    "below": lambda cx, bound: lambda cx, bound: _below(cx, bound),
    "exponential": lambda cx, mean: lambda cx, mean: _exponential(cx, mean),
    "discrete": lambda cx, table: lambda cx, table: _discrete(cx, table),
    "empirical": lambda cx, table: lambda cx, table: _empirical(cx, table),
    "choice": lambda cx, items: lambda cx, items: _choice(cx, items),
    "shuffle": lambda cx, items: lambda cx, items: _shuffle(cx, items),
    "permutation": lambda cx, items: lambda cx, items: _permutation(cx, items),
}
METHODS |= {law[0]: _law(number, *law) for number, law in enumerate(LAWS)}
