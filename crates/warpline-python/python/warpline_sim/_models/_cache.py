"""Compiled handlers: loaded from files that were written before, or compiled, and written.

The name of a file is a hash of all that the handler depends on: the code of handlers and helpers, the
values of globals and closures, the records, the layout of the context, versions and the processor.
A file has machine code, which LLVM loads in milliseconds. So Numba is imported only where something
is compiled: its start takes longer than all else that a program does before its first event.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import os
import tempfile
import types as python_types
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import binding as llvm

from .. import _native
from ._records import Record

#: By role: `start`, `handle`, `reverse`.
Handlers = dict[str, Callable[..., Any]]


class Cached:
    """The handlers of a model as functions that the engine can call."""

    def __init__(self, handlers: Handlers, records: tuple[Record, Record, Record]) -> None:
        self._handlers, self._records = handlers, records
        key = _Key()
        versions = [version(name) for name in ("numba", "llvmlite", "numpy")]
        key.add((_native.VERSION, versions, _native.layout()))
        key.add(Path(__file__).with_name("_compiler.py").read_text())
        for record in records:
            key.add((str(record.dtype.descr), record.dtype.itemsize, sorted(record.arrays)))
        for role in sorted(handlers):
            key.function(handlers[role])
        #: What the code depends on, wherever it runs.
        self.key = key.digest()
        key.add((llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()))
        key.add(sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_")))
        self._here = key.digest()
        self._compiler: Any = None
        self._addresses: dict[str, int] = {}
        #: What has been loaded must stay.
        self._engines: list[Any] = []
        #: How many handlers were compiled before.
        self.hits = 0
        self.address("start")
        self.address("handle")

    def address(self, role: str) -> int:
        """Where the engine finds a handler."""
        if role not in self._addresses:
            self._addresses[role] = self._load(role) or self._compile(role)
        return self._addresses[role]

    def _file(self, role: str) -> Path:
        return folder() / f"{self._here}.{role}"

    def _load(self, role: str) -> int | None:
        """The address of a handler that was compiled before."""
        try:
            first, _, code = self._file(role).read_bytes().partition(b"\n")
        except OSError:
            return None
        symbol, _, digest = first.decode().partition(" ")
        if hashlib.sha256(code).hexdigest() != digest:
            return None  # It was not written to its end.
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self._engines.append(engine)
        self.hits += 1
        return int(engine.get_function_address(symbol))

    def _compile(self, role: str) -> int:
        if self._compiler is None:
            from ._compiler import Compiled

            self._compiler = Compiled(self.key, self._handlers, self._records)
        address, symbol, code = self._compiler.compile(role)
        if code is not None:
            digest = hashlib.sha256(code).hexdigest()
            write(self._file(role), f"{symbol} {digest}\n".encode() + code)
        return int(address)


def write(path: Path, contents: bytes) -> None:
    """Writes a file as a whole. Another process may do so, too: whoever is last puts the same
    there."""
    other = path.with_suffix(f".{os.getpid()}")
    other.write_bytes(contents)
    other.replace(path)


def folder() -> Path:
    """Where generated modules and compiled code lie."""
    places = [os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")]
    base = next((Path(place) for place in places if place), Path.home() / ".cache")
    folder = base / "warpline_sim"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="warpline_sim"))


def values(function: Any) -> list[tuple[str, Any]]:
    """The globals and closure variables that a function uses, by name."""
    found, codes = {}, [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if inspect.iscode(constant)]
        for instruction in dis.get_instructions(code):
            name = instruction.argval
            if instruction.opname == "LOAD_GLOBAL" and name in function.__globals__:
                found[name] = function.__globals__[name]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found.update({name: cell.cell_contents for name, cell in cells})
    return sorted(found.items())


def is_plain(value: Any) -> bool:
    """Whether it is a function that somebody has written beside the model."""
    return isinstance(value, python_types.FunctionType)


class _Key:
    """A hash of all that compiled code depends on."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: set[int] = set()

    def add(self, value: Any) -> None:
        self._hash.update(repr(value).encode() + b"\0")

    def function(self, function: Any) -> None:
        if hasattr(function, "py_func"):
            self.add(sorted(function.targetoptions.items(), key=str))
            function = function.py_func
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        self.add((function.__qualname__, function.__defaults__))
        self._code(function.__code__)
        for name, value in values(function):
            self.add(name)
            self._value(value, function.__code__.co_names)

    def _code(self, code: Any) -> None:
        inner = [constant for constant in code.co_consts if inspect.iscode(constant)]
        plain = [constant for constant in code.co_consts if not inspect.iscode(constant)]
        self.add((code.co_code, plain, code.co_names, code.co_varnames, code.co_freevars))
        for constant in inner:
            self._code(constant)

    def _value(self, value: Any, names: tuple[str, ...]) -> None:
        if hasattr(value, "py_func") or is_plain(value):
            self.function(value)
        elif isinstance(value, np.ndarray):
            self.add((value.dtype.str, value.shape, value.tobytes()))
        elif inspect.ismodule(value):
            self.add(value.__name__)
            if value.__name__.split(".")[0] not in ("numpy", "math", "numba"):
                for name in names:
                    if hasattr(value, name):
                        self._value(getattr(value, name), names)
        else:
            self.add(value)

    def digest(self) -> str:
        return self._hash.hexdigest()[:16]
