"""Records: states, messages and parameters are plain fields that lie side by side in memory."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

import numpy as np

from .._errors import ConfigurationError

_Class = TypeVar("_Class")
_Number = TypeVar("_Number")


@dataclass(frozen=True)
class Kind:
    """A type of numbers; ``wl.f64[8]`` is an array of eight of them, ``wl.f64[4, 2]`` a table.

    To a type checker, they are ``int`` and ``float`` (``warpline_sim/__init__.py``).
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()

    def __getitem__(self, shape: int | tuple[int, ...]) -> Kind:
        return Kind(self.dtype, shape if isinstance(shape, tuple) else (shape,))


i8, i16, i32, i64 = (Kind(np.dtype(f"i{size}")) for size in (1, 2, 4, 8))
u8, u16, u32, u64 = (Kind(np.dtype(f"u{size}")) for size in (1, 2, 4, 8))
f32, f64 = (Kind(np.dtype(f"f{size}")) for size in (4, 8))


class Array(Generic[_Number]):
    """``wl.Array[wl.f64]`` among parameters: an array of any length, which all LPs read.
    ``Annotated[wl.Array[wl.f64], 8]`` is one of eight numbers, as ``wl.f64[8]``, which type checkers
    do not take for a type; ``Annotated[wl.Array[wl.f64], 4, 2]`` is a table."""

    if TYPE_CHECKING:
        # A field takes any sequence of numbers, and handlers see an array.
        def __set__(self, owner: object, values: Any) -> None: ...
        def __get__(self, owner: object, kind: Any = None) -> Array[_Number]: ...
        def __getitem__(self, index: Any) -> _Number: ...
        def __setitem__(self, index: Any, value: _Number) -> None: ...
        def __iter__(self) -> Iterator[_Number]: ...
        def __len__(self) -> int: ...


