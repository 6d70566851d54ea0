"""Operators that only choose or move elements, done on codes: quantised as before, their results are codes as well."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.passes.replacing import replace
from ingot.queries.moving import MOVING
from ingot.queries.values import dtype, elements, only_reader, produced_by, read


def move_codes(model: Model, facts: Facts) -> int:
    """Have such operators read the codes of what is dequantised before and quantised after by the same scale; how many.

    The scale is one constant above zero, in float32, of bytes: numbers are in the order of their codes.
    """
    moved = 0
    for graph in list(nested_graphs(model.graph)):
        for node in list(graph):
            quantise = only_reader(node.outputs[0]) if node.graph is not None and node.applies(*MOVING) else None
            if quantise is None or any(value.uses or value.is_output for value in node.outputs[1:]):
                continue
            dequantise = produced_by(node.inputs[0], "DequantizeLinear")
            if dequantise is None or codes_refuse(dequantise, quantise, facts):
                continue
            codes = dequantise.inputs[0]
            results = 1 if node.applies("MaxPool") else len(node.outputs)  # a Split divides among all that it has
            copy = Node(node.op_type, [codes, *node.inputs[1:]], results, node.attributes, name=node.name)
            assert node.graph is not None
            node.graph.insert_before(node, copy)
            for old, new in zip(node.outputs, copy.outputs, strict=False):
                facts[new] = Fact(TensorType(_kind(codes, facts), facts[old].shape))
            replace(quantise.output, copy.output, facts)
            moved += 1
    return moved


def codes_refuse(dequantise: Node, quantise: Node, facts: Facts) -> str | None:
    """Why codes that are dequantised are not those that they are quantised to again."""
    if not quantise.applies("QuantizeLinear") or dtype(dequantise.inputs[0], facts) not in (DType.INT8, DType.UINT8):
        return "they are not, or no bytes"
    if dtype(quantise.output, facts) is not dtype(dequantise.inputs[0], facts):
        return "another type"
    if any(node.get(name, 0) for node in (dequantise, quantise) for name in ("block_size", "precision")):
        return "blocks, or a division in another type"
    scales = [elements(read(node, 1), facts) for node in (dequantise, quantise)]
    points = [_point(node, facts) for node in (dequantise, quantise)]
    if any(scale is None or scale.size != 1 or scale.dtype != np.float32 for scale in scales):
        return "scales of a run, or several"
    (one,), (other,) = (scale.reshape(-1) for scale in scales if scale is not None)
    if one != other or not np.isfinite(one) or one < np.finfo(np.float32).tiny or one > 1e30:
        return "other scales, or one whose multiples are not exact enough"
    return None if points[0] == points[1] is not None else "other zero points"


def _point(node: Node, facts: Facts) -> int | None:
    value = read(node, 2)
    if value is None:
        return 0
    known = elements(value, facts)
    return int(known.reshape(-1)[0]) if known is not None and known.size == 1 else None


def _kind(codes: Value | None, facts: Facts) -> DType:
    kind = dtype(codes, facts)
    assert kind is not None
    return kind
