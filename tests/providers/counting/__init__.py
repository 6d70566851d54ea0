"""A provider that evaluates additions, and counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ingot.ir.node import Node
from ingot.ops.define import Operator
from ingot.ops.facts import Fact


class Counting:
    """An evaluator that takes nothing but Add."""

    name = "counting"
    takes_all = False

    def __init__(self) -> None:
        self.computed: list[str] = []

    def refuses(
        self,
        node: Node,
        operator: Operator | None,  # noqa: ARG002
        inputs: Sequence[Fact],  # noqa: ARG002
        outputs: Sequence[Fact],  # noqa: ARG002
    ) -> str | None:
        return None if node.applies("Add") else "it only adds"

    def compute(self, node: Node, operator: Operator, inputs: Sequence[Any], arguments: Mapping[str, Any]) -> Any:
        assert not arguments
        assert operator.name == "Add"
        self.computed.append(node.label)
        return inputs[0] + inputs[1]
