"""Rows: Attention that takes heads apart and puts them together itself, instead of four transposes around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import inserting, op
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.passes.replacing import add_constant, drop, replace
from ingot.passes.reshape import VIEWS
from ingot.queries.values import only_reader, produced_by, read, shape

_HEADS_FIRST = (0, 2, 1, 3)


def take_rows(model: Model, facts: Facts) -> int:
    """Give Attention rows of all heads where each input was taken apart before it, and the result is put together."""
    count = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if not node.applies("Attention") or len(node.outputs) > 1 or read(node, 4) is not None:
                continue
            after = only_reader(node.output)
            sources = [_rows(value, facts) for value in node.inputs[:3]]
            if after is None or not _flips(after) or any(source is None for source in sources):
                continue
            count += _take(node, after, sources, facts)
    return count


def _flips(node: Node | None) -> bool:
    return node is not None and node.applies("Transpose") and tuple(node.get("perm", ())) == _HEADS_FIRST


def _rows(value: Value | None, facts: Facts) -> Value | None:
    """`[batch, length, heads * size]`, which was seen as `[batch, length, heads, size]` and transposed."""
    flip = produced_by(value, "Transpose")
    parted = produced_by(flip.inputs[0], *VIEWS) if flip is not None and _flips(flip) else None
    if parted is None:
        return None
    before, after = shape(parted.inputs[0], facts), shape(parted.output, facts)
    if before is None or after is None or len(before) != 3 or len(after) != 4:
        return None
    heads = isinstance(after[2], int) and isinstance(after[3], int)
    return parted.inputs[0] if heads and before[:2] == after[:2] and before[2] == after[2] * after[3] else None


def _take(node: Node, after: Node, sources: list[Value | None], facts: Facts) -> bool:
    q, k, v = (shape(value, facts) for value in node.inputs[:3])
    if q is None or k is None or v is None or node.graph is None or after.graph is not node.graph:
        return False
    target = Tensor(np.array([0, 0, q[1], v[3]], np.int64))
    attributes: dict[str, Any] = {
        name: attribute for name, attribute in node.attributes.items() if "num_heads" not in name
    }
    part = add_constant(target, "heads", node.graph, facts)
    with inserting(before=node):
        rows = op.Attention(*sources, read(node, 3), q_num_heads=q[1], kv_num_heads=k[1], **attributes)
        parted = op.Reshape(rows, part).value
    replace(after.output, parted, facts)
    drop(node)
    return True
