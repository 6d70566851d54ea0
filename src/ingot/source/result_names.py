"""How results are called after their nodes: `/conv/Conv_output_0` after `/conv/Conv`, as exporters do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ingot.ir.model import Model
from ingot.ir.node import Node

_PATTERNS = ("{name}_output_{index}", "{name}:{index}")


def common_result_names(model: Model) -> str | None:
    """The pattern that most results of named nodes follow; None if none of those known is common."""
    counts: Counter[str] = Counter()
    named = 0
    for node in model.nodes():
        if node.name and node.outputs:
            named += 1
            counts.update(pattern for pattern in _PATTERNS if _follows(node, pattern))
    pattern, count = counts.most_common(1)[0] if counts else ("", 0)
    return pattern if 2 * count > named else None


def follows(nodes: Sequence[Node], pattern: str | None) -> bool:
    """Whether the results of nodes need no names: they follow the pattern, or the only one is called as its node."""
    return all(_follows(node, pattern) for node in nodes)


def _follows(node: Node, pattern: str | None) -> bool:
    if not node.name or not node.outputs:
        return False
    if pattern is None:
        return len(node.outputs) == 1 and node.output.name == node.name
    return all(value.name == pattern.format(name=node.name, index=index) for index, value in enumerate(node.outputs))
