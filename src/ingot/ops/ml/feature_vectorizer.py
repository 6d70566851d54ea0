"""FeatureVectorizer: tables side by side, as floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.element_types import NUMBERS, Float32
from ingot.ops.ml.rows import affordable
from ingot.ops.typesets import types

T1: TypeAlias = Annotated[Array, types("T1", NUMBERS)]


@operator("FeatureVectorizer", since=1, domain="ai.onnx.ml")
def feature_vectorizer(*xs: T1, inputdimensions: Sequence[int] | None = None) -> Float32:
    """The inputs joined along the features, a lone axis being one row, as float32.

    Each takes as many columns as `inputdimensions` says: it is cut, or filled up with zeros.
    """
    if any(not x.ndim for x in xs):
        raise ShapeError("an input has no axes, expected at least 1")
    tables = [x.reshape(1, -1) if x.ndim == 1 else x.reshape(len(x), int(np.prod(x.shape[1:]))) for x in xs]
    if len({len(table) for table in tables}) > 1:
        raise ShapeError(f"the inputs differ in rows: {[len(table) for table in tables]}")
    widths = _widths(inputdimensions, len(xs)) or [table.shape[1] for table in tables]
    rows = len(tables[0])
    affordable(rows * sum(widths))
    joined = np.zeros((rows, sum(widths)), np.float32)
    start = 0
    for table, width in zip(tables, widths, strict=True):
        used = min(width, table.shape[1])
        joined[:, start : start + used] = table[:, :used]
        start += width
    return joined


@feature_vectorizer.infer
def infer(*xs: Fact, inputdimensions: Sequence[int] | None) -> Inferred:
    widths = _widths(inputdimensions, len(xs))
    if any(x.shape == () for x in xs):
        raise ShapeError("an input has no axes, expected at least 1")
    rows = None
    for x in xs:
        if x.shape is not None:
            rows = shapes.unify(rows, x.shape[0] if len(x.shape) > 1 else 1, "rows")
    if widths is not None:
        return TensorType(DType.FLOAT32, (rows, sum(widths)))
    total = None
    if all(x.shape is not None for x in xs):
        own = [shapes.product(x.shape[1:] if len(x.shape) > 1 else x.shape) for x in xs if x.shape is not None]
        if all(width is not None for width in own):
            total = sum((width for width in own if width is not None), start=0)
    return TensorType(DType.FLOAT32, (rows, total))


@feature_vectorizer.lower
def lower(*xs: prim.Tensor, inputdimensions: Sequence[int] | None) -> prim.Tensor:
    tables = []
    widths = _widths(inputdimensions, len(xs))
    for place, x in enumerate(xs):
        rows, features = (1, x.shape[0]) if x.rank == 1 else (x.shape[0], prim.count(x.shape[1:]))
        table = prim.cast(prim.reshape(x, (rows, features)), DType.FLOAT32)
        if widths is not None:
            if not isinstance(features, int):
                raise prim.Refused("a statically unknown number of features")
            used = min(features, widths[place])
            table = prim.pad(prim.slice_(table, [0, 0], [rows, used]), [0, 0], [0, widths[place] - used], 0.0)
        tables.append(table)
    return prim.concat(tables, 1)


def _widths(inputdimensions: Sequence[int] | None, count: int) -> list[int] | None:
    if not inputdimensions:
        return None
    if len(inputdimensions) != count:
        raise CheckError(f"inputdimensions names {len(inputdimensions)} inputs, there are {count}")
    if min(inputdimensions) < 0:
        raise CheckError(f"inputdimensions holds a negative size: {[*inputdimensions]}")
    return list(inputdimensions)
