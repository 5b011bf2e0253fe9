"""Handlers compiled by Numba to functions that the engine calls.

A handler becomes ``handle(state*, message*, context*) -> int32``. The records are
Numba's own; the context is a pointer to the engine's structure, whose fields ``_native.layout``
places. What a handler calls on it becomes a few instructions: random numbers come from the words of
the LP's stream (`_drawing`), and ``send`` writes into the outbox.

Entries lie in a generated module whose name is a hash of all that they depend on (`_cache`), because
Numba's own key knows only the entry function.
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
import sys
import types as python_types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.core.errors import NumbaError
from numba.core.datamodel import models
from numba.extending import (
    intrinsic,
    overload,
    overload_attribute,
    overload_method,
    register_model,
)

from .._errors import ConfigurationError
from ._cache import Handlers, write
from ._check import decorator
from ._drawing import F64, I8, I32, I64, METHODS, fixed, slot
from ._key import is_plain, values
from ._records import _PARTS, Record
from ._statistics import FUNCTIONS

#: Words of an event in the outbox beside its message: receiver and delay.
_HEAD = 2


class ContextType(types.Type):
    """The context. A model has a class of its own, because it has its own parameters."""


class ParametersType(types.Type):
    """The parameters, with arrays of any length."""


class PointerModel(models.OpaqueModel):
    pass


def loader(field: str, of_numba: Any, of_llvm: Any) -> Any:
    @intrinsic
    def load(typing: Any, cx: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return fixed(builder, args[0], field, of_llvm)

        return of_numba(cx), generate

    return load


#: The attributes of a context.
_ATTRIBUTES = {
    "now": loader("now", types.float64, F64),
    "me": loader("me", types.int64, I64),
    "lp_count": loader("lp_count", types.int64, I64),
    "noted": loader("note", types.int64, I64),
    "noted_float": loader("note", types.float64, F64),
}


@intrinsic
def _note(typing: Any, cx: Any, number: Any) -> Any:
    """Leaves a word for the reverse handler: a whole number, or the bits of another one."""
    kind = types.float64 if isinstance(number, types.Float) else types.int64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = context.cast(builder, args[1], signature.args[1], kind)
        builder.store(value, slot(builder, args[0], "note", value.type))
        return context.get_dummy_value()

    return types.void(cx, number), generate


@intrinsic
def _pointer(typing: Any, address: Any, kind: Any) -> Any:
    """An address as a pointer to numbers of this kind."""
    pointer = types.CPointer(kind.dtype)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(pointer))

    return pointer(types.int64, kind), generate


def _compile_where_called(function: Any) -> None:
    """Lets handlers call a function as an attribute of a module, as in ``wl.tally(…)``."""

    # Numba wants the parameters of the function that is returned.
    @functools.wraps(function)
    def typed(*_: Any, **__: Any) -> Any:
        return function

    overload(function)(typed)


for _function in FUNCTIONS:
    _compile_where_called(_function)


def _define_context(context: Any, parameters: Any, message: Record) -> None:
    """What the context of one model can do."""
    register_model(context)(PointerModel)
    for name, load in _ATTRIBUTES.items():
        overload_attribute(context, name)(attribute(load))

    @intrinsic
    def model(typing: Any, cx: Any) -> Any:
        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = target.get_value_type(parameters)
            return fixed(builder, args[0], "parameters", kind)

        return parameters(cx), generate

    overload_attribute(context, "model")(attribute(model))
    methods = {**METHODS, "note": lambda cx, number: lambda cx, number: _note(cx, number)}
    for name, implementation in methods.items():
        overload_method(context, name)(implementation)
    overload_method(context, "send")(_send(message))


def attribute(load: Any) -> Any:
    return lambda cx: lambda cx: load(cx)


def _send(message: Record) -> Any:
    """The overload of ``send`` for messages with these fields."""
    stride = 8 * (_HEAD + message.words)
    names = list(message.dtype.names or ())
    slots: Any = message.dtype.fields or {}
    places = [(8 * _HEAD + slots[name][1], numba.from_dtype(slots[name][0])) for name in names]

    @intrinsic
    def put(typing: Any, cx: Any, to: Any, delay: Any, values: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            cx, to, delay, values = args
            of_to, of_delay, of_values = signature.args[1:]
            length = slot(builder, cx, "len", I64)
            number = builder.load(length)
            is_full = builder.load(slot(builder, cx, "capacity", I64))
            with builder.if_then(builder.icmp_unsigned("==", number, is_full), likely=False):
                kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer()]).as_pointer()
                builder.call(fixed(builder, cx, "grow", kind), [cx])
            out = builder.load(slot(builder, cx, "out", I8.as_pointer()))
            event = builder.gep(out, [builder.mul(number, I64(stride))])

            def store(offset: int, value: Any) -> None:
                place = builder.gep(event, [I32(offset)])
                builder.store(value, builder.bitcast(place, value.type.as_pointer()))

            store(0, context.cast(builder, to, of_to, types.int64))
            store(8, context.cast(builder, delay, of_delay, types.float64))
            for word in range(message.words):
                store(8 * (_HEAD + word), I64(0))
            for at, (offset, kind) in enumerate(places):
                given = of_values[at]
                if given is types.none or isinstance(given, types.Omitted):
                    continue
                value = builder.extract_value(values, at)
                if isinstance(kind, types.NestedArray):
                    size = kind.dtype.bitwidth // 8
                    for entry in range(len(given)):
                        one = builder.extract_value(value, entry)
                        one = context.cast(builder, one, given[entry], kind.dtype)
                        store(offset + entry * size, one)
                else:
                    store(offset, context.cast(builder, value, given, kind))
            builder.store(builder.add(number, I64(1)), length)
            return context.get_dummy_value()

        return types.void(cx, to, delay, values), generate

    # Overloads know no **fields, so there is one with the names of this message.
    optional = "".join(f", {name}=None" for name in names)
    values = "(" + "".join(f"{name}, " for name in names) + ")"
    source = (
        f"def send(cx, to, delay{optional}):\n"
        f"    def implementation(cx, to, delay{optional}):\n"
        f"        put(cx, to, delay, {values})\n"
        f"    return implementation\n"
    )
    space: dict[str, Any] = {"put": put}
    exec(source, space)
    return space["send"]


def define_parameters(parameters: Any, record: Record) -> None:
    """The parameters as attributes: numbers, and arrays of any length."""
    register_model(parameters)(PointerModel)
    of_record = numba_record(record)

    @intrinsic
    def as_record(typing: Any, own: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(of_record))

        return of_record(own), generate

    for name in record.fields:
        space: dict[str, Any] = {"as_record": as_record, "carray": carray, "pointer": _pointer}
        if name in record.arrays:
            space["kind"] = numba.from_dtype(record.arrays[name])
            address, length = (f"as_record(own).{name}{part}" for part in _PARTS)
            found = f"carray(pointer({address}, kind), {length})"
        else:
            found = f"as_record(own).{name}"
        source = f"def get(own):\n    def implementation(own):\n        return {found}\n"
        exec(source + "    return implementation\n", space)
        overload_attribute(parameters, name)(space["get"])


def numba_record(record: Record) -> Any:
    # Numba knows no records without fields.
    return numba.from_dtype(record.dtype if record.fields else np.dtype([("_", "u8")]))


_ENTRIES = '''"""Entries of a model's handlers. Generated by warpline_sim; may be deleted."""

