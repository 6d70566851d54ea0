"""Operators that are one expression of numpy, for elements of numpy's own types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.source.literals import is_of_numpy, numpy_name, quoted


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A node that is written: the expressions of its inputs, and its attributes with their defaults."""

    node: Node
    inputs: Sequence[str]
    attributes: dict[str, Any]

    def dtype(self, index: int) -> DType | None:
        """The element type of an input, where it is known."""
        return dtype_of(self.node.inputs[index]) if index < len(self.node.inputs) else None

    def constant(self, index: int) -> list[Any] | None:
        """The elements of an input, where they are known: None for one that is omitted too."""
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        tensor = None if value is None else value.constant
        if tensor is None and value is not None and value.producer is not None and value.producer.applies("Constant"):
            tensor = value.producer.get("value")
        return np.atleast_1d(tensor.numpy()).tolist() if isinstance(tensor, Tensor) and tensor.size < 64 else None

    def has_elements(self, axis: int) -> bool:
        """Whether an axis of the first input is known to have elements."""
        value = self.node.inputs[0]
        shape = value.type.shape if value is not None and isinstance(value.type, TensorType) else None
        size = None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]
        return isinstance(size, int) and size > 0

    def omits(self, index: int) -> bool:
        return index >= len(self.node.inputs) or self.node.inputs[index] is None


Template = Callable[[Site], str | None]
"""The expression of a node, or None where only the definition of the operator will do."""


def dtype_of(value: Value | None) -> DType | None:
    return value.type.dtype if value is not None and isinstance(value.type, TensorType) else None


_FLOATS = (DType.FLOAT32, DType.FLOAT64)
_NUMBERS = (*_FLOATS, DType.INT64, DType.INT32, DType.UINT8, DType.INT8)


def _infix(operator: str, dtypes: Sequence[DType] = _NUMBERS) -> Template:
    def template(site: Site) -> str | None:
        known = all(site.dtype(index) in dtypes for index in (0, 1))
        return f"{site.inputs[0]} {operator} {site.inputs[1]}" if known else None

    return template


def _function(name: str, dtypes: Sequence[DType] = _FLOATS) -> Template:
    def template(site: Site) -> str | None:
        known = all(site.dtype(index) in dtypes for index in range(len(site.inputs)))
        return f"{name}({', '.join(site.inputs)})" if known else None

    return template


def _of_floats(text: str) -> Template:
    def template(site: Site) -> str | None:
        return text.format(*site.inputs) if site.dtype(0) in _FLOATS else None

    return template


def _cast(site: Site) -> str | None:
    source, target = site.dtype(0), DType(site.attributes["to"])
    if source is None or DType.STRING in (source, target) or not (is_of_numpy(source) and is_of_numpy(target)):
        return None
    if source.is_complex or (source.is_float and not target.is_float and target is not DType.BOOL):
        return None
    return f"{site.inputs[0]}.astype({numpy_name(target)})"


def _reshape(site: Site) -> str | None:
    sizes = site.constant(1)
    if sizes is None or 0 in sizes:
        return None
    return f"{site.inputs[0]}.reshape({', '.join(map(str, sizes))})"


def _transpose(site: Site) -> str:
    order = site.attributes["perm"]
    return f"np.transpose({site.inputs[0]})" if not order else f"np.transpose({site.inputs[0]}, {_tuple(order)})"


def _concat(site: Site) -> str:
    return f"np.concatenate([{', '.join(site.inputs)}], axis={site.attributes['axis']})"


def _unsqueeze(site: Site) -> str | None:
    axes = site.constant(1)
    return None if axes is None else f"np.expand_dims({site.inputs[0]}, {_tuple(axes)})"


def _squeeze(site: Site) -> str | None:
    if site.omits(1):
        return f"np.squeeze({site.inputs[0]})"
    axes = site.constant(1)
    return None if axes is None else f"np.squeeze({site.inputs[0]}, {_tuple(axes)})"


def _shape(site: Site) -> str | None:
    start, end = site.attributes["start"], site.attributes["end"]
    part = "" if not start and end is None else f"[{start or ''}:{'' if end is None else end}]"
    return f"np.array({site.inputs[0]}.shape{part}, np.int64)"


def _gather(site: Site) -> str:
    return f"np.take({site.inputs[0]}, {site.inputs[1]}, axis={site.attributes['axis']})"


def _reduced(method: str) -> Template:
    def template(site: Site) -> str | None:
        axes = site.constant(1)
        if axes is None or site.dtype(0) not in _FLOATS or not axes:
            return None
        if method in ("max", "min") and not all(site.has_elements(axis) for axis in axes):
            return None  # numpy has no largest element of none
        return f"{site.inputs[0]}.{method}(axis={_tuple(axes)}, keepdims={bool(site.attributes['keepdims'])})"

    return template


