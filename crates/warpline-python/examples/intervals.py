"""Confidence intervals: independent replications, on all cores."""

import warpline_sim as wl


def main() -> None:
    report = wl.replicate("pcs", 8, cells="16x16", portables=6400, end=300, warmup=60)
    widths = report.half_width_95 or {}
    for name, mean in report.results.items():
        print(f"{name:<26} {mean:12.6g} ± {widths[name]:.2g}")
    meanings = {figure["name"]: figure["meaning"] for figure in wl.info("pcs")["results"]}
    print(f"blocking_probability: {meanings['blocking_probability']}")


if __name__ == "__main__":
    main()
