"""Tensors that are joined and then quantised: quantised first, so that bytes are joined."""

from __future__ import annotations

from typing import Any

from ingot.builder import inserting, op
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.passes.move_codes import codes_refuse
from ingot.passes.replacing import replace
from ingot.queries.values import dtype, elements, only_reader, produced_by, read


def join_codes(model: Model, facts: Facts) -> int:
    """Replace QuantizeLinear of a Concat that nothing else reads by a Concat of what is quantised; how many.

    The scale is one for all. Parts that were dequantised by the same scale are joined as they were before.
    """
    joined = 0
    for graph in list(nested_graphs(model.graph)):
        for node in list(graph):
            quantise = only_reader(node.output) if node.graph is not None and node.applies("Concat") else None
            if quantise is None or not quantise.applies("QuantizeLinear") or quantise.inputs[0] is not node.output:
                continue
            scale, zero = elements(read(quantise, 1), facts), read(quantise, 2)
            if scale is None or scale.size != 1 or quantise.get("block_size", 0):
                continue
            if zero is not None and elements(zero, facts) is None:
                continue
            with inserting(before=node):
                parts = [_part(value, quantise, facts) for value in node.inputs if value is not None]
                codes = op.Concat(*parts, axis=node.get("axis"))
            replace(quantise.output, codes.value, facts)
            joined += 1
    return joined


def _part(value: Value, quantise: Node, facts: Facts) -> Any:
    """The codes of a part."""
    dequantise = produced_by(value, "DequantizeLinear")
    if dequantise is not None and codes_refuse(dequantise, quantise, facts) is None:
        return dequantise.inputs[0]
    attributes = {name: quantise.get(name) for name in ("output_dtype", "precision", "saturate") if name in quantise}
    codes = op.QuantizeLinear(value, quantise.inputs[1], read(quantise, 2), **attributes)
    kind = dtype(quantise.output, facts)
    if kind is not None:
        facts[codes.value] = Fact(TensorType(kind, facts[value].shape))
    return codes
