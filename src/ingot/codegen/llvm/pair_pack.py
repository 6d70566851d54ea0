"""Panels of bfloat16: two terms of a column side by side, as one float32."""

from __future__ import annotations

import numpy as np

from ingot.codegen.llvm.byte_pack import in_matrices, loops_around, moved_load, padded_columns, zero_rows
from ingot.dtypes import Array, DType
from ingot.loops.ir import (
    Apply,
    Buffer,
    Contraction,
    For,
    Index,
    Inside,
    Kind,
    Literal,
    Load,
    PairDot,
    Scalar,
    Statement,
    Store,
    Var,
)


def pair_panels(panels: Array, dot: PairDot, inner: int) -> Array:
    """Panels [batch, panel, k, column] of bfloat16, as pairs: [batch, panel, row, column] of float32s.

    `inner` is the length of the innermost axis of `k`, each of which begins with a pair of its own.
    """
    batch, count, depth, columns = panels.shape
    pairs = -(-inner // 2)
    outer = depth // inner if inner else 0
    terms = np.zeros((batch, count, outer, pairs * 2, columns), np.uint16)
    terms[:, :, :, :inner] = panels.view(np.uint16).reshape(batch, count, outer, inner, columns)
    split = terms.reshape(batch, count, outer * pairs, 2, columns)
    return in_matrices(np.ascontiguousarray(split.swapaxes(3, 4)).view(np.float32)[..., 0], dot.units)


def pack_pairs(product: Contraction, buffer: Buffer, first: Var, place: Var, number: Var) -> tuple[Statement, ...]:
    """The statements that pack panel `number`, the columns from `first` on, into a buffer; `place` is one of them."""
    tile = product.tile
    assert tile is not None
    assert isinstance(tile.dot, PairDot)
    *outer, inner = product.k
    pair = Var("pair", -(-inner.extent // 2))
    target = Index(((number, product.depth * tile.columns), (place, 1), (pair, tile.columns)))
    step = pair.extent * tile.columns
    for var in reversed(outer):
        target = target + Index(((var, step),))
        step = step * var.extent
    stores: list[Statement] = []
    for group in range(product.groups):
        own = group * (tile.columns // product.groups)
        value = paired(padded_columns(product, first, place, group), inner, pair, tile.dot)
        stores.append(For(place, (Store(buffer, target.plus(own), value),), Kind.VECTOR))
    return (*loops_around((*outer, pair), stores), *zero_rows(product, buffer, number))


def paired(source: Load, inner: Var, pair: Var, dot: PairDot) -> Scalar:
    """Two terms along `inner`, the first in the lower bits, a zero past the last: a float32."""
    bits = []
    for term in range(2):
        at = Index(((pair, 2),), term)
        load = moved_load(source, inner, at)
        if dot.rest and term:
            load = Load(load.dtype, load.buffer, load.index, (*load.where, Inside(at, inner.extent)), 0)
        bits.append(Apply(DType.INT32, "cast", (Apply(DType.UINT16, "bitcast", (load,)),)))
    low, high = bits
    high = Apply(DType.INT32, "shift_left", (high, Literal(DType.INT32, 16)))
    return Apply(DType.FLOAT32, "bitcast", (Apply(DType.INT32, "add", (low, high)),))
