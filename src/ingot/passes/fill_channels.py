"""Images of three channels get a fourth one of zeros, where a device copies four neighbours at once.

The first convolution of a network reads an image whose channels are copied side by side anyway: with as many zeros as
fill a piece, and zeros in its filters, no element is copied by itself.
"""

from __future__ import annotations

import numpy as np

from ingot.builder import inserting, op
from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ops.facts import Fact
from ingot.passes.replacing import add_constant
from ingot.queries.values import constant, dtype, fact, read

_CHANNELS, _FILLED = 3, 4


def fill_channels(model: Model, facts: Facts) -> int:
    """Fill the channels of images that convolutions by constant filters read; how many. `facts` stay true."""
    filled = 0
    for graph in list(nested_graphs(model.graph)):
        for node in list(graph):
            if node.applies("Conv") and _is_filled(node, facts):
                _fill(node, facts)
                filled += 1
    return filled


def _is_filled(node: Node, facts: Facts) -> bool:
    weights, image = constant(read(node, 1), facts), fact(node.inputs[0], facts).shape
    if weights is None or image is None or dtype(node.output, facts) is not DType.FLOAT32:
        return False
    taps = int(np.prod(weights.shape[2:]))
    return image[1] == weights.shape[1] == _CHANNELS and taps > 1


def _fill(node: Node, facts: Facts) -> None:
    graph, image, weights = node.graph, node.inputs[0], constant(read(node, 1), facts)
    assert graph is not None
    assert image is not None
    assert weights is not None
    shape = fact(image, facts).shape
    assert shape is not None
    more = _FILLED - _CHANNELS
    array = np.pad(weights.numpy(), [(0, 0), (0, more)] + [(0, 0)] * (weights.numpy().ndim - 2))
    pads = np.zeros((2, len(shape)), np.int64)
    pads[1, 1] = more
    filters = add_constant(Tensor(array), f"{node.output.name}_filled", graph, facts)
    with inserting(before=node):
        wide = op.Pad(image, add_constant(Tensor(pads.reshape(-1)), "pads", graph, facts))
    facts[wide.value] = Fact(TensorType(DType.FLOAT32, (shape[0], _FILLED, *shape[2:])))
    node.replace_input(0, wide.value)
    node.replace_input(1, filters)
