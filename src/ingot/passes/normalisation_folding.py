"""Scales and shifts of channels, batch normalisation among them, folded into the convolution or product before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.infer.driver import Facts
from ingot.ir.attribute import Attribute
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.passes.replacing import add_constant, replace
from ingot.queries.values import constant, elements, fact, only_reader, produced_by, rank, read

LINEAR = ("Conv", "ConvTranspose", "Gemm", "MatMul")

_SHARED = 1 << 16
"""Bytes of a weight that may be kept twice because something else reads it too."""


def fold_scales(model: Model, facts: Facts, *, into: Sequence[str] = LINEAR) -> int:
    """Fold batch normalisations, and products and sums with a constant for each channel, into the weights; how many.

    The node before must be a convolution or a product with a constant weight, read by nobody else: one of the operators
    `into`. Results change by rounding.
    """
    folded = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            affine = _affine(node, facts, into)
            value = _past_sum(node, facts, into) if affine is None else _with(affine, facts)
            if value is not None:
                replace(node.output, value, facts)
                folded += 1
    return folded


@dataclass(frozen=True, slots=True)
class _Affine:
    """`scale * y + shift`, one number for each channel of what a linear node computes; None changes nothing."""

    linear: Node
    scale: Array | None
    shift: Array | None


def _affine(node: Node, facts: Facts, into: Sequence[str]) -> _Affine | None:
    if node.applies("BatchNormalization"):
        linear = _linear(node.inputs[0], facts, into)
        return None if linear is None else _normalisation(node, linear, facts)
    if not node.applies("Mul", "Div", "Add", "Sub") or len(node.inputs) != 2:
        return None
    for source, other in ((0, 1), (1, 0)):
        linear = _linear(node.inputs[source], facts, into)
        tensor = constant(node.inputs[other], facts)
        if linear is None or tensor is None or (source == 1 and node.applies("Div")):
            continue
        numbers = _by_channel(tensor.numpy(), linear, facts)
        if numbers is None:
            return None
        if node.applies("Mul"):
            return _Affine(linear, numbers, None)
        if node.applies("Div"):
            return _Affine(linear, 1 / numbers, None) if numbers.all() else None
        if node.applies("Add"):
            return _Affine(linear, None, numbers)
        if source == 0:
            return _Affine(linear, None, -numbers)
        return _Affine(linear, -np.ones_like(numbers), numbers)
    return None


def _past_sum(node: Node, facts: Facts, into: Sequence[str]) -> Value | None:
    """A product with a constant after a sum with one, `(w x + b) * s`, as `(w * s) x + b * s`."""
    if not node.applies("Mul", "Div") or len(node.inputs) != 2 or node.graph is None:
        return None
    for source, other in ((0, 1),) if node.applies("Div") else ((0, 1), (1, 0)):
        added, factors = produced_by(node.inputs[source], "Add"), elements(node.inputs[other], facts)
        if added is None or factors is None or only_reader(added.output) is None:
            continue
        for value, bias in (added.inputs, added.inputs[::-1]):
            linear, offsets = _linear(value, facts, into), elements(bias, facts)
            if linear is None or offsets is None or bias is None:
                continue
            scale, shift = _by_channel(factors, linear, facts), _by_channel(offsets, linear, facts)
            if scale is None or shift is None or (node.applies("Div") and not scale.all()):
                return None
            scale = 1 / scale if node.applies("Div") else scale
            scaled = _with(_Affine(linear, scale, None), facts)
            if scaled is None:
                return None
            facts[scaled] = fact(linear.output, facts)
            sums = Tensor((shift * scale).astype(offsets.dtype))
            total = Node("Add", [scaled, add_constant(sums, bias.name, node.graph, facts)], 1, name=added.name)
            node.graph.insert_before(node, total)
            return total.output
    return None


def _normalisation(node: Node, linear: Node, facts: Facts) -> _Affine | None:
    if node.get("training_mode", 0) or any(value.uses or value.is_output for value in node.outputs[1:]):
        return None
    if not linear.applies("Conv", "ConvTranspose") and rank(linear.output, facts) != 2:
        return None  # its channels are not the last axis
    parameters = [elements(value, facts) for value in node.inputs[1:5]]
    gamma, beta, mean, variance = (None if array is None else array.astype(np.float64) for array in parameters)
    if gamma is None or beta is None or mean is None or variance is None:
        return None
    scale = gamma / np.sqrt(variance + node.get("epsilon", np.float32(1e-5).item()))
    if scale.shape != (_channels(linear, facts),) or not np.isfinite(scale).all():
        return None
    return _Affine(linear, scale, beta - mean * scale)


def _linear(value: Value | None, facts: Facts, into: Sequence[str]) -> Node | None:
    """The convolution or product that a value comes from, if it may be changed."""
    node = produced_by(value, *into)
    if node is None or only_reader(node.output) is None:
        return None
    weight = read(node, 1)
    tensor = constant(weight, facts)
    if weight is None or tensor is None or (len(tensor.shape) != 2 and node.applies("MatMul", "Gemm")):
        return None
    if len(weight.uses) > 1 and tensor.nbytes > _SHARED:
        return None
    if tensor.dtype in (DType.FLOAT16, DType.BFLOAT16):  # what is folded would be rounded to 16 bits once more
        return None
    count = _channels(node, facts)
    bias = read(node, 2)
    offsets = elements(bias, facts)
    if bias is not None and (offsets is None or offsets.reshape(-1).shape not in ((1,), (count,))):
        return None
    return node


def _channels(node: Node, facts: Facts) -> int:
    weight = constant(node.inputs[1], facts)
    assert weight is not None
    if node.applies("Conv") or (node.applies("Gemm") and node.get("transB", 0)):
        return weight.shape[0]
    if node.applies("ConvTranspose"):
        return weight.shape[1] * int(node.get("group", 1))
    return weight.shape[-1]


def _by_channel(array: Array, linear: Node, facts: Facts) -> Array | None:
    """A constant operand as one number for each channel; None if it is anything else, or widens the result."""
    count = rank(linear.output, facts)
    if count is None or array.ndim > count or array.dtype.kind in "biuO":
        return None
    axis = 1 if linear.applies("Conv", "ConvTranspose") else count - 1
    sizes = (1,) * (count - array.ndim) + array.shape
    channels = _channels(linear, facts)
    if sizes[axis] not in (1, channels) or any(size != 1 for place, size in enumerate(sizes) if place != axis):
        return None
    return np.broadcast_to(array.reshape(-1).astype(np.float64), (channels,))


def _with(affine: _Affine, facts: Facts) -> Value | None:
    """What a linear node computes with a scale and a shift in its weights; None if it has no place for a shift."""
    node, scale, shift = affine.linear, affine.scale, affine.shift
    graph, weight, bias = node.graph, node.inputs[1], read(node, 2)
    tensor = constant(weight, facts)
    assert graph is not None
    assert weight is not None
    assert tensor is not None
    old = tensor.numpy()
    attributes: dict[str, Any] = {attribute.name: attribute for attribute in node.attributes.values()}
    op_type = node.op_type
    offsets = np.zeros(()) if bias is None else np.asarray(elements(bias, facts), np.float64).reshape(-1)
    if shift is not None:
        if op_type == "MatMul":
            if rank(node.inputs[0], facts) != 2:
                return None
            op_type = "Gemm"
        if op_type == "Gemm":
            offsets = offsets * attributes["beta"].value if "beta" in attributes else offsets
            attributes["beta"] = Attribute("beta", 1.0)
    with np.errstate(over="ignore"):
        new = old if scale is None else _scaled(old, scale, node)
    if new is not old and not np.isfinite(new).all():
        return None  # they are past what their type can hold
    offsets = (offsets if scale is None else offsets * scale) + (0.0 if shift is None else shift)
    inputs: list[Value | None] = [node.inputs[0], weight]
    if scale is not None:
        inputs[1] = add_constant(Tensor(new), weight.name, graph, facts)
    if bias is not None or shift is not None:
        stem = f"{weight.name}_bias" if bias is None else bias.name
        inputs.append(add_constant(Tensor(offsets.astype(old.dtype)), stem, graph, facts))
    twin = Node(op_type, inputs, 1, list(attributes.values()), name=node.name)
    graph.insert_before(node, twin)
    return twin.output


def _scaled(weight: Array, scale: Array, node: Node) -> Array:
    """The weight with each channel of the output multiplied."""
    if node.applies("ConvTranspose"):
        group = int(node.get("group", 1))
        parts = weight.reshape(group, weight.shape[0] // group, *weight.shape[1:])
        return _along(parts, scale.reshape(group, -1), (0, 2)).reshape(weight.shape)
    first = node.applies("Conv") or (node.applies("Gemm") and node.get("transB", 0))
    return _along(weight, scale, (0,) if first else (weight.ndim - 1,))


def _along(array: Array, factors: Array, axes: Sequence[int]) -> Array:
    """The products in double precision, as the type of `array`, without a copy of it in that."""
    spread = factors.reshape([array.shape[axis] if axis in axes else 1 for axis in range(array.ndim)])
    if array.dtype.kind != "f":  # bfloat16: numpy knows no products of it with others
        return np.asarray(array.astype(np.float64) * spread).astype(array.dtype)
    return np.multiply(array, spread, out=np.empty_like(array), casting="same_kind")
