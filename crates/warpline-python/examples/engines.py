"""One model, every engine, the same answer: PHOLD with a lookahead."""

import warpline_sim as wl


def main() -> None:
    engines: list[wl.EngineName] = ["sequential", "conservative", "timewarp", "speculative", "auto"]
    digests = set()
    for engine in engines:
        workers = None if engine in ("sequential", "auto") else 2
        report = wl.run(
            "phold", lps=1024, population=16384, lookahead=0.5, end=20, engine=engine, workers=workers
        )
        digests.add(report.digest)
        print(f"{engine:<12}  {report.events_per_second / 1e6:6.2f} M events/s  {report.digest}")
    assert len(digests) == 1, "a bug in Warpline: please report it"


if __name__ == "__main__":
    main()
