"""Processes compiled by Numba: a generator becomes a function that resumes words in place.

In compiled code a generator is ``{index, {arguments}, {held variables}}``: where it goes on, what
it was called with, and what it needs behind a ``yield``. That lies on the stack while the process
runs, and is made from the process's words and written back to them: first the index; then, at the
beginning, the arguments, and later the held variables. The environment is no part of the words: its
address is put where the generator has it. So two suspended processes that hold the same are equal,
byte for byte, and no address is in them; what has one in itself, such as a list, is refused.

This is how Numba lays a generator out; ``tests/test_processes.py`` pins what is relied on.
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target

from .._errors import ConfigurationError
from .._models._compiler import (
    ParametersType,
    define_parameters,
    in_words,
    is_alone,
    jitted,
    numba_record,
)
from .._models._drawing import I8, I32, I64, fixed, slot
from .._models._records import Record
from . import _overloads as _overloads
from ._env import END, RAISED, WORDS_MAX
from ._facilities import Process, place_of
from ._types import EnvType, OneOfType, value_of, word_of


@dataclass
class Place:
    """A part of a generator: a number, or what is the same at every resumption."""

    #: Where it is in the generator.
    path: tuple[int, ...]
    kind: Any
    #: The type of what is no number: the environment or the parameters.
    own: Any = None
    #: The value of what is always the same.
    constant: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether it takes a word."""
        return self.own is None and self.constant is None


#: A compiled function: its address, its symbol, its machine code, if that can be loaded without
#: Numba, and the words of the process.
Function = tuple[int, str, bytes | None, int]


_COUNT = itertools.count()


class Compiled:
    """The functions of a world, ready to be compiled."""

    def __init__(self, key: str, records: tuple[Record, Record]) -> None:
        site, parameters = records
        of_parameters = type("Parameters", (ParametersType,), {})
        define_parameters(of_parameters, parameters)
        # No other one has these names, even after this one is gone.
        self._name = f"{key}_{next(_COUNT)}"
        own = of_parameters(name=f"Parameters_{self._name}")
        self._env = EnvType(self._name, numba_record(site), own)
        self._done: dict[int, Any] = {}
        #: What has been compiled must stay.
        self._functions: list[Any] = []

    def _typed(self, function: Any, told: str, arguments: list[Any]) -> Any:
        """A function, compiled for its arguments."""
        dispatcher = jitted(function, self._done)
        signature = (self._env, *arguments)
        try:
            dispatcher.compile(signature)
        except NumbaError as error:
            raise ConfigurationError(in_words(error, told, function)) from error
        return dispatcher.overloads[signature]

    def _function(self, name: str, generate: Any, words: int) -> Function:
        """A function for the engine, of addresses to a number, with what `generate` generates."""
        context = cpu_target.target_context
        symbol = f"warpline_{name}_{self._name}"
        library = context.codegen().create_library(symbol)
        module = library.create_ir_module(symbol)
        kinds = [I8.as_pointer()] if words == 0 else [I64.as_pointer(), I8.as_pointer()]
        function = ir.Function(module, ir.FunctionType(I64, kinds), symbol)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        with global_compiler_lock:
            with context.push_code_library(library):
                builder.ret(generate(context, builder, *function.args))
            library.add_ir_module(module)
            library.finalize()
            code = None
            if is_alone(library):
                code = library.codegen._tm.emit_object(library._final_module)
            address = library.get_pointer_to_function(symbol)
        self._functions.append(library)
        return int(address), symbol, code, words

    def start(self, start: Callable[..., Any]) -> Function:
        """What spawns the first processes."""
        return self._function("start", _call(self._typed(start, "@world.start", [])), 0)

    def process(self, process: Process) -> Function:
        """What lets a process of a kind go on."""
        kinds = [numba.from_dtype(kind.dtype) for kind in process.arguments.values()]
        compiled = self._typed(process.function, "@world.process", kinds)
        generator = compiled.signature.return_type
        if not isinstance(generator, types.Generator):
            told = f"{place_of(process.function)}: `{process.name}`"
            raise ConfigurationError(f"{told} is no generator to Numba, but {generator}")
        groups = _places(process, compiled, generator, self._env)
        words = 1 + max(sum(place.is_held for place in group) for group in groups)
        if words > WORDS_MAX:
            raise ConfigurationError(
                f"{place_of(process.function)}: `{process.name}` holds {words - 1} numbers across "
                f"its waits, but may hold {WORDS_MAX - 1}"
            )
        _inline(compiled.library, generator)
        return self._function(process.name, _advance(generator, groups), words)


