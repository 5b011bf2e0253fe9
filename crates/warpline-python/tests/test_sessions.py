"""Sessions: runs that stop, are looked at, branched, saved and resumed."""

from pathlib import Path

import pytest

import warpline_sim as wl

PCS = {"cells": "6x6", "portables": 400, "end": 90}


def test_a_session_ends_as_a_run_does() -> None:
    whole = wl.run("pcs", **PCS)
    with wl.open("pcs", engine="timewarp", workers=2, **PCS) as s:
        assert s.now == 0.0
        s.run_until(30)
        assert s.now == 30.0
        assert s.next_event_time is not None and s.next_event_time >= 30.0
        assert s.report().end_time == 30.0
        assert "busy" in s.state(0)
        parts: list[float] = []
        s.run_until(progress=lambda part, text: parts.append(part))
        assert s.now == 90.0
        assert s.report().digest == whole.digest
        assert s.results == whole.results
        assert repr(s) == "<Session of pcs at 90>"
    assert repr(s) == "<Session of pcs, closed>"
    with pytest.raises(ValueError, match="closed"):
        s.run_until(100)


def test_branches_have_other_parameters(tmp_path: Path) -> None:
    with wl.open("pcs", channels=10, **PCS) as s:
        s.run_until(30)
        s.save(tmp_path / "run.ckpt")
        same, fewer = s.branch(engine="sequential"), s.branch(channels=6)
        for future in s, same, fewer:
            future.run_until()
        assert s.report().digest == same.report().digest != fewer.report().digest
        assert fewer.results["blocking_probability"] > s.results["blocking_probability"]
        with pytest.raises(wl.ConfigurationError, match="--channels, --stay"):
            s.branch(portables=300)
        with wl.open("pcs", channels=10, resume=tmp_path / "run.ckpt", **PCS) as resumed:
            assert resumed.now == 30.0
            resumed.run_until()
            assert resumed.report().digest == s.report().digest
    with pytest.raises(wl.WarplineError, match="other parameters"):
        wl.open("pcs", channels=6, resume=tmp_path / "run.ckpt", **PCS)
    report = wl.run("pcs", channels=10, resume=tmp_path / "run.ckpt", **PCS)
    assert report.digest == s_digest(PCS)


def s_digest(settings: dict[str, object]) -> str:
    """The digest of a run in one piece."""
    return wl.run("pcs", channels=10, **settings).digest  # type: ignore[arg-type]


def test_what_a_session_cannot_do_is_said() -> None:
    with pytest.raises(wl.ConfigurationError, match="a session is one run"):
        wl.open("phold", replications=3)
    with pytest.raises(wl.ConfigurationError, match="single rank"):
        wl.open("phold", engine="timewarp", ranks=2)
    with wl.open("phold", lps=8, population=16) as s:
        s.run_until(5)
        with pytest.raises(wl.ConfigurationError, match="not before 5"):
            s.run_until(4)
        with pytest.raises(wl.ConfigurationError, match="seed cannot differ"):
            s.branch(seed=2)

        def looks(part: float, text: str) -> None:
            s.now  # noqa: B018

        with pytest.raises(RuntimeError, match="middle of a step"):
            s.run_until(1e6, progress=looks)