@dataclass(frozen=True)
class Record:
    """What a record class declares."""

    name: str
    #: The fields as they lie in memory. An array of any length is its address and its length.
    dtype: np.dtype[Any]
    #: Arrays of any length, by name.
    arrays: dict[str, np.dtype[Any]]
    #: The values of parameters that are not given; zero without one.
    defaults: dict[str, Any] = field(default_factory=dict)
    #: Statistics of a state, by name: kind, unit and meaning.
    statistics: dict[str, tuple[str, str, str]] = field(default_factory=dict)

    @property
    def words(self) -> int:
        """64-bit words that a record takes."""
        return -(-self.dtype.itemsize // 8) if self.fields else 0

    @property
    def fields(self) -> list[str]:
        """The names that handlers use."""
        hidden = {name + end for name in self.arrays for end in _PARTS}
        return [name for name in self.dtype.names or () if name not in hidden] + list(self.arrays)

    @property
    def numbers(self) -> list[str]:
        """The fields that are one number each."""
        of_fields: Any = self.dtype.fields or {}
        return [n for n in self.fields if n not in self.arrays and not of_fields[n][0].shape]

    def told(self, name: str) -> str:
        """What a field is, in words."""
        if name in self.arrays:
            return f"an array of {_told(self.arrays[name])}"
        of_fields: Any = self.dtype.fields
        of_field = of_fields[name][0]
        if of_field.shape:
            return f"an array of {' x '.join(map(str, of_field.shape))} {_told(of_field.base)}"
        return _told(of_field)


def _told(dtype: np.dtype[Any]) -> str:
    """A type of numbers by its name here: i64."""
    return f"{dtype.kind}{8 * dtype.itemsize}"


#: What an array of any length is among parameters.
_PARTS = ("_address", "_length")


def _declared(cls: type[Any], of_parameters: bool) -> Record:
    fields: list[tuple[Any, ...]] = []
    arrays: dict[str, np.dtype[Any]] = {}
    defaults: dict[str, Any] = {}
    statistics: dict[str, tuple[str, str, str]] = {}
    for name, declared in inspect.get_annotations(cls, eval_str=True).items():
        kind: Kind | None
        statistic = _statistic(declared)
        if statistic is not None and not of_parameters:
            kind, is_any_length = f64[statistic[1]], False
            statistics[name] = (statistic[0], *statistic[2])
        else:
            kind, is_any_length = _kind(declared)
        if kind is None or (is_any_length and not of_parameters):
            allowed = "wl.i8 to wl.i64, wl.u8 to wl.u64, wl.f32, wl.f64, and arrays as wl.f64[8]"
            more = "; wl.Array[wl.f64] for any length" if of_parameters else ""
            raise ConfigurationError(
                f"`{cls.__name__}.{name}` is {declared!r}, but must be one of {allowed}{more}"
            )
        if is_any_length:
            arrays[name] = kind.dtype
            fields += [(name + part, np.int64) for part in _PARTS]
        else:
            fields.append((name, kind.dtype, kind.shape) if kind.shape else (name, kind.dtype))
        if name in cls.__dict__:
            defaults[name] = cls.__dict__[name]
            if not of_parameters:
                raise ConfigurationError(
                    f"`{cls.__name__}.{name}` has the value {defaults[name]!r}, but fields of states "
                    "and messages begin with 0: give `states=` to a run, or send the value"
                )
    return Record(cls.__name__, np.dtype(fields, align=True), arrays, defaults, statistics)


def _statistic(declared: Any) -> tuple[str, int, tuple[str, str]] | None:
    """The kind of a statistic, how many numbers it has, and its unit and meaning."""
    texts: list[Any] = []
    if get_origin(declared) is Annotated:
        declared, *texts = get_args(declared)
    found = getattr(declared, "_statistic", None)
    if found is None or len(texts) > 2 or not all(isinstance(text, str) for text in texts):
        return None
    kind, numbers = found
    unit, meaning = [*texts, "", ""][:2]
    return kind, numbers, (unit, meaning)


def _kind(declared: Any) -> tuple[Kind | None, bool]:
    """The numbers of a field, and whether it is an array of any length."""
    shape: tuple[Any, ...] = ()
    if get_origin(declared) is Annotated:
        declared, *sizes = get_args(declared)
        shape = tuple(sizes)
        if get_origin(declared) is not Array or not all(isinstance(size, int) for size in shape):
            return None, False
    if get_origin(declared) is Array:
        (inner,) = get_args(declared)
        if not isinstance(inner, Kind) or inner.shape:
            return None, False
        return Kind(inner.dtype, shape), not shape
    return (declared, False) if isinstance(declared, Kind) else (None, False)


def _record(cls: type[_Class], of_parameters: bool) -> type[_Class]:
    record = _declared(cls, of_parameters)

    def init(self: Any, **values: Any) -> None:
        unknown(values, record.fields, f"field of `{cls.__name__}`")
        self.__dict__.update(values)

    setattr(cls, "_record", record)
    # For arrays of records, such as the states that `run` takes and returns.
    setattr(cls, "dtype", record.dtype)
    setattr(cls, "__init__", init)
    return cls


@dataclass_transform(kw_only_default=True)
def state(cls: type[_Class]) -> type[_Class]:
    """The state of an LP."""
    return _record(cls, False)


@dataclass_transform(kw_only_default=True)
def message(cls: type[_Class]) -> type[_Class]:
    """The contents of an event."""
    made = _record(cls, False)
    for name in record_of(made, "message").statistics:
        raise ConfigurationError(
            f"`{cls.__name__}.{name}` is a statistic, and those belong to states"
        )
    return made


@dataclass_transform(kw_only_default=True)
def params(cls: type[_Class]) -> type[_Class]:
    """What all handlers read, and none writes. A field may have a default value."""
    return _record(cls, True)


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


def filled(record: Record, values: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A record with these values as an array without dimensions, and the arrays of any length by
    name, which must stay alive."""
    unknown(values, record.fields, f"field of `{record.name}`")
    whole = np.zeros((), record.dtype)
    # One that is not given is empty.
    kept = {name: np.zeros(0, dtype) for name, dtype in record.arrays.items()}
    for name, value in values.items():
        try:
            if name in record.arrays:
                array = np.ascontiguousarray(_exactly(value, record.arrays[name])).reshape(-1)
                whole[name + _PARTS[0]], whole[name + _PARTS[1]] = array.ctypes.data, array.size
                kept[name] = array
            else:
                whole[name] = _exactly(value, whole[name].dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise ConfigurationError(
                f"`{record.name}.{name}` is {value!r:.60}, but must be {record.told(name)} ({error})"
            ) from None
    return whole, kept


def _exactly(value: Any, dtype: np.dtype[Any]) -> Any:
    """Numbers as an array of this type; integers must be whole, and small enough."""
    given = np.asarray(value)
    if dtype.kind == "f":
        return given.astype(dtype)
    with np.errstate(invalid="ignore"):
        array = given.astype(dtype)
    if not np.array_equal(array, given):
        raise ValueError("not whole, or too large")
    return array


def fields_of(record: Record) -> list[tuple[str, str, int, int | None]]:
    """Name, kind of number, offset and length of each field."""
    fields: Any = record.dtype.fields or {}
    return [
        (name, kind.base.str[1:], offset, int(np.prod(kind.shape)) if kind.shape else None)
        for name, (kind, offset, *_) in fields.items()
    ]


def statistics_of(record: Record) -> list[tuple[str, str, str, str, int]]:
    """Name, kind, unit, meaning and offset of each statistic."""
    fields: Any = record.dtype.fields or {}
    return [(name, *what, fields[name][1]) for name, what in record.statistics.items()]


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
