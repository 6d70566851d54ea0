"""`[1]` for a scalar, and the reverse."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dtypes import DType
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.repair.places import place_of_node
from ingot.repair.record import Repair, Subject
from ingot.repair.reshaping import reshaped

_ALL_REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"

_VECTORS = {
    **{f"Reduce{kind}": (1,) for kind in _ALL_REDUCTIONS.split()},
    "CenterCropPad": (1,),
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Pad": (1, 3),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
}
"""Which inputs of operators of the standard are lists, of one axis."""

_SCALARS = {
    "BlackmanWindow": (0,),
    "Clip": (1, 2),
    "CumSum": (1,),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0, 1),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "Pad": (2,),
    "Range": (0, 1, 2),
    "STFT": (1, 3),
    "SequenceAt": (1,),
    "Trilu": (1,),
}
"""Which inputs of operators of the standard are scalars."""


def fit_ranks(subject: Subject) -> Iterator[Repair]:
    """Reshape inputs of one element that have another rank than their operator takes."""
    for node in list(subject.model.nodes()):
        for table, shape in ((_VECTORS, (1,)), (_SCALARS, ())):
            for index in node.rule_in(table) or ():
                value = node.inputs[index] if index < len(node.inputs) else None
                if value is not None and _is_one_element(subject, value, len(shape)):
                    node.replace_input(index, _fitted(value, shape, node, subject.model))
                    _remove_unread(value)
                    yield Repair("rank", place_of_node(node), f"takes '{value.name}' {_change(subject, value, shape)}")


def _is_one_element(subject: Subject, value: Value, rank: int) -> bool:
    """Whether a value is one element in another rank; for a list, a scalar; for a scalar, `[1]` or `[1, 1]`."""
    shape = subject.facts.of(value).shape
    return shape is not None and len(shape) != rank and (not rank or not shape) and all(size == 1 for size in shape)


def _change(subject: Subject, value: Value, shape: tuple[int, ...]) -> str:
    before = subject.facts.of(value).shape
    return f"as {list(shape) or 'a scalar'}, it is {list(before or ()) or 'a scalar'}"


def _fitted(value: Value, shape: tuple[int, ...], node: Node, model: Model) -> Value:
    """A value of one element in a shape: another constant where it is one, else computed just before a node."""
    graph = value.graph
    if isinstance(value.constant, Tensor) and graph is not None and not value.is_input:
        array = value.constant.numpy().reshape(shape)
        name = graph.fresh_name(value.name)
        return graph.add_initializer(name, Tensor(array, value.constant.dtype, name=name))
    return reshaped(value, shape, node, model)


def _remove_unread(value: Value) -> None:
    """Take a constant out of its graph that nothing reads or returns."""
    graph = value.graph
    if graph is not None and value.is_initializer and not (value.uses or value.is_output or value.is_input):
        graph.initializers.remove(value)


def fit_loop_bodies(subject: Subject) -> Iterator[Repair]:
    """Give bodies of Loop, which count and go on by scalars, what they declare as `[1]`; return scalars from them."""
    for node in list(subject.model.nodes()):
        if not node.applies("Loop"):
            continue
        for body in node.subgraphs:
            for index, dtype in enumerate((DType.INT64, DType.BOOL)):
                if index < len(body.inputs) and _is_declared_list(body.inputs[index]):
                    value = body.inputs[index]
                    _give_list(body, index, dtype, subject.model)
                    yield Repair("loop", place_of_node(node), f"its body makes '{value.name}' [1] of a scalar")
            if body.outputs and _is_one_element(subject, body.outputs[0], 0):
                value = body.outputs[0]
                _return_scalar(body, subject.model)
                yield Repair("loop", place_of_node(node), f"its body makes '{value.name}' a scalar, it is [1]")


def _is_declared_list(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.shape == (1,)


def _give_list(body: Graph, index: int, dtype: DType, model: Model) -> None:
    """Make an input of a body a scalar; what read it reads a list of it."""
    old = body.inputs[index]
    scalar = Value(body.fresh_name(old.name), TensorType(dtype, ()))
    readers, returned = list(old.uses), [place for place, value in enumerate(body.outputs) if value is old]
    body.inputs[index] = scalar
    result = reshaped(scalar, (1,), body.nodes[0] if body.nodes else body, model)
    for node, place in readers:
        node.replace_input(place, result)
    for place in returned:
        body.outputs[place] = result


def _return_scalar(body: Graph, model: Model) -> None:
    """Return the condition of a body as a scalar."""
    body.outputs[0] = reshaped(body.outputs[0], (), body, model)
