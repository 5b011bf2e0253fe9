"""The examples of processes: theory, the digests of the same examples in Rust, and every engine.

Mutations that turn this red: `machine` holds for a whole part after a repair; `traveler` counts
twice; `customer` of the inventory orders one piece less; customers of the priorities are all
urgent; `token` passes on after one frame; the lane of the car wash holds one car; `patient` goes
home after X-ray; `theory` of the emergency lets everybody go to X-ray.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

#: Of each example: where the run for the digest ends, its digest, and where those for theory end.
#: The digests are those of the examples in Rust with seed 7, and their tests expect them, too:
#: `the_digests_are_those_of_the_twins_in_python` in crates/warpline-processes/tests/gallery.rs,
#: which prints them where they differ.
GALLERY = {
    "machine_shop": (2_000, "6fea774b8a1fb3e6", 6_000),
    "closed_network": (50, "744ce1df73a9da2d", 200),
    "inventory": (60, "c85a637cb119e32b", 300),
    "priority": (100, "4d791e038f26561e", 800),
    "token_ring": (200, "c4ca91aed51ab2b9", 1_000),
    "car_wash": (500, "c927d0d18fd3d38e", 3_000),
    "emergency": (500, "b94155c71a3b24e8", 30_000),
}
ENGINES = [
    {"engine": "sequential"},
    {"engine": "timewarp", "workers": 2},
    {"engine": "speculative", "workers": 2},
]
#: Of Student's distribution with 7 degrees of freedom: the half width of an interval of 95 %.
STUDENT = 2.365


@pytest.mark.parametrize("name", GALLERY)
def test_an_example_is_the_one_in_rust_on_every_engine(name):
    example, (end, digest, _) = importlib.import_module(name), GALLERY[name]
    engines = list(ENGINES)
    if "lookahead" in example.SETTINGS:
        engines.append({"engine": "conservative", "workers": 2})
    states = []
    for engine in engines:
        report = example.world.run(**example.SETTINGS, end=end, seed=7, **engine)
        assert report.digest == digest, engine
        states.append(report.states)
    for other in states[1:]:
        assert np.array_equal(other, states[0])


@pytest.mark.parametrize("name", GALLERY)
def test_an_example_has_what_theory_says(name):
    example, (_, _, end) = importlib.import_module(name), GALLERY[name]
    report = example.world.replicate(
        replications=8, **example.SETTINGS, end=end, warmup=0.1 * end, seed=1
    )
    theory = example.theory()
    assert theory
    for figure, expected in theory.items():
        error = report.half_width_95[figure] / STUDENT
        found = report.results[figure]
        text = f"{figure}: {found} +- {error}, and by theory {expected}"
        assert abs(found - expected) < 4 * error, text
        # Else everything is within.
        assert error < 0.03 * expected, f"too wide: {text}"
