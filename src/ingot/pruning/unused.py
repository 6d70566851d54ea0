"""Channels that nothing depends on, removed from all products and normalisations that compute, pass or read them."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.pruning.trace import Trace, trace
from ingot.quantise.writer import set_constant
from ingot.queries.lenient_inference import gather


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A product that computes fewer channels than it did."""

    name: str
    operator: str
    before: int
    after: int


def remove_unused_channels(model: Model) -> tuple[Shrunk, ...]:
    """Edit a model of the newest operators so that it computes no channel in vain; the products that shrank.

    A channel goes if it is zero in every run, or if the weights of all that reads it are zero. Of channels that all go,
    one stays: a tensor of no elements is another model. Results stay the same but for the order of sums.
    """
    shrunk: dict[str, Shrunk] = {}
    while True:
        traced = trace(model, gather(model))
        _leave_one(traced)
        changed = False
        for node, ids in traced.computed.items():
            stays = traced.numbering.stays(ids)
            if not stays.all():
                changed = True
                earlier = shrunk.get(node.output.name)
                before = len(ids) if earlier is None else earlier.before
                shrunk[node.output.name] = Shrunk(node.label, node.op_type, before, int(stays.sum()))
        if not changed:
            return tuple(shrunk.values())
        _apply(model, traced)


def _leave_one(traced: Trace) -> None:
    """Have the first channel stay of every value that would lose all."""
    changed = True
    while changed:
        changed = False
        for channels in traced.values.values():
            if channels.width and not traced.numbering.stays(channels.ids).any():
                traced.numbering.need([int(channels.ids[0])])
                changed = True


def _apply(model: Model, traced: Trace) -> None:
    graph: Graph = model.graph
    arrays: dict[tuple[Node, int], Array] = {}
    for cut in traced.cuts:
        stays = traced.numbering.stays(cut.ids)
        if not stays.all():
            place = cut.node, cut.position
            array = arrays[place] if place in arrays else _constant(*place)
            arrays[place] = np.compress(stays, array, axis=cut.axis)
    for node, index, ids in traced.sized:
        sizes = _constant(node, 1).copy()
        sizes[index] = int(traced.numbering.stays(ids).sum())
        arrays[node, 1] = sizes
    for node, ids in traced.depthwise.items():
        node["group"] = int(traced.numbering.stays(ids).sum())
    for (node, position), array in arrays.items():
        set_constant(node, position, array)
    for node in graph:
        for value in node.outputs:
            if not value.is_output:
                value.type = None
    for value in list(graph.initializers.values()):
        if not (value.uses or value.is_output or value.is_input):
            graph.initializers.remove(value)


def _constant(node: Node, position: int) -> Array:
    value = node.inputs[position]
    assert value is not None
    assert isinstance(value.constant, Tensor)
    return value.constant.numpy()
