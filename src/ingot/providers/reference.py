"""The provider `reference`: every operator by the numpy function that defines it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ingot.ir.node import Node
from ingot.ops.define import Operator
from ingot.ops.facts import Fact


class Reference:
    """An evaluator that refuses nothing that has a definition."""

    name = "reference"
    takes_all = True

    def refuses(
        self,
        node: Node,
        operator: Operator | None,
        inputs: Sequence[Fact],  # noqa: ARG002
        outputs: Sequence[Fact],  # noqa: ARG002
    ) -> str | None:
        return f"nobody defines {node.op_type}" if operator is None else None

    def compute(self, node: Node, operator: Operator, inputs: Sequence[Any], arguments: Mapping[str, Any]) -> Any:  # noqa: ARG002
        return operator.evaluate(*inputs, **arguments)

    def bind(self, operator: Operator, arguments: Mapping[str, Any]) -> Callable[..., Any]:
        """What computes a node of an operator again and again, from its inputs."""
        if "bind" in operator.rules:
            bound: Callable[..., Any] = operator.rules["bind"](**{**operator.defaults, **arguments})
            return bound
        return partial(operator.evaluate, **arguments) if arguments else operator.evaluate
