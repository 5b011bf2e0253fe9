"""One model, every engine, the same answer: PHOLD with a lookahead."""

import warpline_sim as wl


def main() -> None:
    model = dict(lps=1024, population=16384, lookahead=0.5, end=20)
    digests = set()
    for engine in ["sequential", "conservative", "timewarp", "speculative", "auto"]:
        workers = {} if engine in ("sequential", "auto") else {"workers": 2}
        report = wl.run("phold", engine=engine, **workers, **model)
        digests.add(report.digest)
        print(f"{engine:<12}  {report.events_per_second / 1e6:6.2f} M events/s  {report.digest}")
    assert len(digests) == 1, "a bug in Warpline: please report it"


if __name__ == "__main__":
    main()
