"""ArrayFeatureExtractor: chosen elements of the last axis."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.element_types import NUMBERS
from ingot.ops.ml.rows import affordable
from ingot.ops.typesets import INT64, STRING, types

T: TypeAlias = Annotated[Array, types("T", NUMBERS | STRING)]
Indices: TypeAlias = Annotated[Array, types("", INT64)]


@operator("ArrayFeatureExtractor", since=1, domain="ai.onnx.ml")
def array_feature_extractor(x: T, indices: Indices, /) -> T:
    """The elements of the last axis of `x` that `indices`, taken flat, name; a lone row keeps an axis of one before it.

    InputError for an index outside the axis; there are no negative ones.
    """
    if not x.ndim:
        raise ShapeError("the input has no axis to extract from")
    wanted = indices.reshape(-1)
    size = x.shape[-1]
    outside = wanted[(wanted < 0) | (wanted >= size)]
    if outside.size:
        raise InputError(f"index {outside[0]} is outside the last axis, of {size} elements")
    affordable(x.size // max(1, size) * wanted.size, 8)
    chosen = x[..., wanted]
    return np.asarray(chosen.reshape(1, -1) if x.ndim == 1 else chosen)


@array_feature_extractor.infer
def infer(x: Fact, indices: Fact, /) -> Inferred:
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype)
    if not x.shape:
        raise ShapeError("the input has no axis to extract from")
    try:
        count = None if indices.shape is None else shapes.product(indices.shape)
    except ValueError:  # too large an expression to follow
        count = None
    return TensorType(x.dtype, (*(x.shape[:-1] or (1,)), count))


@array_feature_extractor.lower
def lower(x: prim.Tensor, indices: prim.Tensor, /) -> prim.Tensor:
    rows = prim.unsqueeze(x, [0]) if x.rank == 1 else x
    count = prim.count(indices.shape)
    flat = prim.reshape(indices, (*(1,) * (rows.rank - 1), count))
    return prim.gather(rows, [*range(rows.rank - 1), flat], (*rows.shape[:-1], count))
