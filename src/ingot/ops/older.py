"""What a downgrade rule may ask about its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder.versions import INITIALIZERS_ALONE_SINCE
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value

_KNOWN = "give the inputs of the model their types and shapes"


def rank_of(value: Value) -> int:
    """How many axes a tensor has; UnsupportedError if that is not known."""
    return len(shape_of(value))


def shape_of(value: Value) -> Shape:
    """The sizes of a tensor, some perhaps expressions or unknown; UnsupportedError if their number is not known."""
    if isinstance(value.constant, Tensor):
        return tuple(value.constant.shape)
    if not isinstance(value.type, TensorType) or value.type.shape is None:
        raise UnsupportedError(f"the rank of '{value.name}' is not known", hint=_KNOWN)
    return value.type.shape


def dtype_of(value: Value) -> DType:
    """The element type of a tensor; UnsupportedError if it is not known."""
    if isinstance(value.constant, Tensor):
        return value.constant.dtype
    if not isinstance(value.type, TensorType) or value.type.dtype is DType.UNDEFINED:
        raise UnsupportedError(f"the element type of '{value.name}' is not known", hint=_KNOWN)
    return value.type.dtype


def constant_of(value: Value) -> Array | None:
    """What a value holds in every run, None if that is not known."""
    if isinstance(value.constant, Tensor):
        return None if value.is_input and not _is_fixed(value) else value.constant.numpy()
    producer = value.producer
    if producer is None or not producer.applies("Constant"):
        return None
    for attribute in producer.attributes.values():
        if attribute.ref:
            return None
        if isinstance(attribute.value, Tensor):
            return attribute.value.numpy()
        dtype: Any = {"int": np.int64, "float": np.float32, "string": np.object_}.get(
            attribute.name.removeprefix("value_").removesuffix("s")
        )
        return None if dtype is None else np.asarray(attribute.value, dtype)
    return None


def integers_of(value: Value) -> list[int]:
    """The integers that a value holds in every run; UnsupportedError if they are computed while the model runs."""
    constant = constant_of(value)
    if constant is None:
        raise UnsupportedError(
            f"'{value.name}' is computed while the model runs, the older version takes it as an attribute"
        )
    return [int(item) for item in constant.reshape(-1)]


def _is_fixed(value: Value) -> bool:
    """Whether an input with a constant is one only because its format wants every constant to be an input."""
    owner = None if value.graph is None else value.graph.owner
    return isinstance(owner, Model) and 0 < owner.ir_version < INITIALIZERS_ALONE_SINCE
