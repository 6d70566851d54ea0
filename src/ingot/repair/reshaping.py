"""A value in another shape, in the operators of the model's own opset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value

_SHAPE_IS_INPUT_SINCE = 5


def reshaped(value: Value, shape: Sequence[int], place: Node | Graph, model: Model) -> Value:
    """A value in another shape, computed just before a node or last in a graph.

    A 0 in the shape stands for the size that the axis has.
    """
    graph = place if isinstance(place, Graph) else place.graph
    assert graph is not None
    result = Value(graph.fresh_name(value.name), _type(value, shape))
    if (model.opset or 0) < _SHAPE_IS_INPUT_SINCE:
        _insert(graph, place, Node("Reshape", [value], [result], {"shape": list(shape)}))
        return result
    constant = Node("Constant", [], [graph.fresh_name(f"{value.name}_shape")])
    constant.attributes["value"] = Tensor(np.array(shape, np.int64))
    _insert(graph, place, constant, Node("Reshape", [value, constant.output], [result]))
    return result


def _insert(graph: Graph, place: Node | Graph, *nodes: Node) -> None:
    if isinstance(place, Graph):
        graph.extend(nodes)
    else:
        graph.insert_before(place, *nodes)


def _type(value: Value, shape: Sequence[int]) -> TensorType | None:
    if not isinstance(value.type, TensorType) or 0 in shape:
        return None
    return TensorType(value.type.dtype, tuple(shape))
