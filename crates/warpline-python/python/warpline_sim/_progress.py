"""Progress: a bar of tqdm, or a function of the caller's."""

# Whoever checks a program of theirs need not have all that this may import.
# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown(
    progress: bool | Callable[[float, str], object], what: str
) -> Iterator[Callable[[float, str], object] | None]:
    """The function to be told how far a call has come; ``None`` if nobody wants to know."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm: pip install warpline-sim[progress]"
        ) from error
    with tqdm(total=100, desc=what, bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}") as bar:

        def show(part: float, text: str) -> None:
            bar.set_postfix_str(text, refresh=False)
            bar.update(100 * part - bar.n)

        yield show
