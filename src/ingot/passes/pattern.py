"""Rewrite rules: a pattern of operators, a check that gives its reason, and what to write instead.

A pattern is a name, which stands for any value, the same one wherever the name occurs; a number, which stands for a
constant of that value; or `Op`, an operator of patterns. Additions and products match in either order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isclose
from typing import Any, TypeAlias

from ingot.builder import inserting
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.replacing import replace
from ingot.queries.values import dtype, number, produced_by

Pattern: TypeAlias = "str | float | Op | Either"

_COMMUTATIVE = ("Add", "Mul")

_PRECISION = {DType.FLOAT16: 1e-3, DType.BFLOAT16: 8e-3}
"""How far a constant may be from the number that a formula has, as an exporter rounds it; 1e-6 in wider types."""


class Op:
    """A node of one operator and the patterns of its inputs; `name`, if given, stands for what it computes."""

    def __init__(self, operator: str, *inputs: Pattern, name: str = "") -> None:
        self.operator = operator
        self.inputs = inputs
        self.name = name


class Either:
    """One of several patterns."""

    def __init__(self, *patterns: Pattern) -> None:
        self.patterns = patterns


@dataclass(frozen=True, slots=True)
class Match:
    """A match: the values by name, and the nodes of the operators."""

    values: dict[str, Value]
    nodes: tuple[Node, ...]
    facts: Facts

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def node(self, operator: str) -> Node:
        """The first node of an operator."""
        return next(node for node in self.nodes if node.applies(operator))


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for, why it may not be rewritten after all, and what to write; `write` uses `op`."""

    pattern: Op
    refuses: Callable[[Match], str | None]
    write: Callable[[Match], Any]


def rewrite_all(rules: Sequence[Rule], model: Model, facts: Facts) -> int:
    """Apply rules wherever they match, the first that does; how often. What others read too is never taken away."""
    applied = 0
    for graph in list(nested_graphs(model.graph)):
        for node in reversed(graph):
            for rule in rules:
                if node.applies(rule.pattern.operator) and _apply(rule, node, facts):
                    applied += 1
                    break
    return applied


def find(pattern: Pattern, value: Value, facts: Facts) -> Match | None:
    """The first match of a pattern that ends in `value`, whose inner values nothing else reads."""
    for values, nodes in _matches(pattern, value, {}, (), facts):
        if all(_closed(node, nodes) for node in nodes if node is not value.producer):
            return Match(values, nodes, facts)
    return None


def _apply(rule: Rule, node: Node, facts: Facts) -> bool:
    match = find(rule.pattern, node.output, facts)
    if match is None or rule.refuses(match) is not None:
        return False
    with inserting(before=node):
        written = rule.write(match).value
    replace(node.output, written, facts)
    return True


def _closed(node: Node, nodes: tuple[Node, ...]) -> bool:
    return not any(value.is_output or any(user not in nodes for user in value.users) for value in node.outputs)


_Match: TypeAlias = "tuple[dict[str, Value], tuple[Node, ...]]"


def _matches(
    pattern: Pattern, value: Value | None, values: dict[str, Value], nodes: tuple[Node, ...], facts: Facts
) -> Iterator[_Match]:
    match pattern:
        case str():
            if value is not None and values.get(pattern, value) is value:
                yield {**values, pattern: value}, nodes
        case float() | int():
            held = number(value, facts)
            close = _PRECISION.get(dtype(value, facts) or DType.FLOAT32, 1e-6)
            if isinstance(held, float | int) and isclose(held, pattern, rel_tol=close, abs_tol=0.0):
                yield values, nodes
        case Either():
            for each in pattern.patterns:
                yield from _matches(each, value, values, nodes, facts)
        case Op():
            yield from _operator_matches(pattern, value, values, nodes, facts)


def _operator_matches(
    pattern: Op, value: Value | None, values: dict[str, Value], nodes: tuple[Node, ...], facts: Facts
) -> Iterator[_Match]:
    node = produced_by(value, pattern.operator)
    if node is None or value is None or values.get(pattern.name, value) is not value:
        return
    named = {**values, pattern.name: value} if pattern.name else values
    seen = nodes if node in nodes else (*nodes, node)
    operands = list(node.inputs)
    while operands and operands[-1] is None:
        operands.pop()
    orders = [operands, operands[::-1]] if pattern.operator in _COMMUTATIVE and len(operands) == 2 else [operands]
    for inputs in orders:
        if len(inputs) == len(pattern.inputs):
            yield from _all_match(pattern.inputs, inputs, named, seen, facts)


def _all_match(
    patterns: Sequence[Pattern],
    inputs: Sequence[Value | None],
    values: dict[str, Value],
    nodes: tuple[Node, ...],
    facts: Facts,
) -> Iterator[_Match]:
    if not patterns:
        yield values, nodes
        return
    for bound, seen in _matches(patterns[0], inputs[0], values, nodes, facts):
        yield from _all_match(patterns[1:], inputs[1:], bound, seen, facts)
