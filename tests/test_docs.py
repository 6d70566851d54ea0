"""What the README and the guides show runs."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest

from test_layers import LAYERS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "docs" / "architecture.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
NEEDS = {
    "README.md": ("torch", "sklearn", "onnxruntime"),
    "converting.md": ("sklearn",),
    "keras.md": ("keras", "tensorflow"),
    "pytorch.md": ("torch",),
    "tensorflow.md": ("tensorflow",),
}
"""What a page imports besides the package and what its tests need."""
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    for package in NEEDS.get(page.name, ()):
        if find_spec(package) is None:
            pytest.skip(f"needs {package}")
    blocks = [dedent(block) for _, block in BLOCK.findall(page.read_text("utf-8"))]
    if page.name in ("README.md", "architecture.md", "editing.md", "building.md"):
        assert blocks
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    script = tmp_path / f"page_{page.stem}.py"  # not the name of what it imports
    script.write_text("\n".join(blocks), "utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", script.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_no_page_has_a_placeholder_that_was_to_be_filled_in() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert [page.name for page in pages if re.search(r"@[A-Z_]+@", page.read_text("utf-8"))] == []


def test_no_two_entries_of_the_changelog_begin_with_the_same_words() -> None:
    entries = re.findall(r"^- ((?:.+\n(?!- |\n|#))*.+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    beginnings = Counter(" ".join(entry.split()[:10]) for entry in entries)
    assert len(beginnings) > 200
    assert [words for words, count in beginnings.items() if count > 1] == []


def test_the_readme_shows_loading_editing_saving_and_building() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for shown in ("ingot.load(", "ingot.save(", "@build(", "make demo", "make test"):
        assert shown in text


def test_the_readme_converts_as_the_tutorials_of_torch_do_with_one_import_changed() -> None:
    torch = pytest.importorskip("torch")
    text = (ROOT / "README.md").read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith("from ingot import export"))
    assert line.endswith("# it was: from torch.onnx import export")
    [call] = re.findall(r"^export\((.*?)^\)", text, re.MULTILINE | re.DOTALL)
    taken = inspect.signature(torch.onnx.export).parameters
    given = re.findall(r"^    (\w+)=", call, re.MULTILINE)
    assert "dynamic_axes" in given
    assert set(given) <= set(taken)


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


PAGES_ON_CODE = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")]
NAMED_FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)(?=[`:])")


@pytest.mark.parametrize("page", PAGES_ON_CODE, ids=lambda page: page.name)
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    for name in NAMED_FILE.findall(page.read_text("utf-8")):
        assert any((folder / name).exists() for folder in (ROOT, ROOT / "src" / "ingot")), f"{name} is not there"


def test_the_architecture_describes_every_package_in_the_order_of_imports() -> None:
    section = (
        (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## The packages")[2].partition("## Add")[0]
    )
    assert re.findall(r"\*\*(\w+)\*\*", section) == LAYERS
    listed = (
        (ROOT / "CONTRIBUTING.md")
        .read_text("utf-8")
        .partition("(`tests/test_layers.py`):\n\n```\n")[2]
        .partition("```")[0]
    )
    assert [name for line in listed.splitlines() for name in line.partition("  ")[0].split()] == LAYERS


def test_decisions_are_numbered_one_by_one() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        assert page.read_text("utf-8").startswith(f"# {int(page.name[:4])}. ")


def test_the_demo_runs(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / "demo.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "loaded again" in run.stdout
    assert not list(tmp_path.iterdir())