def _inline(library: Any, generator: Any) -> None:
    """Lets the body of a generator be a part of the function that resumes it: then what it holds
    need not lie in memory while it runs."""
    name = cpu_target.target_context.get_generator_desc(generator).mangled_name
    for function in library._final_module.functions:
        if function.name == name and _can_inline():
            function.add_function_attribute(_INLINE)


_INLINE = "alwaysinline"


@functools.cache
def _can_inline() -> bool:
    """Older versions of llvmlite say it of the value that the function returns."""
    module = llvm.parse_assembly("define void @f() { ret void }")
    module.get_function("f").add_function_attribute(_INLINE)
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


def _places(process: Process, compiled: Any, generator: Any, env: Any) -> list[list[Place]]:
    """The parts of a generator's arguments, and those of its held variables."""
    struct = cpu_target.target_context.get_value_type(generator).pointee
    kinds = ([kind for kind in generator.arg_types if not isinstance(kind, types.Omitted)],
             list(generator.state_types))
    groups = []
    for group, of_group in enumerate(kinds, 1):
        places: list[Place] = []
        for number, kind in enumerate(of_group):
            of_llvm = struct.elements[group].elements[number]
            if kind == env or kind == env.parameters:
                places.append(Place((group, number), of_llvm, kind))
            elif isinstance(kind, types.IntegerLiteral | types.BooleanLiteral):
                constant = int(kind.literal_value)
                places.append(Place((group, number), of_llvm, constant=constant))
            elif isinstance(kind, types.NoneType | types.Dummy | types.Callable | types.Module):
                continue  # It has no value beside its type.
            elif not (_is_plain(kind) and _numbers(of_llvm, (group, number), places)):
                _refuse(process, compiled, kind, env)
        groups.append(places)
    return groups


def _is_plain(kind: Any) -> bool:
    """Whether a value of this type means the same wherever its process is: it has numbers only."""
    if isinstance(kind, types.BaseTuple):
        return all(_is_plain(part) for part in kind)
    if isinstance(kind, types.Optional):
        return _is_plain(kind.type)
    if isinstance(kind, types.UniTupleIter):
        return _is_plain(kind.container)
    if isinstance(kind, types.EnumerateType):
        return _is_plain(kind.source_type)
    numbers = (types.Number, types.Boolean, types.RangeType, types.RangeIteratorType)
    return isinstance(kind, (*numbers, types.NoneType, OneOfType))


def _numbers(kind: Any, path: tuple[int, ...], to: list[Place]) -> bool:
    """Adds the numbers of a type; false if there is something else."""
    if isinstance(kind, ir.IntType | ir.DoubleType | ir.FloatType):
        to.append(Place(path, kind))
        return not isinstance(kind, ir.IntType) or kind.width <= 64
    if isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        is_struct = isinstance(kind, ir.LiteralStructType)
        parts = kind.elements if is_struct else [kind.element] * kind.count
        return all(_numbers(part, (*path, at), to) for at, part in enumerate(parts))
    return False


def _refuse(process: Process, compiled: Any, kind: Any, env: Any) -> None:
    """What is held has an address, which means nothing after the wait."""
    typemap = compiled.type_annotation.typemap
    found = {name.split(".")[0] for name, of_name in typemap.items() if of_name == kind}
    names = sorted(name for name in found if name.isidentifier())
    held = f"`{' or '.join(names)}`" if names else "a value"
    what = "what `env.site` is" if kind == env.site else f"of type {kind}"
    raise ConfigurationError(
        f"{place_of(process.function)}: `{process.name}` holds {held} ({what}) across a `yield`, "
        "but a process that waits can hold only numbers and tuples of them: it may be copied, "
        "undone, and sent elsewhere. Take it anew after the wait, or keep it in the site"
    )


