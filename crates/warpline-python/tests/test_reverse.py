"""Reverse handlers in Python: Time Warp undoes events with them, and mistakes have a name.

That PHOLD with reverse handlers is PHOLD is tested in `test_models.py`.

Mutations that turn this red: `_note` stores the integer part; `address` takes the handler for
"reverse"; `noted` is not put into the interpreter's context; `fields_of` forgets the offset.
"""

import pytest
import warpline_sim as wl

#: Rollbacks repeat themselves, because all workers are one thread.
IN_TURN = {"engine": "timewarp", "workers": 3, "in_turn": True}
WAYS = [
    {"engine": "reverse-check"},
    {"engine": "reverse-check", "interpret": True},
    {**IN_TURN, "saving": "reverse"},
]


@wl.state
class Tank:
    level: wl.f64
    last: wl.f64
    visits: wl.i32[2]


@wl.message
class Drop:
    size: wl.f32


@wl.params
class Mistake:
    kind: wl.i64


def tanks(kind_of_note):
    """A model whose handler overwrites a float, or a whole number, and notes it before."""
    model = wl.Model("tanks", Tank, Drop, Mistake)

    @model.start
    def start(state, cx):
        for _ in range(3):
            cx.send(cx.me, cx.exponential(1.0), size=cx.uniform())

    if kind_of_note == "float":

        @model.handler
        def handle(state, msg, cx):
            cx.note(state.last)
            state.last = msg.size
            state.visits[cx.me % 2] += 1
            cx.send(cx.below(cx.lp_count), cx.exponential(1.0), size=cx.uniform())

        @model.reverse
        def reverse(state, msg, cx):
            if cx.model.kind == 1:
                raise ValueError("no way back")
            state.last = cx.noted_float
            if cx.model.kind != 2:
                state.visits[cx.me % 2] -= 1
    else:

        @model.handler
        def handle(state, msg, cx):
            cx.note(state.visits[0])
            state.visits[0] = 3 * state.visits[0] % 1000 + cx.below(7)
            cx.send(cx.below(cx.lp_count), cx.exponential(1.0))

        @model.reverse
        def reverse(state, msg, cx):
            state.visits[0] = cx.noted

    return model


@pytest.mark.parametrize("settings", WAYS, ids=str)
@pytest.mark.parametrize("kind_of_note", ["float", "int"])
def test_what_was_overwritten_comes_back(kind_of_note, settings):
    model = tanks(kind_of_note)
    expected = model.run({"kind": 0}, lps=24, end=30, engine="sequential")
    report = model.run({"kind": 0}, lps=24, end=30, **settings)
    assert report.digest == expected.digest
    assert (report.states == expected.states).all()
    assert report.rolled_back_events > 0 or settings["engine"] == "reverse-check"


@pytest.mark.parametrize("settings", WAYS, ids=str)
def test_a_reverse_handler_that_raises(settings):
    with pytest.raises(ValueError, match="no way back") as raised:
        tanks("float").run({"kind": 1}, lps=24, end=30, **settings)
    assert raised.traceback[-1].name == "reverse"
    (note,) = raised.value.__notes__
    assert "reverse handler" in note and "virtual time" in note


@pytest.mark.parametrize("settings", WAYS[:2], ids=str)
def test_what_is_not_restored_has_a_name(settings):
    with pytest.raises(wl.ModelError, match=r"`visits\[[01]\]`"):
        tanks("float").run({"kind": 2}, lps=24, end=30, **settings)


def test_models_without_a_reverse_handler():
    model = tanks("float")
    del model._handlers["reverse"]
    with pytest.raises(wl.ConfigurationError, match="cannot reverse"):
        model.run({"kind": 0}, lps=24, end=30, engine="timewarp", workers=2, saving="reverse")
    with pytest.raises(wl.ConfigurationError, match="no reverse handler"):
        model.run({"kind": 0}, lps=24, end=30, engine="reverse-check")


def test_what_a_reverse_handler_cannot_do():
    model = wl.Model("tanks", Tank, Drop, Mistake)
    with pytest.raises(wl.ConfigurationError, match="`send`.*`@model.reverse`|no field `send`"):

        @model.reverse
        def sends(state, msg, cx):
            cx.send(cx.me, 1.0)

    with pytest.raises(wl.ConfigurationError, match="no field `noted`"):

        @model.handler
        def looks_back(state, msg, cx):
            state.level = cx.noted
