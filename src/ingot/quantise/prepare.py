"""What is quantised: the model in the newest operators, its weights constants, its scales folded into them."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dataclass import dataclass
from ingot.errors import InputError
from ingot.infer.driver import Facts
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.passes.optimise import optimise
from ingot.queries.lenient_inference import gather
from ingot.versions.lowest import lowered

_AS_SPELLED = ("recognise operators", "recognise attention")
"""Passes that write one operator for many: others would hide products, or raise the opset."""

_QUANTISING = (
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "QLinearConv",
    "QLinearMatMul",
)  # fmt: skip
_QUANTISED = (
    "QLinearAdd", "QLinearMul", "QGemm", "QAttention", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "MatMulNBits",
    "DynamicQuantizeLSTM", "MatMulBnb4", "QLinearConv", "QuantizeLinear", "DequantizeLinear",
)  # fmt: skip
_MICROSOFT = "com.microsoft"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A float model that belongs to the quantiser, and what is known of its values."""

    model: Model
    facts: Facts


def prepare(model: Model, purpose: str = "quantise") -> Prepared:
    """A copy of a model, ready for its `purpose`; InputError if it is quantised already."""
    already = next(_quantised_nodes(model), None)
    if already is not None:
        raise InputError(
            f"the model is quantised already: node '{already.label}' is {already.op_type}",
            hint=f"{purpose} the float model that it was made from",
        )
    ready = model.copy()
    optimise(ready, without=_AS_SPELLED)
    return Prepared(ready, gather(ready))


def finished(quantised: Model, original: Model, opset: int) -> Model:
    """A quantised model in the oldest operators, from `opset` and the original's own version on, that express it."""
    imports = dict(original.opset_imports)
    imports[""] = max(imports.get("", opset), opset)
    written = lowered(quantised, imports)
    written.ir_version = max(written.ir_version, original.ir_version)
    return written


def _quantised_nodes(model: Model) -> Iterator[Node]:
    for node in model.nodes():
        if node.applies(*_QUANTISING) or node.applies(*_QUANTISED, domain=_MICROSOFT):
            yield node
