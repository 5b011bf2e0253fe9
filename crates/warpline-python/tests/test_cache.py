"""Compiled handlers are loaded from files, without Numba, and do what they did when compiled.

Mutations that turn this red: `_load` does not compare the digest (the program crashes); `compile`
returns machine code whatever it needs (the same); `Cached` imports `_compiler` at once.
"""

import subprocess
import sys

import pytest

SCRIPT = """
import math, sys
import warpline_sim as wl

@wl.state
class S:
    x: wl.f64
@wl.message
class M:
    size: wl.f64
@wl.params
class P:
    weights: wl.Array[wl.f64]

model = wl.Model("m", S, M, P)

@model.start
def start(state, cx):
    cx.send(cx.me, cx.exponential(1.0), size=1.0)

@model.handler
def handle(state, msg, cx):
    {body}
    cx.send(cx.below(cx.lp_count), cx.exponential(1.0), size=math.sqrt(msg.size + cx.uniform()))

report = model.run(P(weights=[1.0, 2.0]), lps=8, end=50, engine="timewarp", workers=2)
print(report.digest, report.states["x"].sum().hex(), model.compiled().hits, "numba" in sys.modules)
"""
PLAIN = "state.x += math.exp(-msg.size) + math.log1p(msg.size) ** 1.5 + cx.model.weights[cx.me % 2]"
#: Lists are made by Numba's own memory manager.
LIST = "state.x += len([cx.now, msg.size])"


def run(folder, body):
    script = folder / "model.py"
    script.write_text(SCRIPT.format(body=body))
    env = {"NUMBA_CACHE_DIR": str(folder), "PATH": ""}
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    digest, states, hits, imported = done.stdout.split()
    return (digest, states), int(hits), imported == "True"


def test_what_was_compiled_needs_no_numba(tmp_path):
    result, hits, imported = run(tmp_path, PLAIN)
    assert (hits, imported) == (0, True)
    assert run(tmp_path, PLAIN) == (result, 2, False)


@pytest.mark.parametrize("keep", [0, 60, 1000], ids=str)
def test_a_damaged_file_is_not_loaded(tmp_path, keep):
    result, _, _ = run(tmp_path, PLAIN)
    (file,) = (tmp_path / "warpline_sim").glob("*.handle")
    whole = file.read_bytes()
    file.write_bytes(whole[:keep])
    again, _, imported = run(tmp_path, PLAIN)
    assert again == result and imported


def test_what_needs_numba_gets_it(tmp_path):
    result, _, _ = run(tmp_path, LIST)
    again, _, imported = run(tmp_path, LIST)
    assert again == result and imported
    assert not list((tmp_path / "warpline_sim").glob("*.handle"))


WORLD = """
import math, sys
import warpline_sim as wl

@wl.state
class Site:
    x: wl.f64

world = wl.World("w", site=Site)
DESK = world.resource("desk", 2)

@world.process
def guest(env, weight: wl.f64):
    yield env.acquire(DESK, timeout=1.0)
    if env.granted:
        yield env.hold(env.exponential(weight))
        env.release(DESK)
        {body}

@world.process
def arrivals(env):
    while True:
        yield env.hold(env.exponential(1.0))
        env.spawn(guest, env.uniform())

world.start(lambda env: env.spawn(arrivals))
report = world.run(sites=8, end=50, engine="timewarp", workers=2)
print(report.digest, report.states["x"].sum().hex(), world.compiled().hits, "numba" in sys.modules)
"""


def test_processes_that_were_compiled_need_no_numba(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "SCRIPT", WORLD)
    plain = "env.site.x += math.sqrt(weight)"
    result, hits, imported = run(tmp_path, plain)
    assert (hits, imported) == (0, True)
    assert run(tmp_path, plain) == (result, 3, False)
    other, hits, _ = run(tmp_path, "env.site.x += 2 * math.sqrt(weight)")
    assert other[0] == result[0] and other[1] != result[1] and hits == 0
