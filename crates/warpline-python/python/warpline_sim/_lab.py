"""The laboratory: the papers' figures, measured on this machine."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Unpack

from . import _native, _progress
from ._calls import Progress, settings_of
from ._settings import LabSettings
from ._table import Table


@dataclass(frozen=True, repr=False)
class Findings:
    """What a figure came to, which a notebook shows as its text."""

    #: The figure's name.
    figure: str
    #: All its numbers.
    table: Table
    #: The paper's claims, and whether they hold here: Markdown.
    text: str

    def __repr__(self) -> str:
        return f"<Findings of {self.figure}: {len(self.table)} rows>"

    def _repr_markdown_(self) -> str:
        return self.text


def figures() -> list[dict[str, str]]:
    """The figures that :func:`lab` measures: their names and titles."""
    known: list[dict[str, str]] = json.loads(_native.figures())
    return known


def lab(
    figure: str,
    *,
    output: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    **settings: Unpack[LabSettings],
) -> Findings:
    """Measures a figure of a paper; ``figures()`` names them.

    The settings are the flags of ``warpline lab``, with ``_`` in place of ``-``; with ``output``, a
    directory, the files of the command stay there. An interrupt (Ctrl-C) ends it without a result.

    ``wl.lab("fig3", quick=True).table`` takes a second, and measures nothing; without ``quick`` it
    takes minutes.
    """
    with TemporaryDirectory() as own, _progress.shown(progress, figure) as show:
        given = {**settings, "output": own if output is None else output}
        files = {path.name: path for path in _native.lab(figure, settings_of(given), show)}
        if not files:
            raise KeyboardInterrupt
        table = Table.read_csv(files[f"{figure}.csv"])
        return Findings(figure, table, files[f"{figure}.md"].read_text(encoding="utf-8"))
