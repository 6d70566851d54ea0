"""DepthToSpace and SpaceToDepth: squares of pixels spread from the channels, and gathered into them."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import Since, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import shape_of
from ingot.ops.shapes import require_rank
from ingot.ops.tensor.follow import guarded, tensor
from ingot.ops.tensor.moved import in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, types

T: TypeAlias = Annotated[Array, types("T", {1: ALL_3, 13: ALL})]


@operator("DepthToSpace", since=(1, 11, 13, 28))
def depth_to_space(x: T, /, *, blocksize: int, mode: Annotated[str, Since(11)] = "DCR") -> T:
    """Channels spread into squares of `blocksize` pixels: `b*b*c` channels become `c`, each `b` times as high and wide.

    In mode `DCR` the channels of one place in the square lie together, in `CRD` those of one output channel.
    """
    _check(blocksize, mode)
    if x.ndim != 4:
        raise ShapeError(f"the input has {x.ndim} axes, expected 4")
    n, channels, h, w = x.shape
    b = blocksize
    c = _divided(channels, b * b, "channels")
    if mode == "DCR":
        spread = x.reshape(n, b, b, c, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        spread = x.reshape(n, c, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return np.ascontiguousarray(spread).reshape(n, c, h * b, w * b)


@depth_to_space.infer
def infer_depth_to_space(x: Fact, /, *, blocksize: int, mode: str) -> Inferred:
    _check(blocksize, mode)
    require_rank(x, 4, "the input")
    if x.shape is None:
        return tensor(x.dtype, (None,) * 4)
    n, c, h, w = x.shape
    square = blocksize * blocksize
    return tensor(x.dtype, (n, _quotient(c, square, "channels"), _times(h, blocksize), _times(w, blocksize)))


@depth_to_space.lower
def lower_depth_to_space(x: prim.Tensor, /, *, blocksize: int, mode: str, inferred: tuple[Fact, ...]) -> prim.Tensor:
    n, _, h, w = x.shape
    shape, b = sizes_of(inferred[0]), blocksize
    apart = (n, b, b, shape[1], h, w) if mode == "DCR" else (n, shape[1], b, b, h, w)
    order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
    return prim.reshape(prim.permute(prim.reshape(in_own_type(x, inferred[0]), apart), order), shape)


@depth_to_space.downgrade
def downgrade_depth_to_space(op: Any, x: Value, /, *, blocksize: int, mode: str) -> Any:
    """In mode `CRD`, the channels are put in the order of the other mode first."""
    square = blocksize * blocksize
    return op.DepthToSpace(_reordered(op, x, _channels(x, mode) // square, square, mode), blocksize=blocksize)


@operator("SpaceToDepth", since=(1, 13, 28))
def space_to_depth(x: T, /, *, blocksize: int, mode: Annotated[str, Since(28)] = "DCR") -> T:
    """Squares of `blocksize` pixels gathered into channels: the inverse of DepthToSpace in the same mode."""
    _check(blocksize, mode)
    if x.ndim != 4:
        raise ShapeError(f"the input has {x.ndim} axes, expected 4")
    n, c, height, width = x.shape
    b = blocksize
    h, w = _divided(height, b, "rows"), _divided(width, b, "columns")
    squares = x.reshape(n, c, h, b, w, b)
    gathered = squares.transpose(0, 3, 5, 1, 2, 4) if mode == "DCR" else squares.transpose(0, 1, 3, 5, 2, 4)
    return np.ascontiguousarray(gathered).reshape(n, c * b * b, h, w)


@space_to_depth.infer
def infer_space_to_depth(x: Fact, /, *, blocksize: int, mode: str) -> Inferred:
    _check(blocksize, mode)
    require_rank(x, 4, "the input")
    if x.shape is None:
        return tensor(x.dtype, (None,) * 4)
    n, c, h, w = x.shape
    rows, columns = _quotient(h, blocksize, "rows"), _quotient(w, blocksize, "columns")
    return tensor(x.dtype, (n, _times(c, blocksize * blocksize), rows, columns))


@space_to_depth.lower
def lower_space_to_depth(x: prim.Tensor, /, *, blocksize: int, mode: str, inferred: tuple[Fact, ...]) -> prim.Tensor:
    n, c, *_ = x.shape
    shape, b = sizes_of(inferred[0]), blocksize
    squares = prim.reshape(in_own_type(x, inferred[0]), (n, c, shape[2], b, shape[3], b))
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return prim.reshape(prim.permute(squares, order), shape)


@space_to_depth.downgrade
def downgrade_space_to_depth(op: Any, x: Value, /, *, blocksize: int, mode: str) -> Any:
    channels = _channels(x, mode)
    return _reordered(op, op.SpaceToDepth(x, blocksize=blocksize), blocksize * blocksize, channels, mode)


def _channels(x: Value, mode: str) -> int:
    """The number of channels, to be put in the order of the other mode."""
    if mode == "DCR":
        raise UnsupportedError("it does not take this element type")
    channels = shape_of(x)[1]
    if not isinstance(channels, int):
        raise UnsupportedError(f"mode '{mode}' came later, and how many channels '{x.name}' has is not known")
    return channels


def _reordered(op: Any, x: Any, outer: int, inner: int, mode: str) -> Any:
    """`outer` groups of `inner` channels as `inner` groups of `outer`: the first of each, then the second of each."""
    return op.Gather(x, np.arange(outer * inner, dtype=np.int64).reshape(outer, inner).T.reshape(-1), axis=1)


def _check(blocksize: int, mode: str) -> None:
    if blocksize < 1:
        raise CheckError(f"blocksize is {blocksize}, which is not positive")
    if mode not in ("DCR", "CRD"):
        raise CheckError(f"mode is '{mode}', expected 'DCR' or 'CRD'")


def _divided(size: int, by: int, what: str) -> int:
    if size % by:
        raise ShapeError(f"{size} {what} are not a multiple of {by}")
    return size // by


def _quotient(size: Dim | None, by: int, what: str) -> Dim | None:
    if size is None:
        return None
    return _divided(size, by, what) if isinstance(size, int) else guarded(lambda: size // by)


def _times(size: Dim | None, by: int) -> Dim | None:
    return None if size is None else guarded(lambda: size * by)
