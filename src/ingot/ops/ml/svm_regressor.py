"""SVMRegressor: a weighted sum of kernels with support vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dtypes import DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml import lower_scores
from ingot.ops.ml.element_types import Float32, Numbers
from ingot.ops.ml.post_transform import checked, transformed
from ingot.ops.ml.rows import as_rows, row_count
from ingot.ops.ml.svm_kernel import check_kernel, lower_similarity, similarity, vectors_of


@operator("SVMRegressor", since=1, domain="ai.onnx.ml")
def svm_regressor(
    x: Numbers,
    /,
    *,
    coefficients: Sequence[float] | None = None,
    kernel_params: Sequence[float] | None = None,
    kernel_type: str = "LINEAR",
    n_supports: int = 0,
    one_class: int = 0,
    post_transform: str = "NONE",
    rho: Sequence[float] | None = None,
    support_vectors: Sequence[float] | None = None,
) -> Float32:
    """`kernel(x, support_vectors) @ coefficients + rho`; without support vectors `x @ coefficients + rho`.

    A machine of one class says on which side of zero that is: 1 or -1.
    """
    check_kernel(kernel_type, kernel_params)
    rows = as_rows(x).astype(np.float64)
    weights = np.array(coefficients or (), np.float64)
    if n_supports > 0:
        _check_counts(n_supports, len(weights), len(support_vectors or ()))
        vectors = vectors_of(support_vectors, n_supports)
        scores = similarity(rows, vectors, kernel_type, kernel_params) @ weights[:n_supports]
    else:
        scores = similarity(rows, weights.reshape(1, -1), "LINEAR", None)[:, 0]
    scores = scores + (rho[0] if rho else 0.0)
    if one_class:
        scores = np.where(scores > 0, 1.0, -1.0)
    return transformed(scores.reshape(-1, 1), post_transform).astype(np.float32)


@svm_regressor.infer
def infer(
    x: Fact,
    /,
    *,
    coefficients: Sequence[float] | None,
    kernel_params: Sequence[float] | None,
    kernel_type: str,
    n_supports: int,
    post_transform: str,
    support_vectors: Sequence[float] | None,
    **_: object,
) -> Inferred:
    checked(post_transform)
    check_kernel(kernel_type, kernel_params)
    if n_supports > 0:
        _check_counts(n_supports, len(coefficients or ()), len(support_vectors or ()))
    return TensorType(DType.FLOAT32, (row_count(x), 1))


@svm_regressor.lower
def lower(
    x: prim.Tensor,
    /,
    *,
    coefficients: Sequence[float] | None,
    kernel_params: Sequence[float] | None,
    kernel_type: str,
    n_supports: int,
    one_class: int,
    post_transform: str,
    rho: Sequence[float] | None,
    support_vectors: Sequence[float] | None,
) -> prim.Tensor:
    weights = np.array(coefficients or (), np.float64)
    if n_supports > 0:
        vectors = vectors_of(support_vectors, n_supports)
        kernels = lower_similarity(x, vectors, kernel_type, kernel_params)
        scores = prim.contract(kernels, prim.constant(weights[:n_supports, None].copy()), "nv,vt->nt")
    else:
        scores = lower_similarity(x, weights.reshape(1, -1), "LINEAR", None)
    if rho:
        scores = scores + float(rho[0])
    if one_class:
        scores = prim.where(prim.apply("less", 0.0, scores), 1.0, prim.full(-1.0, scores.shape, DType.FLOAT64))
    return prim.cast(lower_scores.transformed(scores, post_transform), DType.FLOAT32)


def _check_counts(supports: int, weights: int, elements: int) -> None:
    if weights < supports:
        raise CheckError(f"there are {weights} coefficients for {supports} support vectors")
    if elements % supports:
        raise CheckError(f"support_vectors has {elements} numbers, no whole number for each of {supports} vectors")