from warpline_sim._models import _compiler


class Context(_compiler.ContextType):
    pass


class Parameters(_compiler.ParametersType):
    pass


def start(state, message, cx):
    try:
        user_start(state, cx)
    except Exception:
        return 1
    return 0


def handle(state, message, cx):
    try:
        user_handle(state, message, cx)
    except Exception:
        return 1
    return 0


def reverse(state, message, cx):
    try:
        user_reverse(state, message, cx)
    except Exception:
        return 1
    return 0
'''


class Compiled:
    """The handlers of a model, ready to be compiled."""

    def __init__(
        self, key: str, folder: Path, handlers: Handlers, records: tuple[Record, ...]
    ) -> None:
        state, message, parameters = records
        module = _module(key, folder)
        self._folder, self._handlers = folder, handlers
        of_parameters = module.Parameters(name=f"Parameters_{key}")
        define_parameters(module.Parameters, parameters)
        _define_context(module.Context, of_parameters, message)
        of_context = module.Context(name=f"Context_{key}")
        self._signature = types.int32(numba_record(state), numba_record(message), of_context)
        done: dict[int, Any] = {}
        for role, handler in handlers.items():
            # Into the entry: a call less for each event.
            setattr(module, f"user_{role}", jitted(handler, done, forceinline=True))
        self._module = module
        #: What has been compiled must stay.
        self._functions: list[Any] = []

    def compile(self, role: str) -> tuple[int, str, bytes | None]:
        """Compiles a handler. Returns its address, its symbol, and its machine code, if that can be
        loaded without Numba: if it needs nothing of Numba's."""
        # With a cache, Numba keeps the machine code.
        with _numba_keeps_in(self._folder):
            decorate = cfunc(self._signature, boundscheck=True, cache=True)
            try:
                compiled = decorate(getattr(self._module, role))
            except NumbaError as error:
                raise ConfigurationError(in_words(error, decorator(role), self._handlers[role])) from error
        self._functions.append(compiled)
        library, code = compiled._library, None
        if not compiled.cache_hits and is_alone(library):
            code = library._get_compiled_object()
        return int(compiled.address), compiled._wrapper_name, code


def in_words(error: NumbaError, told: str, handler: Any) -> str:
    """Why Numba does not compile a function, with file and line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    # The first place is the innermost one; the last one is in the generated module.
    places = re.findall(r" at (/.+?) \((\d+)\)", text)
    code = handler.__code__
    place = next((place for place in places if "/_warpline_" not in place[0]), None)
    file, line = place or (code.co_filename, code.co_firstlineno)
    # Where a method of ours refuses its arguments, Numba tells first that there is no other.
    own = re.findall(r"raised a specific error:\s+TypingError: (.+)", text)
    lines = own[:1] + [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith(("Failed in", "During:", "- "))]
    what = said[0].split(": %")[0] if said else type(error).__name__
    statement = re.search(r'lowering "(.+?)" at ', text)
    where = f" in `{statement[1].replace('(state)', 'state')}`" if statement else ""
    return f"{file}:{line}: `{told}` cannot be compiled{where}: {what:.300}"


def is_alone(library: Any) -> bool:
    """Whether compiled code needs nothing of Numba's, and no address of this process."""
    needed = [*library._final_module.functions, *library._final_module.global_variables]
    return not library.has_dynamic_globals and all(
        _is_common(one.name) for one in needed if one.is_declaration
    )


def _is_common(symbol: str) -> bool:
    """Whether every Python process has it, as it has the functions of C's mathematical library."""
    return symbol.startswith("llvm.") or hasattr(ctypes.CDLL(None), symbol)


@contextmanager
def _numba_keeps_in(folder: Path) -> Iterator[None]:
    """Numba keeps what it compiles in a folder that was looked at, not in any that
    ``NUMBA_CACHE_DIR`` names: what it finds there it executes."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def _module(key: str, folder: Path) -> Any:
    """The generated module with this key."""
    name = f"_warpline_{key}"
    if name in sys.modules:
        return sys.modules[name]
    path = folder / f"{name}.py"
    if not path.exists():
        write(path, _ENTRIES.encode())
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def jitted(function: Any, done: dict[int, Any], **options: bool) -> Any:
    """A function ready to be compiled, and with it the helpers that it calls."""
    if id(function) in done:
        return done[id(function)]
    # A copy, so that the globals of the model's module stay as they are.
    space = dict(function.__globals__)
    closure = tuple(python_types.CellType() for _ in function.__code__.co_freevars)
    copy = python_types.FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, closure or None
    )
    done[id(function)] = njit(boundscheck=True, **options)(copy)
    for name, value in values(function):
        if is_plain(value):
            value = jitted(value, done)
        if name in function.__code__.co_freevars:
            closure[function.__code__.co_freevars.index(name)].cell_contents = value
        else:
            space[name] = value
    return done[id(function)]
