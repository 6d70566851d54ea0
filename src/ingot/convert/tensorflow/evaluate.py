"""Operations on constants, computed by TensorFlow while converting."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import tensorflow as tf

from ingot.builder import Var
from ingot.convert.operands import constant
from ingot.convert.tensorflow.dtypes import to_array, to_tensor
from ingot.convert.tensorflow.functions import called
from ingot.convert.tensorflow.rule import static_shape
from ingot.dtypes import Array

_MOST = 4096
"""Elements up to which results are computed here: axes, sizes, paddings. Weights are left to the passes."""


def evaluated(operation: Any, arguments: Sequence[Any]) -> list[Array] | None:
    """The results of an operation all of whose inputs are constants; None where they are not, or are large."""
    if not arguments or not all(isinstance(each, Var) for each in arguments) or not operation.outputs:
        return None
    if operation.op_def is None or operation.op_def.is_stateful or called(operation):
        return None
    arrays = [constant(each) for each in arguments]
    for tensor in operation.outputs:
        shape = static_shape(tensor)
        if shape is None or None in shape or prod(shape) > _MOST or tensor.dtype.is_complex:  # type: ignore[arg-type]
            return None
    if any(array is None or array.size > _MOST for array in arrays):
        return None
    inputs = [to_tensor(array, tensor.dtype) for array, tensor in zip(arrays, operation.inputs, strict=True)]  # type: ignore[arg-type]
    try:
        return [to_array(tensor) for tensor in _executed(operation, inputs)]
    except Exception:  # what TensorFlow does not compute is translated as it is
        return None


def _executed(operation: Any, inputs: list[Any]) -> list[Any]:
    from tensorflow.python.eager import context, execute

    attributes: list[Any] = []
    for name in operation.node_def.attr:
        if not name.startswith("_"):
            value = operation.get_attr(name)
            attributes += [name, value.as_datatype_enum if isinstance(value, tf.DType) else value]
    results = execute.execute(
        operation.type, len(operation.outputs), inputs=inputs, attrs=tuple(attributes), ctx=context.context()
    )
    return list(results)