def _clip(site: Site) -> str | None:
    if site.dtype(0) not in _NUMBERS or (site.omits(1) and site.omits(2)):
        return None
    if site.omits(2):
        return f"np.maximum({site.inputs[0]}, {site.inputs[1]})"
    if site.omits(1):
        return f"np.minimum({site.inputs[0]}, {site.inputs[2]})"
    return f"np.minimum(np.maximum({', '.join(site.inputs[:2])}), {site.inputs[2]})"


def _leaky_relu(site: Site) -> str | None:
    if site.dtype(0) not in _FLOATS:
        return None
    x = site.inputs[0]
    return f"np.where({x} < 0, {x} * {np.float32(site.attributes['alpha'])!s}, {x})"


def _einsum(site: Site) -> str | None:
    equation = site.attributes["equation"]
    if site.dtype(0) not in _NUMBERS or not isinstance(equation, str):
        return None
    return f"np.einsum({quoted(equation)}, {', '.join(site.inputs)})"


def _max(name: str) -> Template:
    def template(site: Site) -> str | None:
        known = len(site.inputs) == 2 and site.dtype(0) in _NUMBERS
        return f"{name}({', '.join(site.inputs)})" if known else None

    return template


def _dropout(site: Site) -> str | None:
    """What is given, where nothing is trained."""
    if not site.omits(2) and site.constant(2) != [False]:
        return None
    x = site.inputs[0]
    return x if len(site.node.outputs) == 1 else f"({x}, np.ones({x}.shape, bool))"


_BOOLS = (DType.BOOL,)
TEMPLATES: dict[str, Template] = {
    "Abs": _function("np.abs"),
    "Acos": _function("np.arccos"),
    "Add": _infix("+"),
    "And": _infix("&", _BOOLS),
    "Asin": _function("np.arcsin"),
    "Atan": _function("np.arctan"),
    "Cast": _cast,
    "Ceil": _function("np.ceil"),
    "Clip": _clip,
    "Concat": _concat,
    "Cos": _function("np.cos"),
    "Cosh": _function("np.cosh"),
    "Div": _infix("/", _FLOATS),
    "Dropout": _dropout,
    "Einsum": _einsum,
    "Equal": _infix("==", (*_NUMBERS, DType.BOOL, DType.INT16, DType.UINT16, DType.UINT32, DType.UINT64)),
    "Exp": _function("np.exp"),
    "Floor": _function("np.floor"),
    "Gather": _gather,
    "Greater": _infix(">"),
    "GreaterOrEqual": _infix(">="),
    "Identity": lambda site: site.inputs[0],
    "LeakyRelu": _leaky_relu,
    "Less": _infix("<"),
    "LessOrEqual": _infix("<="),
    "Log": _function("np.log"),
    "MatMul": lambda site: f"np.matmul({', '.join(site.inputs)})" if site.dtype(0) in _NUMBERS else None,
    "Max": _max("np.maximum"),
    "Min": _max("np.minimum"),
    "Mul": _infix("*"),
    "Neg": _of_floats("-{0}"),
    "Not": lambda site: f"~{site.inputs[0]}",
    "Or": _infix("|", _BOOLS),
    "Pow": _infix("**", _FLOATS),
    "Reciprocal": _of_floats("1 / {0}"),
    "ReduceMax": _reduced("max"),
    "ReduceMean": _reduced("mean"),
    "ReduceMin": _reduced("min"),
    "ReduceProd": _reduced("prod"),
    "ReduceSum": _reduced("sum"),
    "Relu": _of_floats("np.maximum({0}, 0)"),
    "Reshape": _reshape,
    "Round": _function("np.rint"),
    "Shape": _shape,
    "Sigmoid": _of_floats("1 / (1 + np.exp(-{0}))"),
    "Sign": _function("np.sign"),
    "Sin": _function("np.sin"),
    "Sinh": _function("np.sinh"),
    "Softplus": _of_floats("np.logaddexp({0}, 0)"),
    "Sqrt": _function("np.sqrt"),
    "Squeeze": _squeeze,
    "Sub": _infix("-"),
    "Tan": _function("np.tan"),
    "Tanh": _function("np.tanh"),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": lambda site: f"np.where({', '.join(site.inputs)})",
    "Xor": _infix("^", _BOOLS),
}
"""Templates by the standard's operators."""


def _tuple(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"({', '.join(map(str, numbers))})"
