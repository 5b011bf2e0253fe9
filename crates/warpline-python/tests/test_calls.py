"""Runs, sweeps, replications and descriptions of models."""

import os
import pickle
import subprocess
import sys

import pytest

import warpline_sim as wl

SMALL = dict(lps=64, population=256, end=20)


def test_every_engine_has_the_same_digest() -> None:
    truth = wl.run("phold", engine="sequential", **SMALL)
    assert truth.committed_events > 1000
    for engine in ["conservative", "timewarp", "speculative", "auto"]:
        report = wl.run("phold", engine=engine, workers=2, lookahead=0.1, **SMALL)
        oracle = wl.run("phold", engine="sequential", lookahead=0.1, **SMALL)
        assert (report.digest, report.results) == (oracle.digest, oracle.results), engine
        assert report.model == "phold" and report.engine == engine


def test_keywords_are_the_flags_of_the_command() -> None:
    report = wl.run("phold", seed=2**64 - 1, engine="timewarp", workers=2, throttle=True, **SMALL)
    assert report.seed == 2**64 - 1
    command = [sys.executable, "-m", "warpline_sim", "run", "phold", "--lps=64"]
    command += ["--population=256", "--end=20", f"--seed={2**64 - 1}", "--quiet"]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert report.digest in completed.stdout


def test_reports_are_values() -> None:
    report = wl.run("phold", **SMALL)
    again = pickle.loads(pickle.dumps(report))
    assert again == report and again.to_dict() == report.to_dict()
    assert wl.Report.from_dict(report.to_dict()) == report
    with pytest.raises(AttributeError):
        report.digest = "another"
    with pytest.raises(TypeError):
        report.results["mean"] = 0.0
    assert report.digest in report._repr_html_() and "phold" in repr(report)


def test_replications_have_intervals() -> None:
    report = wl.replicate("phold", 4, **SMALL)
    assert report.replications == 4 and len(report.to_dict()["digests"]) == 4
    assert set(report.half_width_95) == set(report.results)


def test_a_text_is_what_the_command_reads() -> None:
    """Red when a text is taken apart into its letters."""
    table = wl.sweep("phold", {"seed": "1:3"}, lps=8, end=5, engine="sequential")
    assert list(table["seed"]) == [1, 2, 3]


def test_sweeps_are_tables() -> None:
    table = wl.sweep("phold", {"remote": [0.1, 0.9], "seed": range(1, 3)}, lps=64, end=20)
    assert table.column("remote") == [0.1, 0.1, 0.9, 0.9]
    assert table.column("seed") == [1, 2, 1, 2]
    one = wl.run("phold", remote=0.9, seed=2, lps=64, end=20)
    assert table[3]["digest"] == one.digest
    assert len(table[1:3]) == 2


def test_info_describes_models() -> None:
    assert "pcs" in [model["model"] for model in wl.info()]
    names = [parameter["name"] for parameter in wl.info("pcs")["parameters"]]
    assert "channels" in names
    with pytest.raises(wl.ConfigurationError, match="did you mean `phold`"):
        wl.info("fold")


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        (dict(lpz=3), "unknown key `lpz`; did you mean `lps`"),
        (dict(lps="ten"), "^`lps` is 'ten', but must be a whole number$"),
        (dict(lps=2.5), "^`lps` is '2.5', but must be a whole number$"),
        (dict(mean="long"), "^`mean` is 'long', but must be a number$"),
        (dict(engine="wrap"), "^`engine` is 'wrap', but must be one of auto, sequential"),
        (dict(lps=0), "lps"),
        (dict(format="json"), "unknown key `format`"),
        (dict(engine="warp"), "warp"),
        (dict(engine="sequential", window=3), "window"),
        (dict(end=float("nan")), "end"),
    ],
)
def test_mistakes_are_explained(settings: dict, what: str) -> None:
    with pytest.raises(wl.ConfigurationError, match=what) as caught:
        wl.run("phold", **settings)
    assert caught.value.kind == "configuration" and caught.value.lp is None


def test_a_run_that_fails_says_where() -> None:
    with pytest.raises(wl.OutOfMemory, match="out of event buffers") as caught:
        wl.run("phold", engine="timewarp", workers=2, memory="4KiB", seed=7, **SMALL)
    error = caught.value
    assert (error.engine, error.seed, error.kind) == ("timewarp", 7, "memory")
    assert error.worker in (0, 1) and "raise --memory" in error.advice
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.__dict__) == (str(error), error.__dict__)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk here")
def test_a_file_that_fails_costs_no_report() -> None:
    with pytest.raises(wl.WarplineError, match="could not be written") as caught:
        wl.run("phold", engine="timewarp", workers=1, trace="/dev/full", **SMALL)
    report = caught.value.report
    assert report is not None
    assert report.digest == wl.run("phold", engine="sequential", **SMALL).digest
    assert pickle.loads(pickle.dumps(caught.value)).report.digest == report.digest


def test_a_run_that_fails_costs_no_other_row() -> None:
    with pytest.raises(wl.OutOfMemory, match="memory=100, replication 0") as caught:
        wl.sweep("phold", {"memory": ["100", "1MiB"]}, engine="sequential", **SMALL)
    table = caught.value.table
    assert table is not None and list(table["memory"]) == ["1MiB"]


def test_verify_compares_with_the_oracle() -> None:
    assert wl.run("phold", verify=True, **SMALL).verified


def test_a_report_has_a_page() -> None:
    report = wl.run("pcs", cells="4x4", portables=50, end=30, engine="timewarp", workers=2)
    page = report.html()
    assert page.startswith("<!DOCTYPE html>") and "<svg" in page and report.digest in page
    assert "busy channels per cell" in page and ">--cells=4x4<" in page
    again = wl.Report.from_dict(report.to_dict())
    assert again.html() == page
    assert " ± " in wl.replicate("phold", 3, **SMALL).html()


def test_circuits_have_waveforms() -> None:
    page = wl.run("circuit", generate="chain:3", vectors=2).html()
    assert "Waveforms" in page and "time in ns" in page


def test_the_warm_up_is_found():
    report = wl.run("phold", lps=16, population=64, end=60, find_warmup=50)
    assert set(report.warm_up["results"]) == set(report.results)
    intervals = report.to_dict()["intervals"]
    assert intervals["length"] == 60 / 50
    assert sum(intervals["results"]["handled"]) == report.results["handled"]
    assert wl.run("phold", lps=16, population=64, end=60).warm_up is None
