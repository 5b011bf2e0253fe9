"""Models written in Python: records, handlers, and runs on every engine.

``_records`` has the types of fields, ``_model`` the model, ``_check`` looks for mistakes before
anything is compiled, ``_compiler`` compiles handlers with Numba, and ``_interpreter`` runs them
without.
"""

from ._model import Model
from ._records import (
    Array,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    message,
    params,
    state,
    u8,
    u16,
    u32,
    u64,
)

__all__ = [
    "Array",
    "Model",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "message",
    "params",
    "state",
    "u8",
    "u16",
    "u32",
    "u64",
]
