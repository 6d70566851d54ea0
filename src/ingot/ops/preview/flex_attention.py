"""FlexAttention: attention whose scores and probabilities a graph may change."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.graph import Graph
from ingot.ir.types import TensorType
from ingot.ops.control.regions import Regions
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import most_bytes
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import FLOATS, types

T1: TypeAlias = Annotated[Array, types("T1", FLOATS)]

_PRECISIONS = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)


@operator("FlexAttention", since=1, domain="ai.onnx.preview")
def flex_attention(
    q: T1,
    k: T1,
    v: T1,
    /,
    *,
    prob_mod: Graph | None = None,
    scale: float | None = None,
    score_mod: Graph | None = None,
    softmax_precision: int | None = None,
    runtime: Runtime,
) -> T1:
    """`softmax(q @ k.T * scale) @ v` for each head; groups of query heads may share a key and value head.

    `score_mod` changes the scores before the softmax, `prob_mod` the probabilities after it; both work in the softmax
    precision, by default float32, for doubles float64. The scale is by default one over the root of the head size.
    """
    _check_shapes(q.shape, k.shape, v.shape)
    precision = _precision(DType.of(q.dtype), softmax_precision)
    wide = np.dtype(np.float64 if q.dtype == np.float64 else np.float32)
    if 8 * q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] > most_bytes():
        raise ShapeError(f"the scores of {[*q.shape[:3], k.shape[2]]} elements take more than {most_bytes():,} bytes")
    groups = q.shape[1] // max(1, k.shape[1])
    keys, values = (np.repeat(x.astype(wide), groups, axis=1) for x in (k, v))
    factor = 1 / np.sqrt(q.shape[3]) if scale is None else scale
    scores = (q.astype(wide) @ np.swapaxes(keys, 2, 3) * wide.type(factor)).astype(precision.numpy)
    scores = _modified(score_mod, "score_mod", scores, runtime)
    probabilities = _modified(prob_mod, "prob_mod", _softmax(scores), runtime)
    exact = np.float64 if precision is DType.FLOAT64 else wide
    return np.asarray(probabilities.astype(exact) @ values.astype(exact), q.dtype)


@flex_attention.infer
def infer(q: Fact, k: Fact, v: Fact, /, *, softmax_precision: int | None, **_: object) -> Inferred:
    for x, name in (q, "the query"), (k, "the key"), (v, "the value"):
        require_rank(x, 4, name)
    if q.dtype is None:
        return None
    _precision(q.dtype, softmax_precision)
    if q.shape is None or k.shape is None or v.shape is None:
        return TensorType(q.dtype, (None,) * 4)
    heads = unify(k.shape[1], v.shape[1], "the heads of key and value")
    if isinstance(heads, int) and isinstance(q.shape[1], int) and (not heads or q.shape[1] % heads):
        raise ShapeError(f"{q.shape[1]} query heads are no multiple of {heads} key heads")
    unify(k.shape[2], v.shape[2], "the lengths of key and value")
    unify(q.shape[3], k.shape[3], "the head sizes of query and key")
    batch = unify(unify(q.shape[0], k.shape[0], "batches"), v.shape[0], "batches")
    return TensorType(q.dtype, (batch, q.shape[1], q.shape[2], v.shape[3]))


@flex_attention.lower
def lower(
    q: prim.Tensor,
    k: prim.Tensor,
    v: prim.Tensor,
    /,
    *,
    prob_mod: Graph | None,
    scale: float | None,
    score_mod: Graph | None,
    softmax_precision: int | None,
    regions: Regions,
) -> prim.Tensor:
    precision = _precision(q.dtype, softmax_precision)
    wide = DType.FLOAT64 if q.dtype is DType.FLOAT64 else DType.FLOAT32
    batch, heads, length, size = q.shape
    keys, many = k.shape[1], k.shape[2]
    groups = divide_exactly(heads, keys)
    if groups is None or not isinstance(size, int):
        raise prim.Refused(f"{heads} heads of {size} elements for {keys} keys")
    k = prim.assume_shape(k, (batch, keys, many, size))
    v = prim.assume_shape(v, (batch, keys, many, v.shape[3]))
    exact = DType.FLOAT64 if precision is DType.FLOAT64 else wide
    queries = prim.reshape(prim.cast(q, wide), (batch, keys, groups, length, size))
    scores = prim.contract(queries, prim.cast(k, wide), "bhgld,bhmd->bhglm")
    factor = np.dtype(wide.numpy).type(1 / np.sqrt(size) if scale is None else scale)
    scores = prim.reshape(scores * float(factor), (batch, heads, length, many))
    scores = _changed(score_mod, prim.cast(scores, precision), regions)
    inner = prim.cast(scores, DType.FLOAT64 if precision is DType.FLOAT64 else DType.FLOAT32)
    exponentials = prim.apply("exp", inner - prim.reduce_("maximum", inner, [3]))
    probabilities = prim.cast(exponentials / prim.reduce_("add", exponentials, [3]), precision)
    probabilities = prim.cast(_changed(prob_mod, probabilities, regions), exact)
    grouped = prim.reshape(probabilities, (batch, keys, groups, length, many))
    mean = prim.contract(grouped, prim.cast(v, exact), "bhglm,bhmw->bhglw")
    return prim.cast(prim.reshape(mean, (batch, heads, length, v.shape[3])), q.dtype)


def _changed(graph: Graph | None, x: prim.Tensor, regions: Regions) -> prim.Tensor:
    if graph is None:
        return x
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise prim.Refused("a graph that is no function of one tensor")
    (result,) = regions.body(graph, [x])
    if result.dtype is not x.dtype:
        raise prim.Refused(f"{result.dtype} made of {x.dtype}")
    return prim.assume_shape(result, x.shape)


def _check_shapes(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> None:
    if not len(q) == len(k) == len(v) == 4:
        raise ShapeError(f"query, key and value have {len(q)}, {len(k)} and {len(v)} axes, expected 4")
    if k[:3] != v[:3] or q[0] != k[0] or q[3] != k[3]:
        raise ShapeError(f"the shapes of query, key and value do not fit: {[*q]}, {[*k]} and {[*v]}")
    if q[1] != k[1] and (not k[1] or q[1] % k[1]):
        raise ShapeError(f"{q[1]} query heads are no multiple of {k[1]} key heads")


def _precision(dtype: DType, asked: int | None) -> DType:
    if asked is None:
        return DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    if asked not in _PRECISIONS:
        raise CheckError(f"softmax_precision is {asked}, no floating-point type for a softmax")
    return DType(asked)


def _modified(graph: Graph | None, name: str, x: Array, runtime: Runtime) -> Array:
    if graph is None:
        return x
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise CheckError(f"{name} has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs, expected 1 and 1")
    (result,) = runtime.run(graph, [x])
    if not isinstance(result, np.ndarray) or result.shape != x.shape or result.dtype != x.dtype:
        raise CheckError(f"{name} makes {getattr(result, 'shape', result)} of {x.shape}, it must keep shape and type")
    return result


def _softmax(scores: Array) -> Array:
    """Along the last axis, rounded once to the type of the scores."""
    wide = scores.astype(np.float64 if scores.dtype == np.float64 else np.float32)
    exponentials = np.exp(wide - wide.max(axis=-1, keepdims=True, initial=-np.inf))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True), scores.dtype)
