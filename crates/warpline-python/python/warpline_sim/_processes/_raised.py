"""Exceptions in compiled processes: what Numba keeps of them, and where the process was.

Called by `_world`, for a run that a process has ended.
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import ctypes

from numba.core.compiler import run_frontend
from numba.core.postproc import PostProcessor
from numba.core.serialize import loads, runtime_build_excinfo_struct

from ._facilities import Process


class _Raised(ctypes.Structure):
    """An exception of Numba: pickled, with arguments beside it if they were not known before."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_int32),
        ("arguments", ctypes.c_void_p),
        ("unwrap", ctypes.c_void_p),
        ("count", ctypes.c_int32),
    ]


def exception_at(address: int) -> Exception | None:
    """The exception that a function has kept, with its place in a note, if that is known."""
    if not address:
        return None
    found = _Raised.from_address(address)
    pickled = ctypes.string_at(found.data, found.length)
    if found.count > 0:
        unwrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(found.unwrap)
        kind, arguments, place = runtime_build_excinfo_struct(pickled, unwrap(found.arguments))
    else:
        kind, arguments, place = loads(pickled)
    raised = kind(*(arguments or ()))
    if place is not None:
        name, file, line = place
        raised.add_note(f'File "{file}", line {line}, in {name}')
    return raised if isinstance(raised, Exception) else None


def wait_in(process: Process, index: int) -> str | None:
    """Behind which wait a process has gone on, in words."""
    code = run_frontend(process.function)
    PostProcessor(code).run()
    point = code.generator_info.yield_points.get(index)
    if point is None:
        return None
    place = point.inst.loc
    return f'File "{place.filename}", line {place.line}, in {process.name}: after this wait'
