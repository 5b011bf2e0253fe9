"""Hashes of all that something depends on: what compiled handlers are made of, and what a run is.

`_cache` names files by them, and ranks compare them. Bytes are hashed, each value with its type and
its length, so that no two values look the same: not the text of `repr`, which shortens arrays. What
has no bytes that say all, such as an object of a foreign class, makes the key one that nobody else
has (`is_opaque`).
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import dis
import enum
import hashlib
import inspect
import os
import struct
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

#: What compiled code calls of this package. What else it has may have the name of an attribute, as
#: `params`.
_CALLED = frozenset({"add_level", "count", "set_level", "tally"})
#: Modules whose version is part of a key, and not what they have.
_VERSIONED = ("numpy", "math", "cmath", "numba", "builtins")


def codes_of(function: Any) -> list[Any]:
    """The code of a function, and of those that are written in it."""
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if inspect.iscode(constant)]
    return codes


def values(function: Any) -> list[tuple[str, Any]]:
    """The globals and closure variables that a function uses, by name."""
    found = {}
    for code in codes_of(function):
        for instruction in dis.get_instructions(code):
            name = instruction.argval
            if instruction.opname == "LOAD_GLOBAL" and name in function.__globals__:
                found[name] = function.__globals__[name]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found.update({name: cell.cell_contents for name, cell in cells})
    return sorted(found.items())


def is_plain(value: Any) -> bool:
    """Whether it is a function that somebody has written beside the model."""
    return isinstance(value, types.FunctionType)


class Key:
    """A hash of values."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        #: Functions and modules that are part of it, by their place.
        self._seen: dict[int, int] = {}
        #: Modules of which these names are part of it.
        self._asked: set[tuple[int, frozenset[str]]] = set()
        #: They must stay: another one might take the place of one that is gone.
        self._kept: list[Any] = []
        #: Whether it has something that cannot be hashed: no other key is the same.
        self.is_opaque = False

    def digest(self) -> str:
        return self._hash.hexdigest()[:32]

    def add(self, value: Any, names: frozenset[str] = frozenset()) -> None:
        """Adds a value. Of a module, what has one of these names is added, too."""
        kind = type(value)
        if kind in _ATOMS:
            self._bytes(kind.__name__, _ATOMS[kind](value))
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._dtype(value.dtype)
            self._bytes("shape", repr(value.shape).encode())
            self._bytes("array", value.tobytes())
        elif isinstance(value, np.generic) and not value.dtype.hasobject:
            self._dtype(value.dtype)
            self._bytes("number", value.tobytes())
        elif isinstance(value, np.dtype):
            self._dtype(value)
        elif _is_versioned(value):
            self._bytes("name", f"{value.__module__}.{value.__name__}".encode())
        elif hasattr(value, "py_func") or is_plain(value):
            self._function(value)
        elif inspect.iscode(value):
            self._code(value)
        elif inspect.ismodule(value):
            self._module(value, names)
        elif isinstance(value, enum.Enum):
            self._bytes("enum", f"{kind.__module__}.{kind.__qualname__}.{value.name}".encode())
            self.add(value.value)
        elif hasattr(value, "key") and _is_own(value):
            self.add(value.key())
        elif isinstance(value, tuple | list):
            self._bytes("items", f"{_named(kind)} {len(value)}".encode())
            for item in value:
                self.add(item)
        elif kind is dict:
            self.add(list(value.items()))
        elif kind is slice:
            self._bytes("slice", b"")
            self.add((value.start, value.stop, value.step))
        elif kind in (set, frozenset):
            self._bytes("set", b"".join(sorted(self._alone(item) for item in value)))
        else:
            self._other(value)

    def _other(self, value: Any) -> None:
        """A value that its name stands for, or one that cannot be hashed."""
        name = getattr(value, "__name__", "")
        if value is Ellipsis:
            self._bytes("ellipsis", b"")
        elif type(value).__module__.startswith("numba.core.types"):
            self._bytes("numba type", str(value).encode())
        elif isinstance(value, np.ufunc) and getattr(np, name, None) is value:
            self._bytes("ufunc", name.encode())
        elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            self._bytes("named tuple", _named(value).encode())
        elif isinstance(value, type) and issubclass(value, enum.Enum):
            self._bytes("enum type", _named(value).encode())
            self.add([(member.name, member.value) for member in value])
        else:
            self.is_opaque = True
            self._bytes("opaque", os.urandom(16))

    def _bytes(self, kind: str, contents: bytes) -> None:
        self._hash.update(f"{kind} {len(contents)} ".encode())
        self._hash.update(contents)

    def _alone(self, value: Any) -> bytes:
        key = Key()
        key.add(value)
        self.is_opaque |= key.is_opaque
        return key._hash.digest()

    def _dtype(self, dtype: Any) -> None:
        """A type of numbers, or of records."""
        if dtype.subdtype is not None:
            self._bytes("part", repr(dtype.shape).encode())
            self._dtype(dtype.base)
        elif dtype.fields is None:
            self._bytes("dtype", dtype.str.encode())
        else:
            self._bytes("record", f"{dtype.itemsize} {len(dtype.names)}".encode())
            for name in dtype.names:
                of_field, offset = dtype.fields[name][:2]
                self._bytes(f"{offset}", name.encode())
                self._dtype(of_field)

    def _is_known(self, value: Any) -> bool:
        """Whether it is part of the key already; else it is now."""
        if id(value) in self._seen:
            self._bytes("seen", str(self._seen[id(value)]).encode())
            return True
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        return False

    def _function(self, function: Any) -> None:
        if hasattr(function, "py_func"):
            self.add(sorted(getattr(function, "targetoptions", {}).items()))
            function = function.py_func
        if self._is_known(function):
            return
        self.add((function.__qualname__, function.__defaults__, function.__kwdefaults__))
        self._code(function.__code__)
        names = frozenset(name for code in codes_of(function) for name in code.co_names)
        for name, value in values(function):
            self.add(name)
            self.add(value, names)

    def _code(self, code: Any) -> None:
        self.add((code.co_code, code.co_exceptiontable, code.co_flags, code.co_argcount))
        self.add((code.co_posonlyargcount, code.co_kwonlyargcount, code.co_consts))
        self.add((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))

    def _module(self, module: Any, names: frozenset[str]) -> None:
        """What a function may have of a module; another function may have more of it, also of the
        modules in it."""
        self._bytes("module", module.__name__.encode())
        if module.__name__.split(".")[0] in _VERSIONED:
            return
        if module.__name__ == __package__.split(".")[0]:
            names &= _CALLED
        self._is_known(module)
        if (id(module), names) in self._asked:
            return
        self._asked.add((id(module), names))
        for name in sorted(names):
            if hasattr(module, name):
                self.add(name)
                self.add(getattr(module, name), names)


def _is_versioned(value: Any) -> bool:
    """Whether it is what its name says in a module whose version is part of a key."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return False
    known = getattr(sys.modules.get(module), name, None)
    return module.split(".")[0] in _VERSIONED and known is value


def _is_own(value: Any) -> bool:
    """Whether it is a facility or a process of a world, which says itself what it is."""
    return type(value).__module__.startswith("warpline_sim._processes")


def _named(kind: type[Any]) -> str:
    """A kind of sequence; a named tuple has its fields, too."""
    return f"{kind.__module__}.{kind.__qualname__}{getattr(kind, '_fields', '')}"


#: The bytes of values without parts, by their type.
_ATOMS: dict[type[Any], Callable[[Any], bytes]] = {
    type(None): lambda _: b"",
    bool: lambda value: b"1" if value else b"0",
    int: lambda value: str(value).encode() if abs(value) < 2**4000 else hex(value).encode(),
    float: lambda value: struct.pack("=d", value),
    complex: lambda value: struct.pack("=dd", value.real, value.imag),
    str: lambda value: value.encode("utf-8", "surrogatepass"),
    bytes: lambda value: value,
}
