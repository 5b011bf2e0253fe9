"""What a process in compiled code does with its environment: a few instructions each.

The environment is a pointer to the engine's context (`warpline-foreign`, ``processes/context.rs``).
A wait writes its details there and returns the number that the process yields; what is done at once
is a call of a function that the context points to.
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import functools
import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload_attribute, overload_method

from .._models._compiler import attribute, loader
from .._models._drawing import F64, I8, I64, METHODS, fixed, slot
from . import _env as env
from . import _spawning as _spawning
from ._facilities import (
    BoundedStore,
    Condition,
    Container,
    Facility,
    PreemptiveResource,
    Resource,
    Resources,
    Store,
)
from ._types import ConstantType, EnvType, OneOfType, which


def _method(name: str) -> Any:
    """The overload of a method. Numba compares signatures, and what type checkers read in them."""

    def register(of_types: Any) -> Any:
        of_types.__annotations__ = {}

        @functools.wraps(of_types)
        def implemented(*given: Any, **named: Any) -> Any:
            implementation = of_types(*given, **named)
            implementation.__annotations__ = {}
            return implementation

        return overload_method(EnvType, name)(implemented)

    return register


def _setter(field: str, of_numba: Any, of_llvm: Any) -> Any:
    """Writes a detail of a wait."""

    @intrinsic
    def store(typing: Any, own: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = context.cast(builder, args[1], signature.args[1], of_numba)
            builder.store(number, slot(builder, args[0], field, of_llvm))
            return context.get_dummy_value()

        return types.void(own, value), generate

    return store


_set_time = _setter("time", types.float64, F64)
_set_value = _setter("value", types.float64, F64)
_set_number = _setter("number", types.int64, I64)
_set_priority = _setter("priority", types.int64, I64)
_set_preempt = _setter("preempt", types.int64, I64)
_woken = loader("woken", types.int64, I64)


@intrinsic
def _release(typing: Any, own: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I64]).as_pointer()
        number = context.cast(builder, args[1], signature.args[1], types.int64)
        builder.call(fixed(builder, args[0], "release", kind), [args[0], number])
        return context.get_dummy_value()

    return types.void(own, number), generate


@intrinsic
def _act(typing: Any, own: Any, action: Any, number: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(I64, [I8.as_pointer(), I64, I64, F64]).as_pointer()
        kinds = (types.int64, types.int64, types.float64)
        given = [
            context.cast(builder, value, of_value, to)
            for value, of_value, to in zip(args[1:], signature.args[1:], kinds, strict=True)
        ]
        return builder.call(fixed(builder, args[0], "act", kind), [args[0], *given])

    return types.int64(own, action, number, value), generate


@intrinsic
def _float_of(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], F64)

    return types.float64(types.int64), generate


def _check(given: Any, kind: type[Any], method: str) -> None:
    """Refuses what is no facility of this kind."""
    value = given.value if isinstance(given, ConstantType | OneOfType) else None
    if not isinstance(value, kind):
        found = value if value is not None else f"a value of type {given}"
        hint = ": say which one, as `[0]`" if isinstance(value, Resources) else ""
        kind_of = kind.__name__.lower()
        raise TypingError(f"env.{method} takes a {kind_of}, but gets {found!r:.60}{hint}")


INF = math.inf


@_method("hold")
def _hold(own: Any, time: Any) -> Any:
    asked = env.HOLD

    def implementation(own: Any, time: Any) -> Any:
        _set_time(own, time)
        return asked

    return implementation


@_method("acquire")
def _acquire(
    own: Any, resource: Any, timeout: Any = INF, priority: Any = 0, preempt: Any = False
) -> Any:
    _check(resource, Resource, "acquire")
    asked = env.ACQUIRE
    if not isinstance(resource.value, PreemptiveResource):
        if getattr(preempt, "literal_value", preempt) not in (False, types.Omitted(False)):
            raise TypingError(f"{resource.value!r} is not preemptive: say so where it is made")

    def implementation(
        own: Any, resource: Any, timeout: Any = INF, priority: Any = 0, preempt: Any = False
    ) -> Any:
        _set_time(own, timeout)
        _set_number(own, which(resource))
        _set_priority(own, priority)
        _set_preempt(own, preempt)
        return asked

    return implementation


@_method("get")
def _get(own: Any, store: Any, timeout: Any = INF, priority: Any = 0) -> Any:
    _check(store, Store, "get")
    asked = env.GET

    def implementation(own: Any, store: Any, timeout: Any = INF, priority: Any = 0) -> Any:
        _set_time(own, timeout)
        _set_number(own, which(store))
        _set_priority(own, priority)
        return asked

    return implementation


@_method("wait")
def _wait(own: Any, condition: Any, timeout: Any = INF, priority: Any = 0) -> Any:
    _check(condition, Condition, "wait")
    asked = env.WAIT

    def implementation(own: Any, condition: Any, timeout: Any = INF, priority: Any = 0) -> Any:
        _set_time(own, timeout)
        _set_number(own, which(condition))
        _set_priority(own, priority)
        return asked

    return implementation


@_method("put")
def _put(own: Any, store: Any, item: Any, timeout: Any = INF, priority: Any = 0) -> Any:
    _check(store, Store, "put")
    asked = env.PUT
    ready, action = env.READY, env.DO_PUT
    is_bounded = isinstance(store.value, BoundedStore)

    def waits(own: Any, store: Any, item: Any, timeout: Any = INF, priority: Any = 0) -> Any:
        _set_value(own, item)
        _set_time(own, timeout)
        _set_number(own, which(store))
        _set_priority(own, priority)
        return asked

    def at_once(own: Any, store: Any, item: Any, timeout: Any = INF, priority: Any = 0) -> Any:
        _act(own, action, which(store), item)
        return ready

    return waits if is_bounded else at_once


def _amounts(method: str, asked: int) -> Any:
    def of_types(
        own: Any, container: Any, amount: Any, timeout: Any = INF, priority: Any = 0
    ) -> Any:
        _check(container, Container, method)

        def implementation(
            own: Any, container: Any, amount: Any, timeout: Any = INF, priority: Any = 0
        ) -> Any:
            _set_value(own, amount)
            _set_time(own, timeout)
            _set_number(own, which(container))
            _set_priority(own, priority)
            return asked

        return implementation

    return of_types


_method("take")(_amounts("take", env.TAKE))
_method("fill")(_amounts("fill", env.FILL))


@_method("passivate")
def _passivate(own: Any, timeout: Any = INF) -> Any:
    asked = env.PASSIVATE

    def implementation(own: Any, timeout: Any = INF) -> Any:
        _set_time(own, timeout)
        return asked

    return implementation


@_method("travel")
def _travel(own: Any, to: Any, delay: Any) -> Any:
    asked = env.TRAVEL

    def implementation(own: Any, to: Any, delay: Any) -> Any:
        _set_number(own, to)
        _set_time(own, delay)
        return asked

    return implementation


@_method("release")
def _release_of(own: Any, resource: Any) -> Any:
    _check(resource, Resource, "release")
    return lambda own, resource: _release(own, which(resource))


def _acts(name: str, kind: type[Any], action: int) -> None:
    """A method that does something with a facility, and tells a number."""

    def of_types(own: Any, facility: Any) -> Any:
        _check(facility, kind, name)
        if action == env.DO_AMOUNT:
            return lambda own, facility: _float_of(_act(own, action, which(facility), 0.0))
        return lambda own, facility: _act(own, action, which(facility), 0.0)

    _method(name)(of_types)


_acts("signal", Condition, env.DO_SIGNAL)
_acts("signal_one", Condition, env.DO_SIGNAL_ONE)
_acts("waiting", Facility, env.DO_WAITING)
_acts("in_use", Resource, env.DO_IN_USE)
_acts("items", Store, env.DO_ITEMS)
_acts("amount", Container, env.DO_AMOUNT)


@_method("set_units")
def _set_units(own: Any, resource: Any, units: Any) -> Any:
    _check(resource, Resource, "set_units")
    action = env.DO_SET_UNITS
    return lambda own, resource, units: _act(own, action, which(resource), units)


@_method("activate")
def _activate(own: Any, process: Any) -> Any:
    action = env.DO_ACTIVATE
    return lambda own, process: _act(own, action, process, 0.0) != 0


@_method("is_here")
def _is_here(own: Any, process: Any) -> Any:
    action = env.DO_IS_HERE
    return lambda own, process: _act(own, action, process, 0.0) != 0


@_method("interrupt")
def _interrupt(own: Any, process: Any, cause: Any = 0) -> Any:
    action = env.DO_INTERRUPT

    def implementation(own: Any, process: Any, cause: Any = 0) -> Any:
        return _act(own, action, process, _float_of(cause)) != 0

    return implementation


for _name, _field, _of_numba, _of_llvm in [
    ("now", "now", types.float64, F64),
    ("here", "me", types.int64, I64),
    ("sites", "lp_count", types.int64, I64),
    ("cause", "cause", types.int64, I64),
    ("item", "item", types.float64, F64),
]:
    overload_attribute(EnvType, _name)(attribute(loader(_field, _of_numba, _of_llvm)))


def _is(name: str, woken: int) -> None:
    overload_attribute(EnvType, name)(lambda own: lambda own: _woken(own) == woken)


_is("granted", env.DONE)
_is("interrupted", env.INTERRUPTED)
_is("preempted", env.PREEMPTED)


def _tells(name: str, action: int) -> None:
    overload_attribute(EnvType, name)(lambda own: lambda own: _act(own, action, 0, 0.0))


_tells("me", env.DO_ME)
_tells("entity", env.DO_ENTITY)


@intrinsic
def _site(typing: Any, own: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return fixed(builder, args[0], "site", context.get_value_type(own.site))

    return own.site(own), generate


@intrinsic
def _parameters(typing: Any, own: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return fixed(builder, args[0], "parameters", context.get_value_type(own.parameters))

    return own.parameters(own), generate


overload_attribute(EnvType, "site")(attribute(_site))
overload_attribute(EnvType, "params")(attribute(_parameters))
for _name, _implementation in METHODS.items():
    overload_method(EnvType, _name)(_implementation)