def _advance(generator: Any, groups: list[list[Place]]) -> Any:
    """Resumes the words of a process: returns what it asks for."""

    def generate(context: Any, builder: Any, words: Any, env: Any) -> Any:
        struct = context.get_value_type(generator).pointee
        frame = cgutils.alloca_once(builder, struct)
        builder.store(ir.Constant(struct, None), frame)
        first = builder.load(words)
        index = builder.trunc(first, I32)
        builder.store(index, cgutils.gep_inbounds(builder, frame, 0, 0))
        is_new = builder.icmp_signed("==", index, I32(0))
        with builder.if_else(is_new) as (new, old):
            for branch, places in zip((new, old), groups, strict=True):
                with branch:
                    _unpack(builder, (frame, words, env), places)
        resume = context.get_generator_impl(generator)
        status, asked = resume(context, builder, types.void(generator), [frame])
        context.add_linking_libs(getattr(resume, "libs", ()))
        result = cgutils.alloca_once_value(builder, I64(END))
        with builder.if_then(status.is_ok):
            _pack(builder, frame, words, groups[1])
            index = builder.load(cgutils.gep_inbounds(builder, frame, 0, 0))
            kind = builder.and_(first, I64(0xFFFF_FFFF_0000_0000))
            builder.store(builder.or_(kind, builder.zext(index, I64)), words)
            asked = context.cast(builder, asked, generator.yield_type, types.int64)
            builder.store(asked, result)
        failed = builder.and_(status.is_error, builder.not_(status.is_stop_iteration))
        with builder.if_then(failed, likely=False):
            _keep(builder, env, status)
            builder.store(I64(RAISED), result)
        return builder.load(result)

    return generate


def _call(compiled: Any) -> Any:
    """Calls a compiled function with the environment: 0, or that it has raised an exception."""

    def generate(context: Any, builder: Any, env: Any) -> Any:
        function = context.declare_function(builder.module, compiled.fndesc)
        context.add_linking_libs([compiled.library])
        of_call = compiled.signature
        status, _ = context.call_conv.call_function(
            builder, function, of_call.return_type, of_call.args, [env]
        )
        with builder.if_then(status.is_error, likely=False):
            _keep(builder, env, status)
        return builder.select(status.is_error, I64(RAISED), I64(END))

    return generate


def _unpack(builder: Any, values: tuple[Any, Any, Any], places: list[Place]) -> None:
    """Writes the parts of a generator from the words of a process."""
    frame, words, env = values
    at = 1
    for place in places:
        to = cgutils.gep_inbounds(builder, frame, 0, *place.path)
        if place.is_held:
            word = builder.load(cgutils.gep_inbounds(builder, words, at))
            builder.store(value_of(builder, word, place.kind), to)
            at += 1
        elif place.constant is not None:
            builder.store(place.kind(place.constant), to)
        elif isinstance(place.own, EnvType):
            builder.store(env, to)
        else:
            pointer = fixed(builder, env, "parameters", place.kind)
            builder.store(pointer, to)


def _pack(builder: Any, frame: Any, words: Any, places: list[Place]) -> None:
    """Writes the words of a process from the parts of its generator."""
    at = 1
    for place in places:
        if place.is_held:
            value = builder.load(cgutils.gep_inbounds(builder, frame, 0, *place.path))
            builder.store(word_of(builder, value), cgutils.gep_inbounds(builder, words, at))
            at += 1


def _keep(builder: Any, env: Any, status: Any) -> None:
    """Keeps the address of an exception."""
    address = builder.ptrtoint(status.excinfoptr, I64)
    builder.store(address, slot(builder, env, "exception", I64))
