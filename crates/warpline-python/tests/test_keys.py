"""The keys of compiled handlers and of runs: values that differ have keys that differ.

Mutations that turn this red: `Key.add` hashes the `repr` of a tuple, or leaves out the type of an
array among parameters; `Key._module` returns for a module that is known already; `_distrust` does
not look at owner or mode; `write` writes under a name with the number of the process.
"""

import enum
import math
import os
import stat
import types
import warnings
from collections import namedtuple

import numpy as np
import pytest
import warpline_sim as wl
from warpline_sim._models import _cache
from warpline_sim._models._key import Key

LONG, OTHER = (np.zeros(2000),), (np.zeros(2000),)
OTHER[0][1000] = 1.0


class Color(enum.Enum):
    RED = 1
    BLUE = 2


Point, Spot = namedtuple("Point", "x y"), namedtuple("Spot", "x y")

#: Pairs whose members are different things.
PAIRS = [
    (LONG, OTHER),
    (np.arange(4), np.arange(4).reshape(2, 2)),
    (np.zeros(2, np.int64), np.zeros(2, np.float64)),
    (np.zeros(2, [("a", "i8"), ("b", "i8")]), np.zeros(2, [("b", "i8"), ("a", "i8")])),
    (np.float32(1), np.float64(1)),
    (np.dtype("i4"), np.dtype("u4")),
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ("1", 1),
    (b"a", "a"),
    (("a", "b"), ("ab",)),
    ((1, (2, 3)), (1, 2, 3)),
    ((1, 2), [1, 2]),
    (Color.RED, Color.BLUE),
    (Point(1, 2), Spot(1, 2)),
    ({1: 2}, {1: 3}),
    (frozenset({1, 2}), frozenset({1, 3})),
    (math.sin, math.cos),
    (np.sin, np.cos),
    (np.int32, np.int64),
    (lambda x: x + 1, lambda x: x + 2),
    (lambda x, y=1: x, lambda x, y=2: x),
    (lambda x, *, y=1: x, lambda x, *, y=2: x),
    (lambda x: (lambda: LONG), lambda x: (lambda: OTHER)),
    (None, False),
    (None, Ellipsis),
]


def digest(value):
    key = Key()
    key.add(value)
    assert not key.is_opaque
    return key.digest()


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=repr)
def test_different_values_have_different_keys(one, other):
    assert digest(one) == digest(one) and digest(other) == digest(other)
    assert digest(one) != digest(other)


def module(name, **contents):
    made = types.ModuleType(name)
    vars(made).update(contents)
    return made


def key_of_two(start_reads):
    """Of two functions, of which only the second one reads these values, in their module and in a
    module of that; the modules know each other."""
    inner = module("inner", A=1.0, B=start_reads[1])
    consts = module("consts", A=1.0, B=start_reads[0], inner=inner)
    inner.consts = consts

    def handle():
        return consts.A + consts.inner.A

    def start():
        return consts.B + consts.inner.B

    return digest([handle, start])


def test_each_function_adds_what_it_reads_of_a_module():
    assert key_of_two([2.0, 3.0]) == key_of_two([2.0, 3.0])
    assert key_of_two([2.0, 3.0]) != key_of_two([2.5, 3.0])
    assert key_of_two([2.0, 3.0]) != key_of_two([2.0, 3.5])


def test_what_cannot_be_hashed_is_shared_with_nobody():
    keys = [Key(), Key()]
    for key in keys:
        key.add((1, object()))
        assert key.is_opaque
    assert keys[0].digest() != keys[1].digest()


def of_tables(tables, kind=wl.f64):
    @wl.state
    class State:
        found: wl.f64

    @wl.message
    class Message:
        pass

    @wl.params
    class Params:
        weights: wl.Array[kind]

    model = wl.Model("tables", State, Message, Params)

    @model.start
    def start(state, cx):
        cx.send(cx.me, 1.0)

    @model.handler
    def handle(state, msg, cx):
        state.found = tables[0][1000] + cx.model.weights[0]

    return model


def test_models_with_long_arrays_do_not_share_machine_code():
    for tables, found in [(LONG, 0.5), (OTHER, 1.5)]:
        report = of_tables(tables).run({"weights": [0.5]}, lps=1, end=2)
        assert report.states["found"].tolist() == [found]


def test_models_with_arrays_of_another_type_do_not_share_machine_code():
    for kind in (wl.f64, wl.i64):
        report = of_tables(LONG, kind).run({"weights": [3]}, lps=1, end=2)
        assert report.states["found"].tolist() == [3.0]


CONSTS = module("consts", A=0.5, B=0.25)


def starting_with_b():
    @wl.state
    class State:
        sum: wl.f64

    @wl.message
    class Message:
        pass

    @wl.params
    class Params:
        pass

    model = wl.Model("constants", State, Message, Params)

    @model.handler
    def handle(state, msg, cx):
        state.sum += CONSTS.A

    @model.start
    def start(state, cx):
        state.sum = CONSTS.B
        cx.send(cx.me, 1.0)

    return model.run({}, lps=1, end=2).states["sum"].tolist()


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_models_with_other_values_of_a_module_do_not_share_machine_code(base, monkeypatch):
    assert starting_with_b() == [0.75]
    monkeypatch.setattr(CONSTS, "B", 4.0)
    assert starting_with_b() == [4.5]


def test_the_folder_is_the_users_own(base):
    before = os.umask(0)
    try:
        folder = _cache.folder()
    finally:
        os.umask(before)
    assert folder == base / "warpline_sim"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def refused(base):
    with pytest.warns(RuntimeWarning, match="not kept") as warned:
        folder = _cache.folder()
    assert not folder.is_relative_to(base) and stat.S_IMODE(folder.stat().st_mode) == 0o700
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # It is said once.
        assert _cache.folder() == folder
    return str(warned[0].message)


@pytest.mark.parametrize("mode", [0o770, 0o702], ids=oct)
def test_a_folder_that_others_can_write_is_not_used(base, mode):
    (base / "warpline_sim").mkdir()
    (base / "warpline_sim").chmod(mode)
    assert "others can write" in refused(base)
    # A run does without.
    assert of_tables(LONG).run({"weights": [1.5]}, lps=1, end=2).states["found"].tolist() == [1.5]
    assert not any((base / "warpline_sim").iterdir())


def test_a_folder_of_another_user_is_not_used(base, monkeypatch):
    (base / "warpline_sim").mkdir(mode=0o700)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert "belongs to another user" in refused(base)


def test_all_that_is_kept_lies_in_that_folder(base):
    of_tables(LONG).run({"weights": [2.5]}, lps=1, end=2)
    assert [path.name for path in base.iterdir()] == ["warpline_sim"]
    modes = [path.stat().st_mode for path in (base / "warpline_sim").glob("*.handle")]
    assert modes and not any(mode & 0o077 for mode in modes)


def test_files_are_written_under_names_that_nobody_can_foresee(tmp_path):
    victim, file = tmp_path / "victim", tmp_path / "key.handle"
    victim.write_text("precious")
    file.with_suffix(f".{os.getpid()}").symlink_to(victim)
    _cache.write(file, b"code")
    assert (victim.read_text(), file.read_bytes()) == ("precious", b"code")
    assert sorted(path.name for path in tmp_path.iterdir() if not path.is_symlink()) == [
        "key.handle",
        "victim",
    ]
