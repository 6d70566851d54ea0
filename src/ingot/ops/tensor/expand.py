"""Expand: a tensor repeated along axes of one element."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Expr, upper_bound
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import shape_of
from ingot.ops.shapes import broadcast, require_rank
from ingot.ops.tensor.computed import numbers_in
from ingot.ops.tensor.follow import cells, followed, numbers, sizes, tensor, through
from ingot.ops.tensor.moved import holding, in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, INT64, types
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[Array, types("T", {8: ALL_3, 13: ALL})]
Sizes: TypeAlias = Annotated[Array, types("", INT64)]


@operator("Expand", since=(8, 13))
def expand(x: T, shape: Sizes, /) -> T:
    """`x` broadcast with a tensor of `shape`: either may have the one that the other repeats."""
    if shape.ndim != 1:
        raise InputError(f"shape has {shape.ndim} axes, expected 1")
    wanted: list[int] = shape.tolist()
    rank = max(x.ndim, len(wanted))
    pairs = zip((1,) * (rank - x.ndim) + x.shape, [1] * (rank - len(wanted)) + wanted, strict=True)
    result = []
    for have, want in pairs:
        if have != want and have != 1 and want != 1:
            raise ShapeError(f"shape {list(x.shape)} does not broadcast with {wanted}")
        result.append(have if want == 1 else want)
    expanded: Array = np.empty(affordable(result, x.dtype), x.dtype)
    expanded[...] = x
    return expanded


@expand.infer
def infer(x: Fact, shape: Fact, /) -> Inferred:
    require_rank(shape, 1, "shape")
    wanted = sizes(shape)
    if wanted is None or x.shape is None:
        return tensor(x.dtype, None)
    if any(isinstance(size, int) and size < 0 for size in wanted):
        raise ShapeError(f"a size is negative: {wanted}")
    result = broadcast(x.shape, tuple(None if _never_a_size(size) else size for size in wanted))

    return followed(x.dtype, result, lambda: through(expand, cells(x), numbers(shape)))


@expand.lower
def lower(
    x: prim.Tensor,
    shape: prim.Tensor,
    /,
    *,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    """The sizes are those inferred, if it is known which of two is repeated; else a run computes them."""
    known = sizes(facts[1]) or ()
    wanted = tuple(size for size in known if size is not None)
    if len(wanted) < len(known) or None in (broadcast(x.shape, wanted) or ()):
        return _to_computed(in_own_type(x, inferred[0]), _computed(x.shape, shape, read))
    result = sizes_of(inferred[0])
    whole = (*(1,) * (len(result) - len(wanted)), *wanted)
    asked = tuple(one if size == 1 else size for size, one in zip(whole, result, strict=True))
    return prim.assume_shape(prim.expand(in_own_type(x, inferred[0]), asked), result)


def _to_computed(x: prim.Tensor, computed: prim.Sizes) -> prim.Tensor:
    """`x` with computed sizes, those that are known in their place: a guard compares the two."""
    padded = (*(1,) * (len(computed) - x.rank), *x.shape)
    known = tuple(a if isinstance(a, int) and a != 1 else b for a, b in zip(padded, computed, strict=True))
    return prim.assume_shape(prim.assume_shape(prim.expand(x, known), computed), known)


def _computed(have: prim.Sizes, shape: prim.Tensor, read: SizeReader) -> prim.Sizes:
    """The sizes that a tensor and a computed shape broadcast to."""
    wanted, many = numbers_in(shape)
    rank = max(len(have), many)
    wanted = prim.concat([prim.full(1, (rank - many,), DType.INT64), wanted], 0) if rank > many else wanted
    padded = (*(1,) * (rank - len(have)), *have)
    own, one = holding(padded), prim.apply("equal", wanted, 1)
    fits = prim.apply("or", one, prim.apply("or", prim.apply("equal", own, 1), prim.apply("equal", own, wanted)))
    return read(prim.where(fits, prim.where(one, own, wanted), -1))


@expand.downgrade
def downgrade(op: Any, x: Value, shape: Value, /, *, version: int) -> Any:
    """A Tile: each axis of one element is repeated as often as is wanted, the others once."""
    if version >= expand.since[0]:
        raise UnsupportedError("it does not take this element type")
    wanted = shape_of(shape)[0]
    if not isinstance(wanted, int):
        raise UnsupportedError(f"how many axes '{shape.name}' asks for is not known")
    known = shape_of(x)
    lacking = wanted - len(known)
    repeats: Any = shape
    if lacking < 0:
        repeats = op.Concat(np.ones(-lacking, np.int64), shape, axis=0)
    widened = op.Unsqueeze(x, axes=list(range(lacking))) if lacking > 0 else x
    if not known:
        return op.Tile(widened, repeats) if wanted else op.Identity(x)
    padded = (1,) * max(lacking, 0) + known
    if all(isinstance(dim, int) for dim in padded):
        single: Any = np.array([dim == 1 for dim in padded], np.int64)
    else:
        single = op.Cast(op.Equal(op.Shape(widened), np.ones(1, np.int64)), to=int(DType.INT64))
    return op.Tile(widened, op.Add(op.Mul(repeats, single), op.Sub(np.ones(1, np.int64), single)))


def _never_a_size(dim: object) -> bool:
    return isinstance(dim, Expr) and (upper_bound(dim) or 0) < 0
