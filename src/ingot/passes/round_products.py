"""Products in fewer bits: operands of float32 products rounded to 16-bit floats or bytes, written in the standard.

Rounded operands are cast back, so that sums stay in float32: `Cast(Cast(x, to=bfloat16), to=float)`. Lowering
multiplies what was cast from 16 bits as it is. The standard has no LSTM of bytes: that is onnxruntime's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.infer.driver import Facts
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.facts import Fact
from ingot.ops.quantization.parameters import encode, parameters
from ingot.passes.precisions import refuse_precision
from ingot.passes.replacing import add_constant, drop, replace
from ingot.prim.functions import NARROW_FLOATS
from ingot.queries.values import dtype, elements, produced_by, rank, read, shape

_RECURRENT = ("LSTM", "GRU", "RNN")
_PRODUCTS = ("MatMul", "Gemm", "Conv", *_RECURRENT)
NARROW = {"bf16": DType.BFLOAT16, "fp16": DType.FLOAT16}
_TRANSFORMED = 16
"""Channels and filters from which on a 3 x 3 convolution takes a quarter of the products, in float32."""
_FEW_PLACES, _MANY_FILTERS = 64, 1 << 14
"""Places of a result up to which, and filters times channels from which on, reading transformed filters, which no near
cache holds, takes longer than sums of fewer bits without a transform."""
_FEWEST_PRODUCTS = 128
"""Products with each element of a padded image from which on multiplying bytes saves more than rounding and padding
take: 3 x 3 ones with a stride of 2 have 72 with 32 filters, and take 1.6 times as long, and 144 with 64: 0.7 times."""
_FEWEST = 4
"""Channels and filters of a group from which on it is multiplied as a matrix."""
_FEWEST_UNITS = 64
"""Units of a state from which on multiplying it as bytes takes less time than finding its range and rounding it."""
_BEFORE_SCALES = 8
"""Inputs of an LSTM, which those of one of bytes begin with."""
_WINDOWS = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def round_products(model: Model, facts: Facts, precision: str) -> int:
    """Run the products of a model in a precision, in subgraphs too; how many. `facts` stay true."""
    chosen = [node for node in products(model, facts) if refuses(node, facts, precision) is None]
    round_nodes(model, chosen, facts, precision)
    return len(chosen)


def round_nodes(model: Model, nodes: Sequence[Node], facts: Facts, precision: str) -> None:
    """Run products of a model in a precision that none of them refuses."""
    rounding = _Rounding(facts, precision)
    for node in nodes:
        if precision in NARROW:
            rounding.round(node)
        elif node.applies("LSTM"):
            rounding.quantise_recurrent(node)
            model.opset_imports.setdefault(MICROSOFT, 1)
        else:
            rounding.quantise(node)


def products(model: Model, facts: Facts) -> list[Node]:
    """The products of float32 by constant weights, in the order of their graphs."""
    return [
        node
        for graph in nested_graphs(model.graph)
        for node in graph
        if node.applies(*_PRODUCTS) and dtype(node.outputs[0], facts) is DType.FLOAT32 and _weights(node, facts)
    ]


def refuses(node: Node, facts: Facts, precision: str) -> str | None:
    """Why a product stays in float32; None if it does not."""
    refuse_precision(precision)
    weights = _weights(node, facts)
    if node.applies("Conv"):
        reason = _convolution_refuses(node, weights[1], precision, facts)
        if reason is not None:
            return reason
    return weights_refuse(weights.values(), precision) if precision in NARROW else _bytes_refuse(node, weights, facts)


def weights_refuse(weights: Iterable[Array], precision: str) -> str | None:
    """Why weights are not rounded to a precision of 16 bits; None if they are."""
    wide = np.finfo(np.float32) if precision == "bf16" else np.finfo(np.float16)
    largest = [float(np.abs(weight).max(initial=0)) for weight in weights]
    if any(not most <= float(wide.max) * (1 - 2**-8) for most in largest):
        return "its weights are too large, or not finite"
    return "its weights are too small" if any(0 < most < float(wide.tiny) for most in largest) else None


def _weights(node: Node, facts: Facts) -> dict[int, Array]:
    """The constant float32 weights of a product, by position; of two constants the product is folded anyway."""
    positions = (1, 2) if node.applies(*_RECURRENT) else (1,) if node.applies("Conv") else (0, 1)
    known = {place: constant_elements(read(node, place), facts) for place in positions}
    weights = {place: array for place, array in known.items() if array is not None and array.ndim > 1}
    return weights if len(weights) < 2 or node.applies(*_RECURRENT) else {}


def constant_elements(value: Value | None, facts: Facts) -> Array | None:
    """The elements of a constant of float32, or of what a Transpose makes of one; None if it was rounded already."""
    widened = produced_by(value, "Cast")
    if widened is not None and dtype(widened.inputs[0], facts) in NARROW_FLOATS:
        return None
    array = elements(value, facts)
    if array is None and (turned := produced_by(value, "Transpose")) is not None:
        source = elements(turned.inputs[0], facts)
        array = None if source is None else source.transpose(turned.get("perm", range(source.ndim)[::-1]))
    return array if array is not None and array.dtype == np.float32 else None


def _convolution_refuses(node: Node, weight: Array, precision: str, facts: Facts) -> str | None:
    filters, channels, *window = weight.shape
    groups = int(node.get("group", 1))
    if groups > 1 and (channels < _FEWEST or filters // groups < _FEWEST):
        return "it is depthwise: it is no product of matrices"
    plain = groups == 1 and all(set(node.get(name, [1])) == {1} for name in ("strides", "dilations"))
    transformed = plain and window == [3, 3] and min(filters, channels) >= _TRANSFORMED
    reads = precision != "fp16" and filters * channels >= _MANY_FILTERS and _has_few_places(node, facts)
    if transformed and not reads:
        return "by Winograd's algorithm it is faster in float32"
    if precision in NARROW:
        return None
    if groups > 1:
        return "its groups are not quantised"
    is_padded = any(node.get("pads", [0])) or node.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID")
    products = filters * prod(window) / prod(node.get("strides", [1]))
    return "to pad its bytes takes longer" if is_padded and products < _FEWEST_PRODUCTS else None


def _has_few_places(node: Node, facts: Facts) -> bool:
    sizes = shape(node.output, facts) or ()
    numbers = [size for size in (*sizes[:1], *sizes[2:]) if isinstance(size, int)]
    return len(numbers) == len(sizes) - 1 and prod(numbers) <= _FEW_PLACES


def _bytes_refuse(node: Node, weights: dict[int, Array], facts: Facts) -> str | None:
    if node.applies(*_RECURRENT):
        return _recurrent_refuses(node, weights)
    if 1 not in weights or (weights[1].ndim != 2 and not node.applies("Conv")):
        return "its weights are no matrix on the right"
    if not np.isfinite(weights[1]).all():
        return "its weights are not finite"
    if node.applies("Gemm") and (node.get("transA", 0) or node.get("alpha", 1.0) != 1 or node.get("beta", 1.0) != 1):
        return "it is transposed or scaled"
    return "its rank is unknown" if rank(node.outputs[0], facts) is None else None


def _recurrent_refuses(node: Node, weights: dict[int, Array]) -> str | None:
    if not node.applies("LSTM"):
        return "no operator has its gates of bytes"
    if node.get("layout", 0):
        return "its batch comes first"
    if set(weights) != {1, 2}:
        return "some of its weights are no constants"
    if any(weight.ndim != 3 or not weight.size for weight in weights.values()):
        return "its weights are no matrices"
    if weights[2].shape[2] < _FEWEST_UNITS:
        return "its states are too short"
    return None if all(np.isfinite(weight).all() for weight in weights.values()) else "its weights are not finite"


@dataclass(frozen=True, slots=True)
class _Codes:
    """Bytes of an activation, their scale and their zero point."""

    codes: Value
    scale: Value
    zero: Value


class _Rounding:
    """The rewriting of products: what several of them read is rounded once."""

    def __init__(self, facts: Facts, precision: str) -> None:
        self._facts = facts
        self._precision = precision
        self._rounded: dict[tuple[Graph, Value], Value] = {}
        self._codes: dict[tuple[Graph, Value], _Codes] = {}

    def round(self, node: Node) -> None:
        """Round the weights of a product, and its activations where both operands are multiplied in 16 bits."""
        weights = _weights(node, self._facts)
        for place in range(len(node.inputs)):
            value = node.inputs[place]
            if value is None:
                continue
            if place in weights:
                node.replace_input(place, self._weight(node, value, weights[place]))
            elif place < 2 and self._precision == "bf16" and (place == 0 or not node.applies(*_RECURRENT)):
                node.replace_input(place, self._activation(node, value))

    def _weight(self, node: Node, value: Value, array: Array) -> Value:
        """A constant in 16 bits, cast to float32."""
        graph = node.graph
        assert graph is not None
        key = graph, value
        if key not in self._rounded:
            narrow = NARROW[self._precision]
            held = Tensor(np.ascontiguousarray(array).astype(narrow.numpy))
            stored = add_constant(held, f"{value.name}_{narrow.name.lower()}", graph, self._facts)
            with inserting(before=node):
                self._rounded[key] = self._noted(op.Cast(stored, to=int(DType.FLOAT32)), DType.FLOAT32, value)
        return self._rounded[key]

    def _activation(self, node: Node, value: Value) -> Value:
        """A value rounded to 16 bits, as float32."""
        graph = node.graph
        assert graph is not None
        key = graph, value
        if key not in self._rounded:
            narrow = NARROW[self._precision]
            with inserting(before=node):
                rounded = self._noted(op.Cast(value, to=int(narrow)), narrow, value)
                self._rounded[key] = self._noted(op.Cast(rounded, to=int(DType.FLOAT32)), DType.FLOAT32, value)
        return self._rounded[key]

    def quantise(self, node: Node) -> None:
        """Multiply bytes in the place of a product, and scale their sums."""
        facts, graph = self._facts, node.graph
        assert graph is not None
        convolves = node.applies("Conv")
        weight = _weights(node, facts)[1]
        if node.get("transB", 0):
            weight = weight.T
        codes, scale = _coded(weight, 0 if convolves else 1)
        axes = rank(node.output, facts)
        assert axes is not None
        activation, entering = node.inputs[:2]
        assert activation is not None
        assert entering is not None
        left = self._quantised(node, activation)
        stored = add_constant(Tensor(codes), f"{entering.name}_int8", graph, facts)
        wide, real = (Fact(TensorType(kind, facts[node.output].shape)) for kind in (DType.INT32, DType.FLOAT32))
        bias = read(node, 2)
        with inserting(before=node):
            sums: Any
            if convolves:
                windows = {name: node.get(name) for name in _WINDOWS if name in node}
                sums = op.ConvInteger(left.codes, stored, left.zero, **windows)
                scale = scale.reshape(-1, *(1,) * (axes - 2))
                if bias is not None:
                    shape_ = np.asarray([-1, *(1,) * (axes - 2)], np.int64)
                    bias = self._beside(op.Reshape(bias, shape_), bias, axes - 1)
            else:
                sums = op.MatMulInteger(left.codes, stored, left.zero)
            facts[sums.value] = wide
            total = op.Cast(sums, to=int(DType.FLOAT32))
            facts[total.value] = real
            both = op.Mul(left.scale, scale)
            facts[both.value] = Fact(TensorType(DType.FLOAT32, scale.shape))
            result = op.Mul(total, both)
            if bias is not None:
                facts[result.value] = real
                result = op.Add(result, bias)
        replace(node.output, result.value, facts)

    def quantise_recurrent(self, node: Node) -> None:
        """Have an LSTM multiply bytes: what it reads by its range, its state by the range of each step."""
        graph = node.graph
        assert graph is not None
        inputs = [*node.inputs, *[None] * (_BEFORE_SCALES - len(node.inputs))]
        for place, weight in _weights(node, self._facts).items():
            entering = node.inputs[place]
            assert entering is not None
            codes, scale = _coded(weight.reshape(-1, weight.shape[2]), 0)
            gates = weight.shape[:2]
            for array, suffix in (
                (codes.reshape(weight.shape).swapaxes(1, 2), "int8"),
                (scale.reshape(gates), "scale"),
                (np.zeros(gates, np.int8), "zero_point"),
            ):
                stored = Tensor(np.ascontiguousarray(array))
                inputs.append(add_constant(stored, f"{entering.name}_{suffix}", graph, self._facts))
            inputs[place] = inputs.pop(-3)
        attributes = [attribute for attribute in node.attributes.values() if attribute.name != "layout"]
        count = len(node.outputs)
        twin = Node("DynamicQuantizeLSTM", inputs, count, attributes, domain=MICROSOFT, name=node.name)
        graph.insert_before(node, twin)
        for old, new in zip(node.outputs, twin.outputs, strict=True):
            replace(old, new, self._facts)
        drop(node)

    def _beside(self, reshaped: Any, bias: Value, axes: int) -> Value:
        sizes = shape(bias, self._facts)
        assert sizes is not None
        self._facts[reshaped.value] = Fact(TensorType(DType.FLOAT32, (sizes[0], *(1,) * (axes - 1))))
        return reshaped.value  # type: ignore[no-any-return]

    def _quantised(self, node: Node, value: Value) -> _Codes:
        graph = node.graph
        assert graph is not None
        key = graph, value
        if key not in self._codes:
            with inserting(before=node):
                parts = op.DynamicQuantizeLinear(value, outputs=3)
            sizes = self._facts[value].shape
            types = (DType.UINT8, sizes), (DType.FLOAT32, ()), (DType.UINT8, ())
            for part, (kind, own) in zip(parts, types, strict=True):
                self._facts[part.value] = Fact(TensorType(kind, own))
            self._codes[key] = _Codes(*(part.value for part in parts))
        return self._codes[key]

    def _noted(self, result: Any, kind: DType, like: Value) -> Value:
        self._facts[result.value] = Fact(TensorType(kind, self._facts[like].shape))
        return result.value  # type: ignore[no-any-return]


def _coded(weight: Array, axis: int) -> tuple[Array, Array]:
    """Weights as int8 codes, and the scale of each entry of an axis: zero stands for zero."""
    others = tuple(other for other in range(weight.ndim) if other != axis)
    low, high = (reach(axis=others, keepdims=True, initial=0).astype(np.float64) for reach in (weight.min, weight.max))
    chosen = parameters(low, high, DType.INT8, symmetric=True)
    codes = encode(weight, chosen.scale, chosen.zero_point, chosen.low, chosen.high)
    return np.ascontiguousarray(codes.astype(np.int8)), chosen.scale.reshape(-1)
