"""Refusals before lowering: why a node is not worth asking its operator's `lower` rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ingot.dtypes import DType
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ops.define import Operator
from ingot.ops.facts import Fact

Refuses: TypeAlias = Callable[[Node, "Operator | None", Sequence[Fact], Sequence[Fact]], str | None]
"""Why a node is not compiled, from it, its operator (None if unknown), and the facts of inputs and outputs."""


def refuse_to_lower(
    node: Node, operator: Operator | None, inputs: Sequence[Fact], outputs: Sequence[Fact]
) -> str | None:
    """Why a node cannot be lowered, from what is known before its rule runs; None if the rule is to be tried."""
    if operator is None or "lower" not in operator.rules:
        return f"{node.op_type} has no rule"
    if operator.takes("lower", "regions"):
        return None  # its subgraphs are lowered with it, and say more
    for fact in outputs:
        if not isinstance(fact.type, TensorType) or fact.type.shape is None or None in fact.type.shape:
            return "a result of unknown sizes"
    if any(fact.dtype is DType.STRING for fact in inputs):
        return "elements of string"
    return None
