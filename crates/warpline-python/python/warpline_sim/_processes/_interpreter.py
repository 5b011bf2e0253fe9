"""Processes in the interpreter: plain generators, on the sequential engine.

A generator of Python cannot be copied, so a process is the number of its generator; what it was
called with lies in its words until it begins.
"""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from .. import _native
from .._models._interpreter import Context, constant
from .._models._records import Record, View
from . import _env as env
from ._facilities import (
    BoundedStore,
    Condition,
    Container,
    Facility,
    PreemptiveResource,
    Process,
    Resource,
    Store,
)

_INF = float("inf")
_NO_MESSAGE = Record("message", np.dtype([]), {})
_HELD_LATER = "the environment is used after its process has waited or ended"


class Environment(Context):
    """What a process sees of the engine: that of the event that is handled now."""

    def __init__(self, parameters: View, site: Record) -> None:
        super().__init__((0.0, 0, 0), (0, 0), parameters, _NO_MESSAGE)
        self.params = parameters
        self._record, self._at = site, _native.process_layout()
        self._address = 0
        self._raw: Any = None
        pointer, word, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        self._functions = {
            "release": ctypes.CFUNCTYPE(None, pointer, word),
            "spawn": ctypes.CFUNCTYPE(word, pointer, word, pointer, word, word, number),
            "act": ctypes.CFUNCTYPE(word, pointer, word, word, number),
        }

    def enter(self, address: int) -> None:
        """A function begins, with the context at this address."""
        self._address = address
        self._raw = (ctypes.c_char * (max(self._at.values()) + 8)).from_address(address)
        self.now, self.me_of_lp = self._read("d", "now"), self._read("q", "me")
        self.sites = constant(self._read("Q", "constants"), "lp_count", "q")
        self._words = (ctypes.c_uint64 * 2).from_address(self._read("Q", "stream"))
        self._stream = self._words[1] << 64 | self._words[0]
        self._woken = self._read("q", "woken")

    def leave(self) -> None:
        """It waits, or has ended."""
        self._words[:] = list(self.stream)
        self._raw = None

    def _read(self, kind: str, field: str) -> Any:
        if self._raw is None:
            raise RuntimeError(_HELD_LATER)
        return struct.unpack_from(f"={kind}", self._raw, self._at[field])[0]

    def _ask(self, asked: int, **details: Any) -> int:
        for field, value in details.items():
            kind = "d" if field in ("time", "value") else "q"
            value = float(value) if kind == "d" else int(value)
            struct.pack_into(f"={kind}", self._raw, self._at[field], value)
        return asked

    def _call(self, function: str, *arguments: Any) -> int:
        address = self._read("Q", function)
        return int(self._functions[function](address)(self._address, *arguments) or 0)

    def _act(self, action: int, number: int = 0, value: float = 0.0) -> int:
        return self._call("act", action, int(number), float(value))

    # What it sees.

    @property
    def here(self) -> int:
        return int(self.me_of_lp)

    @property
    def site(self) -> Any:
        if not self._record.fields:
            return None
        size = self._record.dtype.itemsize
        memory: Any = (ctypes.c_char * size).from_address(self._read("Q", "site"))
        return View(np.ndarray((), self._record.dtype, memory))

    @property
    def granted(self) -> bool:
        return bool(self._woken == env.DONE)

    @property
    def interrupted(self) -> bool:
        return bool(self._woken == env.INTERRUPTED)

    @property
    def preempted(self) -> bool:
        return bool(self._woken == env.PREEMPTED)

    @property
    def cause(self) -> int:
        return int(self._read("q", "cause"))

    @property
    def item(self) -> float:
        return float(self._read("d", "item"))

    @property
    def me(self) -> int:
        return self._act(env.DO_ME)

    @me.setter
    def me(self, _: int) -> None:
        """The context of a handler has the number of its LP there."""

    @property
    def entity(self) -> int:
        return self._act(env.DO_ENTITY)

    # What it asks for.

    def hold(self, time: float) -> int:
        return self._ask(env.HOLD, time=time)

    def acquire(
        self, resource: Any, timeout: float = _INF, priority: int = 0, preempt: bool = False
    ) -> int:
        number = _number(resource, Resource, "acquire")
        if preempt and not isinstance(resource, PreemptiveResource):
            raise TypeError(f"{resource!r} is not preemptive: say so where it is made")
        return self._ask(
            env.ACQUIRE, number=number, time=timeout, priority=priority, preempt=preempt
        )

    def get(self, store: Any, timeout: float = _INF, priority: int = 0) -> int:
        number = _number(store, Store, "get")
        return self._ask(env.GET, number=number, time=timeout, priority=priority)

    def put(self, store: Any, item: float, timeout: float = _INF, priority: int = 0) -> int:
        number = _number(store, Store, "put")
        if isinstance(store, BoundedStore):
            details = {"value": item, "time": timeout, "priority": priority}
            return self._ask(env.PUT, number=number, **details)
        self._act(env.DO_PUT, number, item)
        return env.READY

    def take(self, container: Any, amount: float, timeout: float = _INF, priority: int = 0) -> int:
        number = _number(container, Container, "take")
        return self._ask(env.TAKE, number=number, value=amount, time=timeout, priority=priority)

    def fill(self, container: Any, amount: float, timeout: float = _INF, priority: int = 0) -> int:
        number = _number(container, Container, "fill")
        return self._ask(env.FILL, number=number, value=amount, time=timeout, priority=priority)

    def wait(self, condition: Any, timeout: float = _INF, priority: int = 0) -> int:
        number = _number(condition, Condition, "wait")
        return self._ask(env.WAIT, number=number, time=timeout, priority=priority)

    def passivate(self, timeout: float = _INF) -> int:
        return self._ask(env.PASSIVATE, time=timeout)

    def travel(self, to: int, delay: float) -> int:
        return self._ask(env.TRAVEL, number=to, time=delay)

    # What it does at once.

    def release(self, resource: Any) -> None:
        self._call("release", _number(resource, Resource, "release"))

    def spawn(self, process: Process, *values: Any, **named: Any) -> int:
        return self._spawn(process, (-1, 0.0), process.ordered(values, named))

    def spawn_at(
        self, at: int, delay: float, process: Process, *values: Any, **named: Any
    ) -> int:
        return self._spawn(process, (at, delay), process.ordered(values, named))

    def _spawn(self, process: Process, when: tuple[int, float], values: list[Any]) -> int:
        first = first_words(process, values)
        words = (ctypes.c_uint64 * len(first))(*first)
        address = ctypes.addressof(words)
        at, delay = int(when[0]), float(when[1])
        return self._call("spawn", process.number, address, len(words), at, delay)

    def signal(self, condition: Any) -> int:
        return self._act(env.DO_SIGNAL, _number(condition, Condition, "signal"))

    def signal_one(self, condition: Any) -> int:
        return self._act(env.DO_SIGNAL_ONE, _number(condition, Condition, "signal_one"))

    def set_units(self, resource: Any, units: int) -> int:
        return self._act(env.DO_SET_UNITS, _number(resource, Resource, "set_units"), units)

    def waiting(self, facility: Any) -> int:
        return self._act(env.DO_WAITING, _number(facility, Facility, "waiting"))

    def in_use(self, resource: Any) -> int:
        return self._act(env.DO_IN_USE, _number(resource, Resource, "in_use"))

    def items(self, store: Any) -> int:
        return self._act(env.DO_ITEMS, _number(store, Store, "items"))

    def amount(self, container: Any) -> float:
        bits = self._act(env.DO_AMOUNT, _number(container, Container, "amount"))
        return float(struct.unpack("=d", struct.pack("=q", bits))[0])

    def activate(self, process: int) -> bool:
        return self._act(env.DO_ACTIVATE, process) != 0

    def is_here(self, process: int) -> bool:
        return self._act(env.DO_IS_HERE, process) != 0

    def interrupt(self, process: int, cause: int = 0) -> bool:
        (bits,) = struct.unpack("=d", struct.pack("=q", cause))
        return self._act(env.DO_INTERRUPT, process, bits) != 0


