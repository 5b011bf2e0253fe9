"""Records: states, messages and parameters are plain fields that lie side by side in memory."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .._errors import ConfigurationError

_Class = TypeVar("_Class", bound=type[Any])


@dataclass(frozen=True)
class Kind:
    """A type of numbers; ``wl.f64[8]`` is an array of eight of them, ``wl.f64[4, 2]`` a table."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()

    def __getitem__(self, shape: int | tuple[int, ...]) -> Kind:
        return Kind(self.dtype, shape if isinstance(shape, tuple) else (shape,))


i8, i16, i32, i64 = (Kind(np.dtype(f"i{size}")) for size in (1, 2, 4, 8))
u8, u16, u32, u64 = (Kind(np.dtype(f"u{size}")) for size in (1, 2, 4, 8))
f32, f64 = (Kind(np.dtype(f"f{size}")) for size in (4, 8))


class Array:
    """``wl.Array[wl.f64]`` among parameters: an array of any length, which all LPs read."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __class_getitem__(cls, kind: Kind) -> Array:
        return cls(kind)


@dataclass(frozen=True)
class Record:
    """What a record class declares."""

    name: str
    #: The fields as they lie in memory. An array of any length is its address and its length.
    dtype: np.dtype[Any]
    #: Arrays of any length, by name.
    arrays: dict[str, np.dtype[Any]]

    @property
    def words(self) -> int:
        """64-bit words that a record takes."""
        return -(-self.dtype.itemsize // 8) if self.fields else 0

    @property
    def fields(self) -> list[str]:
        """The names that handlers use."""
        hidden = {name + end for name in self.arrays for end in _PARTS}
        return [name for name in self.dtype.names or () if name not in hidden] + list(self.arrays)


#: What an array of any length is among parameters.
_PARTS = ("_address", "_length")


def _declared(cls: type[Any], arrays_allowed: bool) -> Record:
    fields: list[tuple[Any, ...]] = []
    arrays: dict[str, np.dtype[Any]] = {}
    for name, kind in inspect.get_annotations(cls, eval_str=True).items():
        if isinstance(kind, Array) and arrays_allowed:
            arrays[name] = kind.kind.dtype
            fields += [(name + part, np.int64) for part in _PARTS]
        elif isinstance(kind, Kind):
            fields.append((name, kind.dtype, kind.shape) if kind.shape else (name, kind.dtype))
        else:
            allowed = "wl.i8 to wl.i64, wl.u8 to wl.u64, wl.f32, wl.f64, and arrays as wl.f64[8]"
            more = "; wl.Array[wl.f64] for any length" if arrays_allowed else ""
            raise ConfigurationError(
                f"`{cls.__name__}.{name}` is {kind!r}, but must be one of {allowed}{more}"
            )
    return Record(cls.__name__, np.dtype(fields, align=True), arrays)


def _record(arrays_allowed: bool) -> Any:
    def declare(cls: _Class) -> _Class:
        record = _declared(cls, arrays_allowed)

        def init(self: Any, **values: Any) -> None:
            unknown(values, record.fields, f"field of `{cls.__name__}`")
            self.__dict__.update(values)

        setattr(cls, "_record", record)
        # For arrays of records, such as the states that `run` takes and returns.
        setattr(cls, "dtype", record.dtype)
        setattr(cls, "__init__", init)
        return cls

    return declare


#: The state of an LP.
state = _record(False)
#: The contents of an event.
message = _record(False)
#: What all handlers read, and none writes.
params = _record(True)


def record_of(cls: type[Any], decorator: str) -> Record:
    """What a class declares that has the decorator."""
    record = getattr(cls, "_record", None)
    if not isinstance(record, Record):
        raise ConfigurationError(
            f"`{cls.__name__}` is not a record: write `@wl.{decorator}` before it"
        )
    return record


def meant(name: str, known: list[str]) -> str:
    """What may have been meant by a name that is not known, and all that may be written."""
    near = difflib.get_close_matches(name, known, 1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    return f"{hint} (allowed: {', '.join(known) or 'none'})"


def unknown(names: Any, known: list[str], what: str) -> None:
    """Refuses a name that is not known, and proposes the nearest."""
    for name in names:
        if name not in known:
            raise ConfigurationError(f"unknown {what} `{name}`{meant(name, known)}")


def filled(record: Record, values: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A record with these values as an array without dimensions, and what must stay alive."""
    unknown(values, record.fields, f"field of `{record.name}`")
    whole = np.zeros((), record.dtype)
    kept = []
    for name, value in values.items():
        if name in record.arrays:
            array = np.ascontiguousarray(value, record.arrays[name]).reshape(-1)
            whole[name + _PARTS[0]], whole[name + _PARTS[1]] = array.ctypes.data, array.size
            kept.append(array)
        else:
            whole[name] = value
    return whole, kept


def fields_of(record: Record) -> list[tuple[str, str, int, int | None]]:
    """Name, kind of number, offset and length of each field."""
    fields: Any = record.dtype.fields or {}
    return [
        (name, kind.base.str[1:], offset, int(np.prod(kind.shape)) if kind.shape else None)
        for name, (kind, offset, *_) in fields.items()
    ]


def words_of(array: Any) -> bytes:
    """The bytes of a record, with zeros up to whole words."""
    return bytes(array.tobytes().ljust(-(-array.nbytes // 8) * 8, b"\0"))


class View:
    """A record with attributes, for the interpreter. Numbers are those of Python, so that 1 / 0
    raises as it does in compiled code."""

    __slots__ = ("_array", "_arrays")

    def __init__(self, array: Any, arrays: dict[str, Any] | None = None) -> None:
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_arrays", arrays or {})

    def __getattr__(self, name: str) -> Any:
        if name in self._arrays:
            return self._arrays[name]
        value = self._array[name]
        return value if value.ndim else value.item()

    def __setattr__(self, name: str, value: Any) -> None:
        self._array[name] = value
