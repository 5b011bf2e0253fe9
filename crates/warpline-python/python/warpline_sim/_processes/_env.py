"""What a process asks for, by numbers: those of ``warpline-foreign`` (``processes/context.rs``)."""

from __future__ import annotations

#: What a process yields, by the method of ``env`` that returns it.
HOLD, ACQUIRE, GET, PUT, TAKE, FILL, WAIT, PASSIVATE, TRAVEL = range(1, 10)
#: What was asked for is done: the process goes on.
READY = 10
#: What a function returns when the process ends, and when it raises an exception.
END, RAISED = 0, -1

#: What is done at once, by the number that `act` takes.
(
    DO_PUT,
    DO_SIGNAL,
    DO_SIGNAL_ONE,
    DO_SET_UNITS,
    DO_WAITING,
    DO_IN_USE,
    DO_ITEMS,
    DO_AMOUNT,
    DO_ACTIVATE,
    DO_INTERRUPT,
    DO_IS_HERE,
    DO_ME,
    DO_ENTITY,
) = range(13)

#: How a wait ended.
DONE, TIMED_OUT, INTERRUPTED, PREEMPTED = range(4)

#: The methods that are waits, for ``yield``.
WAITS = ["acquire", "fill", "get", "hold", "passivate", "put", "take", "travel", "wait"]
#: What else ``env`` has, beside random numbers.
AT_ONCE = [
    "activate",
    "amount",
    "cause",
    "entity",
    "granted",
    "here",
    "in_use",
    "interrupt",
    "interrupted",
    "is_here",
    "item",
    "items",
    "me",
    "now",
    "params",
    "preempted",
    "put",
    "release",
    "set_units",
    "signal",
    "signal_one",
    "site",
    "sites",
    "spawn",
    "spawn_at",
    "waiting",
]
#: The words of the largest process. The first one says where it goes on.
WORDS_MAX = 24
