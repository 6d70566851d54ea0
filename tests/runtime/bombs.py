"""Models that ask for far more than they are: each bomb is a few nodes, and its size is fed or a constant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import ingot
from ingot import Graph, Model, Node, Value
from ingot.dtypes import Array
from ingot.ir.types import TensorType

ONE = np.ones(1, np.float32)


class Bomb(NamedTuple):
    """One operator and its inputs; `scaled` is the one that decides how large the result is."""

    op_type: str
    scaled: str
    inputs: dict[str, Array]
    attributes: dict[str, int | str]


def bombs(count: int) -> dict[str, Bomb]:
    """Operators asked for results of `count` elements, of four or eight bytes."""
    size = np.array([count], np.int64)
    image = np.ones((1, 1, 1, 1), np.float32)
    sizes = np.array([1, 1, 1, count], np.int64)
    scales = np.array([1, 1, 1, count], np.float32)
    zero = np.zeros((), np.int64)
    none = np.zeros(0, np.float32)
    made = [
        Bomb("ConstantOfShape", "size", {"size": size}, {}),
        Bomb("Expand", "size", {"x": ONE, "size": size}, {}),
        Bomb("Tile", "size", {"x": ONE, "size": size}, {}),
        Bomb("Pad", "pads", {"x": ONE, "pads": np.array([0, count], np.int64)}, {}),
        Bomb("Range", "end", {"start": zero, "end": size[0], "step": zero + 1}, {}),
        Bomb("OneHot", "depth", {"at": np.zeros(1, np.int64), "depth": size[0], "values": np.zeros(2, np.float32)}, {}),
        Bomb("Resize", "sizes", {"x": image, "roi": none, "scales": none, "sizes": sizes}, {"mode": "nearest"}),
        Bomb("HannWindow", "count", {"count": size[0]}, {}),
        Bomb("CenterCropPad", "size", {"x": ONE, "size": size}, {}),
    ]
    resized = Bomb("Resize", "scales", {"x": image, "roi": none, "scales": scales}, {"mode": "nearest"})
    return {**{bomb.op_type: bomb for bomb in made}, "Resize by scales": resized}


def model_of(bomb: Bomb, *, fed: bool) -> tuple[Model, dict[str, Array]]:
    """The bomb as a model whose size is a feed or a constant, and its feeds."""
    graph = Graph([], name="bomb")
    feeds: dict[str, Array] = {}
    given: list[Value] = []
    for name, array in bomb.inputs.items():
        array = np.asarray(array)
        if fed and name == bomb.scaled:
            value = Value(name, TensorType(ingot.DType.of(array.dtype), array.shape))
            graph.inputs.append(value)
            feeds[name] = array
        else:
            value = graph.add_initializer(name, array)
        given.append(value)
    node = graph.append(Node(bomb.op_type, given, ["big"], bomb.attributes, name="bomb"))
    graph.outputs.append(graph.append(Node("Size", [node.output], ["y"])).output)
    return Model(graph, 21, ir_version=10), feeds
