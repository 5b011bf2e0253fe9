"""Progress, interrupts, and an interpreter that is free during a run."""

import _thread
import signal
import threading
from collections.abc import Iterator

import pytest

import warpline_sim as wl

# Takes many seconds if nothing ends it.
ENDLESS = dict(lps=64, population=256, end=1e6, engine="sequential")


@pytest.fixture(autouse=True)
def _interrupts() -> Iterator[None]:
    """A shell that starts tests in the background lets them ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_progress_is_told_to_a_function() -> None:
    seen: list[tuple[float, str]] = []

    def enough(part: float, text: str) -> None:
        seen.append((part, text))
        if len(seen) == 3:
            _thread.interrupt_main()

    report = wl.run("phold", progress=enough, **ENDLESS)
    assert report.interrupted and report.committed_events > 0
    assert len(seen) >= 3 and all(0 <= part <= 1 and "virtual time" in text for part, text in seen)


def test_an_exception_of_the_function_ends_the_run() -> None:
    def fails(part: float, text: str) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        wl.run("phold", progress=fails, **ENDLESS)


def test_the_interpreter_is_free() -> None:
    runs = threading.Event()

    def count() -> None:
        runs.wait()
        # The thread that waits for the run looks at it 20 times a second; without the interpreter
        # in between, this takes for ever.
        sum(range(1_000_000))
        _thread.interrupt_main()

    other = threading.Thread(target=count)
    other.start()
    report = wl.run("phold", progress=lambda part, text: runs.set(), **ENDLESS)
    other.join()
    assert report.interrupted


def test_a_sweep_that_is_interrupted_has_its_rows() -> None:
    def stop(part: float, text: str) -> None:
        _thread.interrupt_main()

    settings = dict(lps=64, population=256, engine="sequential", jobs=1)
    ends = [1, *[1e6] * 3]
    table = wl.sweep("phold", {"end": ends}, progress=stop, **settings)
    assert len(table) <= 1


def test_a_bar_of_tqdm(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    wl.sweep("phold", {"seed": [1, 2]}, lps=8, end=10, progress=True)
    assert "phold" in capsys.readouterr().err
