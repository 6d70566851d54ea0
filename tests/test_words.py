"""The core speaks the language of the field: names say what they hold, and docstrings have the textbook's terms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ingot"
PACKAGES = ("lower", "fuse", "schedule", "loops", "codegen", "runtime", "providers", "prim", "cache", "tools/inspect")
FILES = ("compile.py", "session.py", "variants.py", "warm_start.py")
EMPTY_NAMES = {"found", "made", "said", "told", "crew", "team", "room"}
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


@pytest.mark.parametrize("place", [*PACKAGES, *FILES])
def test_no_name_of_the_core_leaves_open_what_it_holds(place: str) -> None:
    empty = [
        f"{path.relative_to(SOURCE)}:{line} {name}"
        for path in sources(place)
        for name, line in names_in(ast.parse(path.read_text("utf-8")))
        if EMPTY_NAMES & set(name.lower().split("_"))
    ]
    assert not empty, "\n".join(empty)


@pytest.mark.parametrize("package", TERMS)
def test_docstrings_of_a_package_have_the_terms_of_its_field(package: str) -> None:
    trees = [ast.parse(path.read_text("utf-8")) for path in sources(package)]
    strings = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Expr))
    text = " ".join(
        string.value for string in strings if isinstance(string, ast.Constant) and isinstance(string.value, str)
    )
    missing = [term for term in TERMS[package] if term.lower() not in " ".join(text.lower().split())]
    assert not missing
