"""The trace of a run: `trace=` writes a file for Perfetto."""

import warpline_sim as wl

# A trace begins with field 1, a packet, and its length.
PACKET = 0x0A


def test_a_trace_is_written(tmp_path) -> None:
    path = tmp_path / "run.pftrace"
    engine = dict(engine="timewarp", workers=2)
    report = wl.run("phold", lps=64, population=256, end=20, trace=str(path), **engine)
    assert report.to_dict()["trace"]["spans"] > 0
    assert path.read_bytes()[:1] == bytes([PACKET])
