"""Reverse-mode gradients of a graph: its values lowered to primitives, differentiated, and evaluated with numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError
from ingot.infer import infer
from ingot.ir.extract import extract
from ingot.ir.model import Model
from ingot.ir.types import TensorType
from ingot.lower.graph import lower_graph
from ingot.ops.catalog import Catalog
from ingot.prim.evaluate import evaluate, read_sizes
from ingot.prim.gradient import gradients
from ingot.prim.tensor import Refused


def differentiate(model: Model, catalog: Catalog, xs: Sequence[str], y: str, fixed: Mapping[str, Array]) -> list[Array]:
    """The derivative of `sum(y)` by each of `xs`, all values of the main graph; the values in `fixed` are inputs.

    CheckError if `y` depends on a value that is not in `fixed`, UnsupportedError if a node on the way has no
    derivative.
    """
    part = extract(model, list(fixed), [y])
    for value in part.graph.inputs:
        array = fixed[value.name]
        value.type = TensorType(DType.of(array.dtype), array.shape)
    program = lower_graph(part, infer(part, catalog=catalog), catalog)
    for node, call in program.calls.items():
        raise UnsupportedError(
            f"{node.op_type} has no derivative: {call.reason}", where=(f"in node '{node.label}' ({node.op_type})",)
        )
    try:
        derivatives = gradients(program.values[part.graph.outputs[0]], [program.inputs[name] for name in xs])
    except Refused as reason:
        raise UnsupportedError(f"the gradient of '{y}' cannot be computed: {reason}") from None
    return evaluate(derivatives, dict(fixed), read_sizes(program.readings, dict(fixed), {}))
