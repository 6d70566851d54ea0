"""CDist: the distance of every row of one matrix to every row of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError, UnsupportedError, nearest
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, last
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import FLOAT32, FLOAT64, types

T: TypeAlias = Annotated[Array, types("T", FLOAT32 | FLOAT64)]


@operator("CDist", since=1, domain=MICROSOFT)
def cdist(a: T, b: T, /, *, metric: str = "sqeuclidean") -> T:
    """The distances, shape [rows of a, rows of b], by a metric that needs no parameters; computed in float64."""
    compute = _metric(metric)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ShapeError(f"shapes {list(a.shape)} and {list(b.shape)} are no rows of one length")
    refuse_huge((len(a), len(b)), np.dtype(np.float64))
    distances = np.empty((len(a), len(b)))
    right = b.astype(np.float64)
    step = max(1, 2**20 // max(1, b.size))
    for start in range(0, len(a), step):
        distances[start : start + step] = compute(a[start : start + step, None].astype(np.float64), right)
    return distances.astype(a.dtype)


@cdist.infer
def infer(a: Fact, b: Fact, /, *, metric: str) -> Inferred:
    _metric(metric)
    require_rank(a, 2, "a")
    require_rank(b, 2, "b")
    unify(last(a.shape), last(b.shape), "lengths of rows")
    dtype = a.dtype or b.dtype
    return None if dtype is None else TensorType(dtype, (last(a.shape, 0), last(b.shape, 0)))


@cdist.lower
def lower(a: prim.Tensor, b: prim.Tensor, /, *, metric: str) -> prim.Tensor:
    """The differences themselves: a product, with sums of squares beside it, would cancel. Of near rows they are exact,
    and of any rows rounded once, so that no wider type is needed.
    """
    if metric not in _LOWERED:
        raise prim.Refused(f"metric '{metric}'")
    apart = prim.unsqueeze(a, [2]) - prim.unsqueeze(prim.permute(b, (1, 0)), [0])
    size = prim.apply("absolute", apart)
    if metric == "cityblock":
        distances = prim.reduce_("add", size, [1])
    elif metric == "chebyshev":
        distances = prim.apply("maximum", prim.reduce_("maximum", size, [1]), 0)
    else:
        distances = prim.reduce_("add", apart * apart, [1])
        distances = prim.apply("sqrt", distances) if metric == "euclidean" else distances
    return prim.squeeze(distances, [1])


_LOWERED = ("sqeuclidean", "euclidean", "cityblock", "chebyshev")


def _cosine(a: Array, b: Array) -> Any:
    norms = np.sqrt(np.square(a).sum(-1) * np.square(b).sum(-1))
    return 1 - (a * b).sum(-1) / norms


def _share(above: Array, below: Array) -> Any:
    """A quotient, zero where both are zero."""
    return np.where(below == 0, 0, above / np.where(below == 0, 1, below))


_METRICS: dict[str, Callable[[Array, Array], Any]] = {
    "sqeuclidean": lambda a, b: np.square(a - b).sum(-1),
    "euclidean": lambda a, b: np.sqrt(np.square(a - b).sum(-1)),
    "cityblock": lambda a, b: np.abs(a - b).sum(-1),
    "chebyshev": lambda a, b: np.abs(a - b).max(-1, initial=0),
    "canberra": lambda a, b: _share(np.abs(a - b), np.abs(a) + np.abs(b)).sum(-1),
    "braycurtis": lambda a, b: _share(np.abs(a - b).sum(-1), np.abs(a + b).sum(-1)),
    "cosine": _cosine,
    "correlation": lambda a, b: _cosine(a - a.mean(-1, keepdims=True), b - b.mean(-1, keepdims=True)),
    "hamming": lambda a, b: (a != b).mean(-1),
}
_OTHERS = [
    "dice",
    "jaccard",
    "jensenshannon",
    "kulsinski",
    "mahalanobis",
    "matching",
    "minkowski",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalmichener",
    "sokalsneath",
    "wminkowski",
    "yule",
]


def _metric(name: str) -> Callable[[Array, Array], Any]:
    if name in _OTHERS:
        raise UnsupportedError(f"metric '{name}' is not here", hint=f"one of {', '.join(_METRICS)}")
    if name not in _METRICS:
        raise CheckError(f"metric is '{name}'", hint=nearest(name, _METRICS) or f"one of {', '.join(_METRICS)}")
    return _METRICS[name]
