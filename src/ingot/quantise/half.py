"""float16 and bfloat16: operators that are safe in 16 bits compute in them, the others stay in float32, and why."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.quantise.calibrate import Progress, observed
from ingot.quantise.options import Options
from ingot.quantise.prepare import Prepared
from ingot.quantise.products import InFloat
from ingot.quantise.samples import Samples
from ingot.quantise.selection import excluded
from ingot.quantise.writer import Writer
from ingot.queries.values import dtype

SAFE = (
    "Conv", "ConvTranspose", "Gemm", "MatMul", "Attention", "LayerNormalization", "RMSNormalization",
    "Add", "Sub", "Mul", "Div", "Neg", "Abs", "Max", "Min", "Where", "Clip", "Relu", "LeakyRelu", "PRelu", "Elu",
    "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Erf", "Gelu", "Softmax", "Sqrt",
    "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool",
    "Concat", "Reshape", "Transpose", "Slice", "Split", "Squeeze", "Unsqueeze", "Flatten", "Gather", "Expand", "Tile",
    "Pad", "Identity", "DepthToSpace", "SpaceToDepth",
)  # fmt: skip
"""Operators whose results stay as near to float32 as 16 bits are, and that take them in every opset from 22 on."""

_UNSAFE = {
    "ReduceSum": "it sums many numbers",
    "ReduceMean": "it sums many numbers",
    "ReduceSumSquare": "it sums squares, which overflow",
    "ReduceL2": "it sums squares, which overflow",
    "ReduceLogSumExp": "it sums exponentials, which overflow",
    "CumSum": "it sums many numbers",
    "Exp": "exponentials overflow",
    "Pow": "powers overflow",
    "Reciprocal": "reciprocals of small numbers overflow",
    "Log": "logarithms near 1 lose their digits",
    "BatchNormalization": "its variances are small or large",
    "InstanceNormalization": "it sums many squares",
    "GroupNormalization": "it sums many squares",
    "LSTM": "rounding adds up over time",
    "GRU": "rounding adds up over time",
    "RNN": "rounding adds up over time",
    "Range": "its steps are too coarse",
    "Resize": "its coordinates need more digits",
    "GridSample": "its coordinates need more digits",
    "TopK": "equal numbers change their order",
    "NonMaxSuppression": "it takes float32 alone",
}

OPSET = {DType.FLOAT16: 13, DType.BFLOAT16: 22}
"""The first version of the standard operators in which the safe ones have the type."""


@dataclass(frozen=True, slots=True)
class Halved:
    """A model that computes in 16 bits, which nodes do, and those that stay in float32."""

    model: Model
    narrow: tuple[Node, ...]
    wide: tuple[InFloat, ...]


def write_half(
    prepared: Prepared, target: DType, samples: Samples | None, options: Options, progress: Progress
) -> Halved:
    """A copy with its safe operators in `target`; inputs and outputs of the model stay in float32.

    Where there are samples, a node whose results reach past what the type holds stays in float32 too.
    """
    narrow: list[Node] = []
    wide: list[InFloat] = []
    for node in prepared.model.graph:
        if not any(_is_float(value, prepared) for value in (*node.inputs, *node.outputs)):
            continue
        reason = _refusal(node, prepared, target) or excluded(node, options)
        wide += [] if reason is None else [InFloat(node, reason)]
        narrow += [node] if reason is None else []
    if samples is not None:
        reasons = _overflows(prepared, narrow, target, samples, progress)
        wide += [InFloat(node, reasons[node]) for node in narrow if node in reasons]
        narrow = [node for node in narrow if node not in reasons]
    return Halved(_written(prepared, narrow, target), tuple(narrow), tuple(wide))


def _refusal(node: Node, prepared: Prepared, target: DType) -> str | None:
    known = node.rule_in(_UNSAFE)
    if known is not None:
        return known
    if not node.applies(*SAFE):
        return f"{node.op_type} is not known to be safe in {target}"
    for value in node.inputs:
        if _is_float(value, prepared) and value is not None and isinstance(value.constant, Tensor):
            finite = value.constant.numpy()[np.isfinite(value.constant.numpy())]
            reach = float(np.abs(finite).max(initial=0.0))
            if reach > _largest(target):
                return f"its constant '{value.name}' reaches {reach:.3g}, past {target}"
    return None


def _overflows(
    prepared: Prepared, nodes: list[Node], target: DType, samples: Samples, progress: Progress
) -> dict[Node, str]:
    """Why nodes stay in float32: what they read or compute on the samples is more than half of what the type holds."""
    touched: dict[str, list[Node]] = {}
    for node in nodes:
        for value in (*node.inputs, *node.outputs):
            if value is not None and _is_float(value, prepared) and not _is_constant(value):
                touched.setdefault(value.name, []).append(node)
    reasons: dict[Node, str] = {}
    for values in observed(prepared.model, list(touched), samples, progress):
        for name, array in values.items():
            reach = float(np.abs(array[np.isfinite(array)]).max(initial=0.0))
            if reach > _largest(target) / 2:
                reasons |= dict.fromkeys(touched[name], f"'{name}' reaches {reach:.3g}, near the end of {target}")
    return reasons


def _written(prepared: Prepared, narrow: list[Node], target: DType) -> Model:
    writer = Writer(prepared.model)
    names = {node.output.name for node in narrow}
    floats = {value.name for value in prepared.model.graph.values() if _is_float(value, prepared)}
    casts: dict[tuple[str, DType], Value] = {}
    nodes = [node for node in writer.graph if node.outputs]
    halved = [node for node in nodes if node.output.name in names]
    narrow_values = dict.fromkeys(value for node in halved for value in node.outputs if value.name in floats)
    for node in nodes:
        for value in node.outputs:
            if not value.is_output:
                value.type = None

    def cast(value: Value, to: DType) -> Value:
        key = value.name, to
        if key not in casts:
            if isinstance(value.constant, Tensor) and not value.is_input:
                casts[key] = writer.constant(f"{value.name}_{to}", value.constant.numpy().astype(to.numpy))
            else:
                node = Node("Cast", [value], [writer.fresh(f"{value.name}_{to}")], {"to": int(to)})
                writer.after(value, node)
                casts[key] = node.output
        return casts[key]

    for node in halved:
        for position, operand in enumerate(node.inputs):
            if operand is not None and operand.name in floats and operand not in narrow_values:
                node.replace_input(position, cast(operand, target))
    chosen = set(halved)
    for value in narrow_values:
        for node, position in value.uses:
            if node not in chosen and not (node.applies("Cast") and node.output in casts.values()):
                node.replace_input(position, cast(value, DType.FLOAT32))
        for position, output in enumerate(writer.graph.outputs):
            if output is value:
                type_ = value.type
                value.type = None
                wide = Node("Cast", [value], [writer.fresh(f"{value.name}_float")], {"to": int(DType.FLOAT32)})
                writer.graph.append(wide)
                wide.output.type = type_
                writer.graph.return_instead(position, wide.output)
    return writer.finish()


def _is_float(value: Value | None, prepared: Prepared) -> bool:
    return value is not None and dtype(value, prepared.facts) is DType.FLOAT32


def _is_constant(value: Value) -> bool:
    return value.constant is not None and not value.is_input


def _largest(target: DType) -> float:
    return 65504.0 if target is DType.FLOAT16 else 3.3895e38
