"""Event logs of processes, as other tools take them: vidigi animates one, and pm4py mines it."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT.parent / "warpline-processes" / "examples" / "emergency.csv"


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "event_logs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_vidigi_animates_a_log():
    pytest.importorskip("vidigi")
    animate = example("animate")
    figure = animate.animation(LOG, minutes=120)
    assert len(figure.frames) == 25
    shown = set()
    for frame in figure.frames:
        ids = frame.data[0].ids
        shown.update(ids[~np.isnan(ids)].astype(int))
    # Everybody who came in the first two hours is somewhere on the page.
    log = animate.patients(LOG)
    came = log[(log["event"] == "arrival") & (log["time"] < 115)]["entity_id"]
    assert len(came) > 10
    assert set(came) <= shown


def test_pm4py_mines_a_log():
    pytest.importorskip("pm4py")
    mine = example("mine")
    steps = mine.steps(mine.cases(LOG))
    # Each who queues gets a doctor, and is treated for 15 minutes on average.
    queued, waited = steps["queue_doctor", "use_doctor"]
    treated, minutes = steps["use_doctor", "release_doctor"]
    assert queued <= treated
    assert waited > 0
    assert 8 < minutes < 25
    # A way takes two minutes.
    ways = [time for (before, _), (_, time) in steps.items() if before == "travel"]
    assert ways == pytest.approx([2.0] * len(ways))
