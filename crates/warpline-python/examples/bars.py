"""Bars of text: what the examples of processes draw."""

from collections.abc import Iterable


def bars(title: str, labels: Iterable[object], values: Iterable[float]) -> None:
    """Prints a bar for each value."""
    print(f"\n{title}")
    values = [float(value) for value in values]
    most = max([*values, 1e-9])
    for label, value in zip(labels, values, strict=True):
        print(f"{label:>14} {'#' * round(50 * value / most)} {value:g}")


def compare(what: str, found: float, theory: float) -> None:
    """Prints what a run has beside what theory says."""
    print(f"{what}: {found:.4f}, and by theory {theory:.4f}")


if __name__ == "__main__":
    bars("Squares", range(1, 5), [1, 4, 9, 16])
