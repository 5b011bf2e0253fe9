"""The guide, docs/guide: the code of its pages runs, and prints what they show."""

import re
import runpy
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guide"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for written, code in BLOCK.findall(page.read_text()) if written == language]


PAGES = [page for page in sorted(GUIDE.glob("*.md")) if blocks(page, "python")]


def run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the blocks of a page print, one after the other in a file of their own."""
    script = folder / f"{page.stem.replace('-', '_')}.py"
    script.write_text("\n\n".join(blocks(page, "python")))
    runpy.run_path(str(script), run_name="__main__")
    return capsys.readouterr().out


def test_pages() -> None:
    assert {page.stem for page in PAGES} >= {"coming-from", "first-model", "many-runs"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_its_code_runs(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(page, tmp_path, capsys)


def test_the_first_model_is_that_of_rust(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = GUIDE / "first-model.md"
    in_rust = next(shown for shown in blocks(page, "text") if " events, digest " in shown).splitlines()
    in_python = run(page, tmp_path, capsys).splitlines()
    assert in_python[0] == in_rust[0]
    # Rust prints the units, too.
    assert len(in_python) == len(in_rust) == 11
    for python, rust in zip(in_python[1:], in_rust[1:], strict=True):
        assert rust.startswith(python)


def test_processes_have_the_figures_of_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = run(GUIDE / "coming-from.md", tmp_path, capsys).splitlines()
    # SimPy draws other numbers; the processes draw those of the events on the first page.
    assert printed[-2:] == ["31740 waits, 15.69 minutes on average", "16.03 ± 0.68 minutes"]
    shown = blocks(GUIDE / "coming-from.md", "text")
    assert "\n".join(printed[:1]) + "\n" in shown and "\n".join(printed[1:]) + "\n" in shown