def _number(given: Any, kind: type[Facility], method: str) -> int:
    if not isinstance(given, kind):
        raise TypeError(f"env.{method} takes a {kind.__name__.lower()}, but gets {given!r:.60}")
    return given.number


def first_words(process: Process, values: list[Any]) -> list[int]:
    """A process at its beginning, with these arguments."""
    kinds = process.arguments.values()
    return [0, *(_word(value, kind.dtype) for value, kind in zip(values, kinds, strict=True))]


def _word(value: Any, dtype: Any) -> int:
    """A number of this type as a word."""
    raw = np.array(value).astype(dtype).tobytes()
    return int.from_bytes(raw, "little") if np.little_endian else int.from_bytes(raw, "big")


def _value(word: int, dtype: Any) -> Any:
    size = dtype.itemsize
    raw = word.to_bytes(8, "little")[:size]
    return np.frombuffer(raw, dtype.newbyteorder("<"))[0].item()


class Interpreted:
    """The functions of a world, as callbacks."""

    #: In the place of a key of compiled code.
    key = "interpreted"

    def __init__(
        self,
        start: Callable[..., Any],
        processes: list[Process],
        parameters: View,
        site: Record,
    ) -> None:
        self._env = Environment(parameters, site)
        #: Those that have begun and not ended, by their numbers.
        self._running: dict[int, Generator[int, None, None]] = {}
        self._begun = 0
        self.error: Exception | None = None
        of_start = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        of_process = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        self._callbacks: list[Any] = [of_start(self._starter(start))]
        self._callbacks += [of_process(self._resumer(process)) for process in processes]
        addresses = [ctypes.cast(call, ctypes.c_void_p).value or 0 for call in self._callbacks]
        self.start = addresses[0]
        words = [1 + max(1, len(process.arguments)) for process in processes]
        self.processes = list(zip(addresses[1:], words, strict=True))

    def _guarded(self, context: int, function: Callable[[], int]) -> int:
        self._env.enter(context)
        try:
            return function()
        except Exception as error:
            # The first one counts: the sequential engine ends with it.
            self.error = self.error or error
            return env.RAISED
        finally:
            self._env.leave()

    def _starter(self, start: Callable[..., Any]) -> Any:
        def spawn() -> int:
            start(self._env)
            return 0

        return lambda context: self._guarded(context, spawn)

    def _resumer(self, process: Process) -> Any:
        return lambda words, context: self._guarded(context, lambda: self._resume(process, words))

    def _resume(self, process: Process, address: int) -> int:
        """Lets a process go on: the generator of its number, or a new one."""
        words = (ctypes.c_uint64 * 24).from_address(address)
        if words[0] & 0xFFFF_FFFF:
            generator = self._running[words[1]]
        else:
            kinds = process.arguments.values()
            values = [_value(words[at], kind.dtype) for at, kind in enumerate(kinds, 1)]
            generator = process.function(self._env, *values)
            self._begun += 1
            self._running[self._begun] = generator
            words[0] |= 1
            words[1] = self._begun
            for at in range(2, 1 + len(values)):
                words[at] = 0
        try:
            asked = next(generator)
        except StopIteration:
            del self._running[words[1]]
            return env.END
        if not isinstance(asked, int):
            told = f"{process.name} yields {asked!r:.60}"
            raise TypeError(f"{told}, which is no wait: write `yield env.hold(…)`")
        return asked
