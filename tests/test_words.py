"""The sources use the language of the field: names denote what they hold, and docstrings have the textbook's terms."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ingot"
PACKAGES = sorted(path.name for path in SOURCE.iterdir() if path.name != "__pycache__" and path.suffix in ("", ".py"))
EMPTY_NAMES = {"found", "made", "said", "told", "given", "kept", "taken", "some", "crew", "team", "room"}
NAMES_OF_OTHERS = {
    "cli/external_page.py found": "a key of the JSON that users read",
    "cli/page.py found": "a key of the JSON that users read",
    "cli/placement.py found": "a key of the JSON that users read",
    "cli/summary.py found": "a key of the JSON that users read",
    "convert/tensorflow/rules/quantisation.py range_given": "an attribute of TensorFlow's operation",
}
DIALECT = re.compile(r"\b(said|told|only\s+a\s+run\s+(can\s+)?tells?|taken\s+to\s+be|(can|cannot)\s+say)\b")
"""What has a term: stated, reported, statically unknown, data-dependent, assumed, express."""
TERMS = {
    "lower": ("invariant", "specialis", "outlin", "hoist", "guard"),
    "fuse": ("elementwise", "epilogue", "prologue", "placement", "GEMM"),
    "schedule": ("GEMM", "tile", "vectoris", "unroll-and-jam", "hoist"),
    "codegen": ("elementwise", "epilogue", "GEMM", "SIMD", "thread pool", "kernel template", "runtime scalar"),
    "runtime": ("fast path", "thread pool", "specialised", "invariant", "warm start", "plan file", "guard"),
}


def sources(*places: str) -> Iterator[Path]:
    for place in places:
        yield from (SOURCE / place,) if place.endswith(".py") else sorted((SOURCE / place).rglob("*.py"))


def names_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno


@pytest.mark.parametrize("place", PACKAGES)
def test_no_name_leaves_open_what_it_holds(place: str) -> None:
    empty = [
        f"{inside}:{line} {name}"
        for path in sources(place)
        for inside in [path.relative_to(SOURCE).as_posix()]
        for name, line in names_in(ast.parse(path.read_text("utf-8")))
        if EMPTY_NAMES & set(name.lower().split("_")) and f"{inside} {name}" not in NAMES_OF_OTHERS
    ]
    assert not empty, "\n".join(empty)


@pytest.mark.parametrize("place", PACKAGES)
def test_no_sentence_needs_the_words_of_a_dialect(place: str) -> None:
    sentences = [
        f"{path.relative_to(SOURCE)}: {' '.join(match[0].split())}"
        for path in sources(place)
        for match in DIALECT.finditer(path.read_text("utf-8"))
    ]
    assert not sentences, "\n".join(sentences)


@pytest.mark.parametrize("package", TERMS)
def test_docstrings_of_a_package_have_the_terms_of_its_field(package: str) -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in sources(package)]
    strings = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Expr))
    text = " ".join(
        string.value for string in strings if isinstance(string, ast.Constant) and isinstance(string.value, str)
    )
    missing = [term for term in TERMS[package] if term.lower() not in " ".join(text.lower().split())]
    assert not missing
