"""Layers around layers: models in models, pipelines, layers applied to every time step."""

from __future__ import annotations

from typing import Any

from keras import tree

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, cast
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape
from ingot.dtypes import DType


@rule("Functional")
def functional(c: Conversion, model: Any, inputs: Any, mask: Any = None) -> Any:
    """The calls inside, with the inputs in the order in which the model has them."""
    if isinstance(inputs, dict) and not isinstance(model._inputs_struct, dict):
        arguments = [inputs[tensor.name] for tensor in model.inputs]
    elif isinstance(inputs, dict):
        arguments = [inputs[name] for name in sorted(model._inputs_struct)]
    else:
        arguments = tree.flatten(inputs)
    fitted = [
        _with_rank(cast(x, tensor.dtype) if isinstance(x, Var) else x, len(tensor.shape))
        for x, tensor in zip(arguments, model.inputs, strict=True)
    ]
    for x, new in zip(arguments, fitted, strict=True):
        if isinstance(x, Var) and x is not new:
            c.set_mask(new, c.mask(x))
    results = c.run(model.inputs, fitted, model._outputs_struct)
    return results[0] if isinstance(results, list) and len(results) == 1 else results


def _with_rank(x: Any, count: int) -> Any:
    """An input with the number of axes that a model wants: it may lack a last one, or have one more."""
    if not isinstance(x, Var) or rank(x) == count:
        return x
    return op.Squeeze(x, [-1]) if rank(x) > count else op.Unsqueeze(x, [-1])


@rule("Sequential")
def sequential(c: Conversion, model: Any, inputs: Any, mask: Any = None) -> Any:
    if model._functional is not None:
        return functional(c, model._functional, inputs)
    x = inputs
    for layer in model.layers:
        x = c.call(layer, x)
    return x


@rule("Pipeline")
def pipeline(c: Conversion, layer: Any, inputs: Any) -> Any:
    x = inputs
    for each in layer.layers:
        x = c.call(each, x)
    return x


@rule("TimeDistributed")
def time_distributed(c: Conversion, layer: Any, x: Var, mask: Var | None = None) -> Var:
    """The layer inside on all steps at once: batch and time are one axis for it."""
    merged = _merged(x)
    named: dict[str, Any] = {}
    if mask is not None and layer.layer._call_has_mask_arg:
        flat = _merged(cast(mask, DType.BOOL))
        if rank(flat) > 1 or "mask" in layer.layer._call_signature.parameters:
            named["mask"] = flat
    results: Var = c.call(layer.layer, merged, **named)
    lead = op.Shape(x, start=0, end=2)
    inner = shape(results)[1:]
    if all(isinstance(size, int) for size in inner):
        rest: Any = [int(size) for size in inner]  # type: ignore[arg-type]
        target = op.Concat(lead, rest, axis=0) if rest else lead
    else:
        target = op.Concat(lead, op.Shape(results, start=1), axis=0)
    return op.Reshape(results, target)


def _merged(x: Var) -> Var:
    """`x` with its first two axes as one."""
    inner = shape(x)[2:]
    if all(isinstance(size, int) for size in inner):
        return op.Reshape(x, [-1, *(int(size) for size in inner)])  # type: ignore[arg-type]
    return op.Reshape(x, op.Concat([-1], op.Shape(x, start=2), axis=0))


@rule("InputLayer", "Identity")
def identity(c: Conversion, layer: Any, x: Any) -> Any:
    return x
