"""Compiled handlers: loaded from files that were written before, or compiled, and written.

The name of a file is a hash (`_key`) of all that the handler depends on: the code of handlers and
helpers, the values of globals and closures, the records, the layout of the context, versions and the
processor. A file has machine code, which LLVM loads in milliseconds. So Numba is imported only where
something is compiled: its start takes longer than all else that a program does before its first event.

What is loaded is executed, so nobody else may be able to write the folder.
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from .. import _native
from ._key import Key
from ._records import Record

#: By role: `start`, `handle`, `reverse`.
Handlers = dict[str, Callable[..., Any]]


class Cached:
    """The handlers of a model as functions that the engine can call."""

    def __init__(self, handlers: Handlers, records: tuple[Record, Record, Record]) -> None:
        self._handlers, self._records = handlers, records
        key = Key()
        versions = [version(name) for name in ("numba", "llvmlite", "numpy")]
        layouts = (_native.layout(), _native.constants_layout())
        key.add((_native.VERSION, versions, layouts, _native.laws()))
        key.add(sys.implementation.cache_tag)
        for name in ("_compiler.py", "_drawing.py"):
            key.add(Path(__file__).with_name(name).read_text())
        for record in records:
            key.add((record.dtype, record.arrays))
        for role in sorted(handlers):
            key.add((role, handlers[role]))
        #: What the code depends on, wherever it runs.
        self.key = key.digest()
        key.add(here())
        self._here = key.digest()
        #: Nobody finds again what has a key that nobody else has.
        self._folder = private_folder() if key.is_opaque else folder()
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
        return self._folder / f"{self._here}.{role}"

    def _load(self, role: str) -> int | None:
        """The address of a handler that was compiled before."""
        found = load(self._file(role))
        if found is None:
            return None
        address, _, engine = found
        self._engines.append(engine)
        self.hits += 1
        return address

    def _compile(self, role: str) -> int:
        if self._compiler is None:
            from ._compiler import Compiled

            self._compiler = Compiled(self.key, self._folder, self._handlers, self._records)
        address, symbol, code = self._compiler.compile(role)
        if code is not None:
            keep(self._file(role), symbol, code)
        return int(address)


def here() -> tuple[Any, ...]:
    """What machine code depends on beside its source."""
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), settings


def keep(path: Path, symbol: str, code: bytes, note: str = "") -> None:
    """Writes the machine code of a function, with a note."""
    digest = hashlib.sha256(code).hexdigest()
    write(path, f"{symbol} {digest} {note}\n".encode() + code)


def load(path: Path) -> tuple[int, str, Any] | None:
    """The address of a function that was compiled before, the note, and what must stay."""
    try:
        first, _, code = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    parts = first.decode(errors="replace").split(" ")
    if len(parts) != 3 or hashlib.sha256(code).hexdigest() != parts[1]:
        return None  # It was not written to its end.
    symbol, _, note = parts
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(symbol)), note, engine


def write(path: Path, contents: bytes) -> None:
    """Writes a file as a whole: under a name that nobody can foresee, and then under its own.
    Another process may do so, too: whoever is last puts the same there."""
    number, other = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(contents)
        os.replace(other, path)
    except BaseException:
        os.unlink(other)
        raise


def folder() -> Path:
    """Where generated modules and compiled code lie."""
    places = [os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")]
    base = next((Path(place) for place in places if place), Path.home() / ".cache")
    return _trusted(base / "warpline_sim")


@functools.cache
def _trusted(folder: Path) -> Path:
    """The folder, made if it is not there; a private one in its place if others can write it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        why = _distrust(folder)
    except OSError as error:
        why = str(error)
    if why is None:
        return folder
    warnings.warn(
        f"compiled handlers are not kept, so the next start compiles them again: {why}. "
        f"NUMBA_CACHE_DIR names another place than {folder}",
        RuntimeWarning,
        stacklevel=2,
    )
    return private_folder()


def _distrust(folder: Path) -> str | None:
    """Why code from this folder must not be executed."""
    if not hasattr(os, "geteuid"):
        return None  # Windows: the folder of a user is the user's.
    for found in (folder.lstat(), folder.stat()):
        if found.st_uid != os.geteuid():
            return f"{folder} belongs to another user ({found.st_uid})"
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder} is not a folder"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write {folder} (mode {stat.S_IMODE(found.st_mode):o}; `chmod 700` it)"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} cannot be written"
    return None


@functools.cache
def private_folder() -> Path:
    """A folder of this process, which is gone after it."""
    folder = Path(tempfile.mkdtemp(prefix="warpline_sim"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
