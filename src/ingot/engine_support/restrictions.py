"""What targets refuse of operators they have, besides kinds of values: constants they need, ranks, modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from ingot.engine_support.known import depends_on_inputs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType, Type
from ingot.ir.value import Value

Restriction: TypeAlias = Callable[[Node, Mapping[Value, Type]], str | None]
"""What a node has that is refused, to be read after "takes no Resize"; None if it has nothing of the kind."""


def restrictions_of(target: str, node: Node, types: Mapping[Value, Type]) -> Iterator[str]:
    """Everything about a node that a target refuses: what TensorRT's parser states, what others were seen to."""
    for restriction in node.rule_in(_RESTRICTIONS.get(target, {})) or ():
        message = restriction(node, types)
        if message is not None:
            yield message


def _computed(place: int, name: str) -> Restriction:
    """An input that must be known when the engine is built."""

    def refuse(node: Node, _: Mapping[Value, Type]) -> str | None:
        value = node.inputs[place] if place < len(node.inputs) else None
        return f"whose '{name}' is computed" if value is not None and depends_on_inputs(value) else None

    return refuse


def _rank(*ranks: int) -> Restriction:
    def refuse(node: Node, types: Mapping[Value, Type]) -> str | None:
        rank = _rank_of(node.inputs[0], types)
        return None if rank is None or rank in ranks else f"of {rank} axes"

    return refuse


def _dilated(node: Node, _: Mapping[Value, Type]) -> str | None:
    dilations = list(node.get("dilations") or ())
    return f"with dilations {dilations}" if any(size != 1 for size in dilations) else None


def _only(attribute: str, default: Any, *allowed: Any) -> Restriction:
    def refuse(node: Node, _: Mapping[Value, Type]) -> str | None:
        value = node.get(attribute, default)
        value = value.decode() if isinstance(value, bytes) else value
        return None if value in allowed else f"with {attribute} {value}"

    return refuse


def _first_output(node: Node, _: Mapping[Value, Type]) -> str | None:
    more = [value for value in node.outputs[1:] if value.name and (value.uses or value.is_output)]
    return "of which more than the first output is read" if more else None


def _zero_point(node: Node, _: Mapping[Value, Type]) -> str | None:
    value = node.inputs[2] if len(node.inputs) > 2 else None
    constant = None if value is None else _constant(value)
    return "whose zero point is not zero" if constant is not None and np.any(constant.astype(np.float64)) else None


def _same_activations(node: Node, _: Mapping[Value, Type]) -> str | None:
    activations = [name.decode() if isinstance(name, bytes) else name for name in node.get("activations") or ()]
    half = len(activations) // 2
    both = node.get("direction") in ("bidirectional", b"bidirectional")
    return "with other activations backwards" if both and activations[:half] != activations[half:] else None


def _open(node: Node, types: Mapping[Value, Type]) -> str | None:
    type_ = types.get(node.inputs[0]) if node.inputs and node.inputs[0] is not None else None
    shape = type_.shape if isinstance(type_, TensorType) else ()
    return "of open sizes" if shape is None or not all(isinstance(size, int) for size in shape) else None


def _training(node: Node, _: Mapping[Value, Type]) -> str | None:
    value = node.inputs[2] if len(node.inputs) > 2 else None
    if value is None:
        return None
    constant = _constant(value)
    return "whose training mode is computed" if constant is None else "in training mode" if constant.any() else None


def _remainder_of_floats(node: Node, types: Mapping[Value, Type]) -> str | None:
    type_ = types.get(node.inputs[0]) if node.inputs[0] is not None else None
    floats = isinstance(type_, TensorType) and type_.dtype.is_float
    return "of floats with fmod 0" if floats and not node.get("fmod", 0) else None


def _many(node: Node, _: Mapping[Value, Type]) -> str | None:
    value = node.inputs[1] if len(node.inputs) > 1 else None
    constant = None if value is None else _constant(value)
    return f"of {int(constant.max()):,} elements" if constant is not None and constant.max() > _MOST_OF_TOPK else None


def _odd_constant(node: Node, _: Mapping[Value, Type]) -> str | None:
    attribute = next(
        (name for name in ("sparse_value", "value_string", "value_strings") if name in node.attributes), None
    )
    return None if attribute is None else f"with {attribute}"


def _constant(value: Value) -> Any:
    tensor = value.constant
    if tensor is None and value.producer is not None and value.producer.applies("Constant"):
        tensor = value.producer.get("value")
    return tensor.numpy() if isinstance(tensor, Tensor) else None


def _rank_of(value: Value | None, types: Mapping[Value, Type]) -> int | None:
    type_ = None if value is None else types.get(value) or value.type
    return type_.rank if isinstance(type_, TensorType) else None


_MOST_OF_TOPK = 3839
_RESIZED = ("half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn", "asymmetric", "align_corners")
_RECURRENT = (_same_activations, _only("layout", 0, 0))
_REDUCED = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_TENSORRT: Mapping[str, tuple[Restriction, ...]] = {
    "AveragePool": (_rank(4, 5), _dilated),
    "Constant": (_odd_constant,),
    "CumSum": (_computed(1, "axis"),),
    "DeformConv": (_rank(3, 4),),
    "DequantizeLinear": (_zero_point,),
    "Dropout": (_training,),
    "EyeLike": (_open,),
    "GRU": _RECURRENT,
    "GridSample": (_rank(4),),
    "LSTM": (*_RECURRENT, _only("input_forget", 0, 0)),
    "LayerNormalization": (_first_output,),
    "LpPool": (_dilated,),
    "MaxPool": (_rank(4, 5), _first_output, _dilated),
    "OneHot": (_computed(1, "depth"),),
    "Pad": (_computed(3, "axes"),),
    "QuantizeLinear": (_zero_point,),
    "RNN": _RECURRENT,
    "Resize": (
        _only("coordinate_transformation_mode", "half_pixel", *_RESIZED),
        _only("mode", "nearest", "nearest", "linear"),
        _only("nearest_mode", "round_prefer_floor", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
        _only("keep_aspect_ratio_policy", "stretch", "stretch"),
    ),
    "ScatterND": (_only("reduction", "none", "none"),),
    "Slice": (_computed(3, "axes"),),
    "Squeeze": (_computed(1, "axes"),),
    "TopK": (_only("sorted", 1, 1), _many),
    "Unsqueeze": (_computed(1, "axes"),),
    **{f"Reduce{name}": (_computed(1, "axes"),) for name in _REDUCED},
}
_RESTRICTIONS = {
    "tensorrt": _TENSORRT,
    "openvino": {
        "Dropout": (_training,),
        "GridSample": (_rank(4),),
        "Mod": (_remainder_of_floats,),
        "Pad": (_only("mode", "constant", "constant", "reflect", "edge"),),
        "Resize": (_only("coordinate_transformation_mode", "half_pixel", *_RESIZED),),
    },
    "onnxruntime": dict.fromkeys(("GRU", "LSTM", "RNN"), (_only("layout", 0, 0),)),
}
