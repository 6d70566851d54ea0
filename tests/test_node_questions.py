"""What a node is, is asked by `node.applies(...)`: nobody compares operators and domains by hand.

Forbidden are comparisons and `match` statements on `.op_type` alone, tables looked up by it alone, and the
text `"ai.onnx"`: domains are canonical already, and `ir.domains` reads and shows the other spelling. Tables of rules
are looked up by domain and operator together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ingot

ROOT = Path(ingot.__file__).parent
DEFINITIONS = (Path("ir/node.py"), Path("ir/domains.py"))
"""Where the questions are defined."""


def questions(text: str) -> list[str]:
    """Where a source text asks by hand what a node is: a line and its reason each."""
    return [f"line {node.lineno}: {reason}" for node, reason in _questions(ast.parse(text))]


def _questions(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others) if any(map(_is_operator, [left, *others])):
                yield node, "an op_type is compared: ask node.applies(...)"
            case ast.Match(subject=ast.Attribute(attr="op_type")):
                yield node, "an op_type is matched: ask node.applies(...)"
            case ast.Match(subject=ast.Tuple(elts=parts)) if any(map(_is_operator, parts)):
                yield node, "an op_type is matched: ask node.applies(...)"
            case ast.Subscript(slice=ast.Attribute(attr="op_type")):
                yield node, "a table is looked up by op_type alone: its keys need the domain"
            case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Attribute(attr="op_type"), *_]):
                yield node, "a table is looked up by op_type alone: its keys need the domain"
            case ast.Constant(value="ai.onnx"):
                yield node, "the standard domain is spelled out: see ir.domains"


def _is_operator(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "op_type"


def test_nobody_asks_by_hand_what_a_node_is() -> None:
    asked: list[str] = []
    for path in ROOT.rglob("*.py"):
        text = path.read_text("utf-8")
        file = path.relative_to(ROOT)
        if file not in DEFINITIONS and ("op_type" in text or "ai.onnx" in text):
            asked += [f"{file}, {question}" for question in questions(text)]
    assert sorted(asked) == []


@pytest.mark.parametrize(
    "text",
    [
        "node.op_type == 'Add'",
        "'Add' != value.producer.op_type",
        "node.op_type in ('Add', 'Sub')",
        "node.op_type not in TABLE",
        "pattern.op_type == node.op_type",
        "match node.op_type:\n    case 'Add': pass",
        "match (node.domain, node.op_type):\n    case ('', 'Add'): pass",
        "TABLE[node.op_type]",
        "TABLE.get(node.op_type, ())",
        "node.domain in ('', 'ai.onnx')",
        "domain = '' if node.domain == 'ai.onnx' else node.domain",
        "f'{domain or \"ai.onnx\"}'",
    ],
)
def test_a_question_by_hand_is_reported(text: str) -> None:
    assert questions(text)


@pytest.mark.parametrize(
    "text",
    [
        "node.applies('Add')",
        "RULES.get((node.domain, node.op_type))",
        "(one.domain, one.op_type) == (other.domain, other.op_type)",
        "(node.domain, node.op_type) in RULES",
        "f'{node.op_type} at {place}'",
        "domain == 'ai.onnx.ml'",
    ],
)
def test_other_uses_are_not_reported(text: str) -> None:
    assert questions(text) == []
