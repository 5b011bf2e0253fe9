"""Handlers in the interpreter: runs on the sequential engine, and single calls that failed."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _native
from ._laws import LAWS, NO_DISCRETE, NO_EMPIRICAL, PARAMETERS
from ._records import Record, View, words_of

#: The multiplier of an LP's stream (PCG), and what makes a number below 1 of 53 of its bits.
MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
UNIT = 1.0 / (1 << 53)
_MASK = (1 << 128) - 1
#: Where the fields are of what is the same in all calls, to which a context points.
CONSTANTS: dict[str, int] = _native.constants_layout()


#: A call that failed: role, time and LP, stream, note, state, message.
Failure = tuple[str, tuple[float, int], tuple[int, int], int, bytes, bytes | None]


def constant(address: int, field: str, kind: str) -> Any:
    """A field of the constants, which are at this address."""
    return struct.unpack(f"={kind}", ctypes.string_at(address + CONSTANTS[field], 8))[0]


class Context:
    """What a handler sees of the engine. The numbers drawn are those of every other engine."""

    def __init__(
        self,
        place: tuple[float, int, int],
        stream: tuple[int, int],
        parameters: View,
        message: Record,
        note: int = 0,
    ) -> None:
        self.now, self.me, self.lp_count = place
        self.model = parameters
        self._stream = stream[1] << 64 | stream[0]
        self._message = message
        #: The word that a handler leaves for the one that undoes the event.
        self.noted = note
        #: Receiver, delay and message of each event.
        self.sent: list[tuple[int, float, bytes]] = []

    @property
    def stream(self) -> tuple[int, int]:
        return self._stream & (1 << 64) - 1, self._stream >> 64

    def note(self, number: float) -> None:
        if isinstance(number, float | np.floating):
            (number,) = struct.unpack("=q", struct.pack("=d", number))
        self.noted = int(number)

    @property
    def noted_float(self) -> float:
        (number,) = struct.unpack("=d", struct.pack("=q", self.noted))
        return float(number)

    def bits(self) -> int:
        state = self._stream = self._stream * MULTIPLIER & _MASK
        word, turn = (state >> 64 ^ state) & (1 << 64) - 1, state >> 122
        return (word >> turn | word << (64 - turn)) & (1 << 64) - 1

    def uniform(self) -> float:
        return (self.bits() >> 11) * UNIT

    def uniform_in(self, low: float, high: float) -> float:
        return low + (high - low) * self.uniform()

    def chance(self, p: float) -> bool:
        return self.uniform() < p

    def below(self, bound: int) -> int:
        return self.bits() * int(bound) >> 64

    def exponential(self, mean: float) -> float:
        drawn, low, high = _native.exponential(*self.stream)
        self._stream = high << 64 | low
        return drawn * mean

    def _law(self, number: int, *parameters: Any) -> float:
        """Draws from the distribution with this number."""
        given = [*map(float, parameters), *[0.0] * (PARAMETERS - len(parameters))]
        bits, low, high = _native.draw(number, given, *self.stream)
        self._stream = high << 64 | low
        if LAWS[number][2]:
            return bits
        (drawn,) = struct.unpack("=d", struct.pack("=Q", bits))
        return float(drawn)

    def _split(self, bound: int) -> tuple[int, float]:
        """A whole number below a bound, and from the other bits a number below 1."""
        product = self.bits() * bound
        return product >> 64, (product >> 11 & (1 << 53) - 1) * UNIT

    def discrete(self, table: Any) -> int:
        columns = len(table) // 2
        if table[0] != -columns:
            raise ValueError(NO_DISCRETE)
        column, rest = self._split(columns)
        return column if rest < table[1 + 2 * column] else int(table[2 + 2 * column])

    def empirical(self, table: Any) -> float:
        last = len(table) - 1
        if table[0] != -0.5 - last:
            raise ValueError(NO_EMPIRICAL)
        place, part = self._split(last - 1)
        start, end = float(table[1 + place]), float(table[min(2 + place, last)])
        drawn = start + part * (end - start)
        return drawn if drawn < end else end

    def choice(self, items: Any) -> Any:
        chosen = items[self.below(len(items))]
        return chosen.item() if isinstance(chosen, np.generic) else chosen

    def shuffle(self, items: Any) -> None:
        for end in range(len(items) - 1, 0, -1):
            other = self.below(end + 1)
            items[end], items[other] = items[other], items[end]

    def permutation(self, items: Any) -> None:
        for place in range(len(items)):
            items[place] = place
        self.shuffle(items)

    def send(self, to: int, delay: float, **fields: Any) -> None:
        contents = b""
        if self._message.fields:
            record = np.zeros((), self._message.dtype)
            for name, value in fields.items():
                record[name] = value
            contents = words_of(record)
        self.sent.append((int(to), float(delay), contents))


def _method(number: int, name: str, parameters: list[str]) -> Any:
    """The method of a context that draws from a distribution, with the names of its parameters."""
    space: dict[str, Any] = {}
    names = ", ".join(parameters)
    exec(f"def {name}(self, {names}):\n    return self._law({number}, {names})\n", space)
    return space[name]


for _number, (_name, _parameters, _) in enumerate(LAWS):
    setattr(Context, _name, _method(_number, _name, _parameters))


class Interpreted:
    """Handlers as functions that the engine can call."""

    #: In the place of a key of compiled code.
    key = "interpreted"

    def __init__(
        self,
        handlers: dict[str, Callable[..., Any]],
        records: tuple[Record, Record],
        parameters: View,
    ) -> None:
        self._handlers = handlers
        self._records = records
        self._parameters = parameters
        self._layout = _native.layout()
        self.error: Exception | None = None
        words = [ctypes.c_void_p] * 3
        self._signature = ctypes.CFUNCTYPE(ctypes.c_int32, *words)
        self._grow = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        self._callbacks = {role: self._callback(role) for role in handlers}

    def address(self, role: str) -> int:
        """Where the engine finds a handler."""
        address = ctypes.cast(self._callbacks[role], ctypes.c_void_p).value
        assert address is not None
        return address

    def _callback(self, role: str) -> Any:
        def entry(state: int, message: int, context: int) -> int:
            try:
                self._call(role, state, message, context)
            except Exception as error:
                # The first one counts: the sequential engine ends with it.
                self.error = self.error or error
                return 1
            return 0

        return self._signature(entry)

    def _call(self, role: str, state: int, message: int, address: int) -> None:
        at = self._layout
        raw = (ctypes.c_char * (at["note"] + 8)).from_address(address)
        words = (ctypes.c_uint64 * 2).from_address(struct.unpack_from("=Q", raw, at["stream"])[0])
        (now,) = struct.unpack_from("=d", raw, at["now"])
        (me,) = struct.unpack_from("=q", raw, at["me"])
        (constants,) = struct.unpack_from("=Q", raw, at["constants"])
        lps = constant(constants, "lp_count", "q")
        (note,) = struct.unpack_from("=q", raw, at["note"])
        of_state, of_message = self._records
        context = Context((now, me, lps), tuple(words), self._parameters, of_message, note)
        handler = self._handlers[role]
        view = _view(state, of_state)
        if role == "start":
            handler(view, context)
        else:
            handler(view, _view(message, of_message), context)
        words[:] = list(context.stream)
        struct.pack_into("=q", raw, at["note"], context.noted)
        for number, (to, delay, contents) in enumerate(context.sent):
            if number == struct.unpack_from("=Q", raw, at["capacity"])[0]:
                struct.pack_into("=Q", raw, at["len"], number)
                self._grow(constant(constants, "grow", "Q"))(address)
            (out,) = struct.unpack_from("=Q", raw, at["out"])
            event = struct.pack("=qd", to, delay) + contents
            ctypes.memmove(out + number * len(event), event, len(event))
        struct.pack_into("=Q", raw, at["len"], len(context.sent))

    def repeat(self, failure: Failure, lps: int) -> Exception | None:
        """Does once more what failed, and returns the exception that it raises."""
        role, (now, lp), stream, note, state, message = failure
        of_state, of_message = self._records
        place = (now, lp, lps)
        context = Context(place, stream, self._parameters, of_message, note)
        views = [_copy(state, of_state)]
        views += [] if message is None else [_copy(message, of_message)]
        try:
            self._handlers[role](*views, context)
        except Exception as error:
            return error
        return None


def _view(address: int, record: Record) -> View | None:
    if not record.fields:
        return None
    memory: Any = (ctypes.c_char * record.dtype.itemsize).from_address(address)
    return View(np.ndarray((), record.dtype, memory))


def _copy(contents: bytes, record: Record) -> View | None:
    if not record.fields:
        return None
    return View(np.frombuffer(bytearray(contents), record.dtype, 1)[0:1].reshape(()))
