"""Normalizer: each row divided by a norm of its own."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dtypes import DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.element_types import Float32, Numbers
from ingot.ops.ml.rows import as_rows, row_count


@operator("Normalizer", since=1, domain="ai.onnx.ml")
def normalizer(x: Numbers, /, *, norm: str = "MAX") -> Float32:
    """Each row over its largest element, its sum of magnitudes (L1) or its length (L2), as float32.

    A row whose divisor is zero stays as it is.
    """
    rows = as_rows(x).astype(np.float64)
    match _checked(norm):
        case "MAX":
            divisor = rows.max(axis=1, keepdims=True, initial=-np.inf)
        case "L1":
            divisor = np.abs(rows).sum(axis=1, keepdims=True)
        case _:
            divisor = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(divisor == 0, 1, divisor), np.float32).reshape(x.shape)


@normalizer.infer
def infer(x: Fact, /, *, norm: str) -> Inferred:
    _checked(norm)
    row_count(x)
    return TensorType(DType.FLOAT32, x.shape)


@normalizer.lower
def lower(x: prim.Tensor, /, *, norm: str) -> prim.Tensor:
    rows = prim.cast(prim.unsqueeze(x, [0]) if x.rank == 1 else x, DType.FLOAT64)
    match _checked(norm):
        case "MAX":
            divisor = prim.reduce_("maximum", rows, [1])
        case "L1":
            divisor = prim.reduce_("add", prim.apply("absolute", rows), [1])
        case _:
            divisor = prim.apply("sqrt", prim.reduce_("add", rows * rows, [1]))
    scaled = prim.cast(rows / prim.where(prim.apply("equal", divisor, 0.0), 1.0, divisor), DType.FLOAT32)
    return prim.squeeze(scaled, [0]) if x.rank == 1 else scaled


def _checked(norm: str) -> str:
    if norm not in ("MAX", "L1", "L2"):
        raise CheckError(f"norm is '{norm}'", hint="one of MAX, L1, L2")
    return norm
