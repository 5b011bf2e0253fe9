"""How a process in compiled code lets another one begin: here, or at another site."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import inspect
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import (
    AttributeTemplate,
    bound_function,
    infer_getattr,
    signature,
)

from .._models._drawing import F64, I8, I64, fixed
from ._facilities import Process
from ._types import ConstantType, EnvType, word_of


def _spawned(context: Any, builder: Any, env: Any, where: tuple[Any, Any], values: Any) -> Any:
    """Makes the words of a process at its beginning, and spawns it; ``values`` are the kind of
    process, and its arguments with the types that they have."""
    process, given = values
    kinds = [numba.from_dtype(kind.dtype) for kind in process.arguments.values()]
    count = 1 + len(kinds)
    words = cgutils.alloca_once(builder, ir.ArrayType(I64, count))
    builder.store(I64(0), cgutils.gep_inbounds(builder, words, 0, 0))
    for place, (kind, (of_value, value)) in enumerate(zip(kinds, given, strict=True)):
        word = word_of(builder, context.cast(builder, value, of_value, kind))
        builder.store(word, cgutils.gep_inbounds(builder, words, 0, 1 + place))
    parts = [I8.as_pointer(), I64, I64.as_pointer(), I64, I64, F64]
    function = fixed(builder, env, "spawn", ir.FunctionType(I64, parts).as_pointer())
    first = cgutils.gep_inbounds(builder, words, 0, 0)
    return builder.call(function, [env, I64(process.number), first, I64(count), *where])


@infer_getattr
class _Spawns(AttributeTemplate):
    """``spawn`` and ``spawn_at``: which arguments there are is the process's own matter, so they
    are no overloads, whose arguments have names once and for all."""

    key = EnvType

    @bound_function("warpline.spawn")
    def resolve_spawn(self, own: Any, args: Any, named: Any) -> Any:
        return _signature("spawn", [], args, named)

    @bound_function("warpline.spawn_at")
    def resolve_spawn_at(self, own: Any, args: Any, named: Any) -> Any:
        return _signature("spawn_at", ["at", "delay"], args, named)


def _signature(method: str, before: list[str], args: Any, named: Any) -> Any:
    """What a call takes: a site and a delay before the process, perhaps, and its arguments."""
    if len(args) <= len(before):
        raise TypingError(f"env.{method} takes a process, and its arguments behind it")
    process = args[len(before)]
    value = process.value if isinstance(process, ConstantType) else None
    if not isinstance(value, Process):
        raise TypingError(f"env.{method} takes a process, but gets a value of type {process}")
    try:
        values = value.ordered(args[len(before) + 1 :], dict(named))
    except TypeError as error:
        raise TypingError(str(error)) from None
    names = [*(f"_{name}" for name in [*before, "process"]), *value.arguments]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    taken = signature(types.int64, *args[: len(before)], process, *values)
    return taken.replace(pysig=parameters)


@lower_builtin("warpline.spawn", EnvType, types.VarArg(types.Any))
def _spawn(context: Any, builder: Any, of_call: Any, args: Any) -> Any:
    where = (I64(-1), F64(0.0))
    values = zip(of_call.args[2:], args[2:], strict=True)
    process = of_call.args[1].value
    return _spawned(context, builder, args[0], where, (process, values))


@lower_builtin("warpline.spawn_at", EnvType, types.VarArg(types.Any))
def _spawn_at(context: Any, builder: Any, of_call: Any, args: Any) -> Any:
    of_at, of_delay, process = of_call.args[1:4]
    at = context.cast(builder, args[1], of_at, types.int64)
    delay = context.cast(builder, args[2], of_delay, types.float64)
    values = zip(of_call.args[4:], args[4:], strict=True)
    return _spawned(context, builder, args[0], (at, delay), (process.value, values))
