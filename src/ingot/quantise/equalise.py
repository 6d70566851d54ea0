"""Cross-layer equalisation: channels between two convolutions scaled so that both weights have even ranges.

A channel that the first makes large and the second multiplies by little costs both their steps. Relu lets a positive
factor through, so that it can move from one weight to the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ingot.dtypes import Array
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.quantise.prepare import Prepared
from ingot.quantise.writer import set_constant
from ingot.queries.lenient_inference import gather
from ingot.queries.values import only_reader, read

_ROUNDS = 10
_CLOSE = 1e-3


def equalise(prepared: Prepared) -> Prepared:
    """The model with its pairs of convolutions, or of Gemm, equalised, until nothing changes; results stay the same."""
    for _ in range(_ROUNDS):
        changed = False
        for first, second in _pairs(prepared):
            changed |= _equalise_pair(first, second)
        if not changed:
            break
        prepared = Prepared(prepared.model, gather(prepared.model))
    return prepared


def _pairs(prepared: Prepared) -> Iterator[tuple[Node, Node]]:
    graph: Graph = prepared.model.graph
    for node in graph:
        if not node.applies("Conv", "Gemm") or _constant(read(node, 1)) is None:
            continue
        value, reader = node.output, only_reader(node.output)
        if reader is not None and reader.applies("Relu", "LeakyRelu"):
            value, reader = reader.output, only_reader(reader.output)
        if reader is None or not reader.applies(node.op_type) or _constant(read(reader, 1)) is None:
            continue
        bias = read(node, 2)
        plain = all(each.get(name, 1.0) == 1.0 for each in (node, reader) for name in ("alpha", "beta"))
        sums_channels = reader.inputs[0] is value and not reader.get("transA", 0)
        if plain and sums_channels and (bias is None or _constant(bias) is not None):
            yield node, reader


def _equalise_pair(first: Node, second: Node) -> bool:
    one, other = _constant(read(first, 1)), _constant(read(second, 1))
    assert one is not None
    assert other is not None
    out_axis = 0 if first.applies("Conv") or first.get("transB", 0) else 1
    groups = int(second.get("group", 1))
    depthwise = second.applies("Conv") and groups == other.shape[0] and other.shape[1] == 1
    if groups != 1 and not depthwise:
        return False
    in_axis = 0 if depthwise else 1 if second.applies("Conv") or second.get("transB", 0) else 0
    channels = one.shape[out_axis]
    if channels != other.shape[in_axis]:
        return False
    reaches = _reach(one, out_axis), _reach(other, in_axis)
    usable = (reaches[0] > 0) & (reaches[1] > 0)
    factors = np.ones(channels)
    factors[usable] = np.sqrt(reaches[0][usable] / reaches[1][usable])
    if np.abs(factors - 1).max(initial=0.0) < _CLOSE:
        return False
    set_constant(first, 1, one / _along(factors, out_axis, one.ndim))
    bias = _constant(read(first, 2))
    if bias is not None:
        set_constant(first, 2, bias / factors)  # its last axis, if it has one, are the channels
    set_constant(second, 1, other * _along(factors, in_axis, other.ndim))
    return True


def _constant(value: Value | None) -> Array | None:
    """The elements of an initialiser as it is now: a pair before may have changed it."""
    if value is None or value.is_input or not isinstance(value.constant, Tensor):
        return None
    return value.constant.numpy()


def _reach(weight: Array, axis: int) -> Array:
    others = tuple(place for place in range(weight.ndim) if place != axis)
    return np.asarray(np.abs(weight.astype(np.float64)).max(others))


def _along(factors: Array, axis: int, rank: int) -> Array:
    return factors.reshape([-1 if place == axis else 1 for place in range(rank)])
