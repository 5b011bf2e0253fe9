"""Compiled processes: loaded from files that were written before, or compiled, and written.

As for handlers (`_models/_cache`): the name of a file is a hash of all that the code depends on.
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import _native
from .._models._cache import folder, here, keep, load, private_folder
from .._models._key import Key
from .._models._records import Record
from ._facilities import Process

#: The modules that machine code is made by.
_SOURCES = (
    "_compiler.py",
    "_env.py",
    "_overloads.py",
    "_spawning.py",
    "_types.py",
    "../_models/_compiler.py",
    "../_models/_drawing.py",
)


class Cached:
    """The functions of a world, as the engine can call them."""

    def __init__(
        self,
        start: Callable[..., Any],
        processes: list[Process],
        records: tuple[Record, Record],
    ) -> None:
        key = Key()
        versions = [version(name) for name in ("numba", "llvmlite", "numpy")]
        layouts = (_native.process_layout(), _native.constants_layout())
        key.add((_native.VERSION, versions, layouts, _native.laws()))
        key.add(sys.implementation.cache_tag)
        for name in _SOURCES:
            key.add((Path(__file__).parent / name).read_text())
        for record in records:
            key.add((record.dtype, record.arrays))
        key.add(start)
        for process in processes:
            key.add((process.name, process.key(), process.function))
        #: What the code depends on, wherever it runs.
        self.key = key.digest()
        key.add(here())
        self._file = (private_folder() if key.is_opaque else folder()) / key.digest()
        self._records = records
        self._compiler: Any = None
        #: What has been loaded must stay.
        self._engines: list[Any] = []
        #: How many functions were compiled before.
        self.hits = 0
        self.start = self._found("start", lambda compiler: compiler.start(start))[0]
        #: Of each kind of processes the address, and the words of a process.
        self.processes = [
            self._found(f"process{process.number}", lambda it, of=process: it.process(of))
            for process in processes
        ]

    def _found(self, role: str, compile: Callable[..., Any]) -> tuple[int, int]:
        path = self._file.with_suffix(f".{role}")
        found = load(path)
        if found is not None:
            address, words, engine = found
            self._engines.append(engine)
            self.hits += 1
            return address, int(words)
        if self._compiler is None:
            from ._compiler import Compiled

            self._compiler = Compiled(self.key, self._records)
        address, symbol, code, of_process = compile(self._compiler)
        if code is not None:
            keep(path, symbol, code, str(of_process))
        return address, of_process
