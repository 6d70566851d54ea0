"""Kernels of support vector machines: how alike rows and support vectors are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ops.ml.rows import affordable, chunks

KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def check_kernel(kernel: str, params: Sequence[float] | None) -> None:
    """CheckError unless the kernel is known and its three parameters, if any, are there."""
    if kernel not in KERNELS:
        raise CheckError(f"kernel_type is '{kernel}'", hint=f"one of {', '.join(KERNELS)}")
    if params and len(params) != 3:
        raise CheckError(f"kernel_params has {len(params)} numbers, expected gamma, coef0 and degree")


def vectors_of(numbers: Sequence[float] | None, count: int) -> Array:
    """So many support vectors, of numbers that are a multiple of their count."""
    flat = np.array(numbers or (), np.float64)
    return flat.reshape(count, len(flat) // count)


def similarity(rows: Array, vectors: Array, kernel: str, params: Sequence[float] | None) -> Array:
    """The kernel of every row (float64) with every vector, shape [rows, vectors]."""
    check_kernel(kernel, params)
    if rows.shape[1] != vectors.shape[1]:
        raise ShapeError(f"the input has {rows.shape[1]} features, the model {vectors.shape[1]}")
    affordable(len(rows) * len(vectors), 8)
    gamma, coef0, degree = params or (0.0, 0.0, 0.0)
    if kernel == "RBF":
        return np.asarray(np.exp(-gamma * _squared_distances(rows, vectors)))
    products = rows @ vectors.T
    if kernel == "POLY":
        return np.asarray(np.power(gamma * products + coef0, degree))
    return np.asarray(np.tanh(gamma * products + coef0) if kernel == "SIGMOID" else products)


def _squared_distances(rows: Array, vectors: Array) -> Array:
    distances = np.empty((len(rows), len(vectors)))
    for part in chunks(len(rows), vectors.size):
        distances[part] = np.square(rows[part, None] - vectors).sum(axis=2)
    return distances


def lower_similarity(x: prim.Tensor, vectors: Array, kernel: str, params: Sequence[float] | None) -> prim.Tensor:
    """The kernel of every row of features with every vector, as by `similarity`, in float64."""
    rows = prim.cast(prim.unsqueeze(x, [0]) if x.rank == 1 else x, DType.FLOAT64)
    if rows.shape[1] != vectors.shape[1]:
        raise prim.Refused(f"{rows.shape[1]} features, for a model of {vectors.shape[1]}")
    gamma, coef0, degree = params or (0.0, 0.0, 0.0)
    if kernel == "RBF":
        away = prim.unsqueeze(rows, [2]) - prim.constant(vectors.T[None].copy())
        return prim.apply("exp", -gamma * prim.squeeze(prim.reduce_("add", away * away, [1]), [1]))
    products = prim.contract(rows, prim.constant(vectors.T.copy()), "nf,fv->nv")
    if kernel == "LINEAR":
        return products
    inner = gamma * products + coef0
    return prim.apply("power", inner, float(degree)) if kernel == "POLY" else prim.apply("tanh", inner)
