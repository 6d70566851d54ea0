"""Tensors made of nothing: filled, counted, random."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.sizes import Extent, Size, as_vector
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.tensor import Tensor

_SMALL = 64
"""Elements up to which a filled tensor is a constant."""


@rule("aten.full.default")
def full(site: Site, sizes: Sequence[Extent], value: Any, **_: Any) -> Any:
    return filled(sizes, value, site.dtype)


@rule("aten.zeros.default", "aten.empty.memory_format", "aten.empty_permuted.default", "aten.empty_strided.default")
def zeros(site: Site, sizes: Sequence[Extent], *_: Any, **__: Any) -> Any:
    """Zeros; also for a tensor whose contents torch leaves open."""
    return filled(sizes, 0, site.dtype)


@rule("aten.ones.default")
def ones(site: Site, sizes: Sequence[Extent], **_: Any) -> Any:
    return filled(sizes, 1, site.dtype)


@rule("aten.new_zeros.default", "aten.new_empty.default")
def new_zeros(site: Site, x: Var, sizes: Sequence[Extent], **_: Any) -> Any:
    return filled(sizes, 0, site.dtype)


@rule("aten.new_ones.default")
def new_ones(site: Site, x: Var, sizes: Sequence[Extent], **_: Any) -> Any:
    return filled(sizes, 1, site.dtype)


@rule("aten.new_full.default")
def new_full(site: Site, x: Var, sizes: Sequence[Extent], value: Any, **_: Any) -> Any:
    return filled(sizes, value, site.dtype)


@rule("aten.full_like.default", "aten.fill.Scalar", "aten.fill.Tensor")
def full_like(site: Site, x: Var, value: Any, **_: Any) -> Any:
    return _like(site, x, value)


@rule("aten.zeros_like.default", "aten.empty_like.default")
def zeros_like(site: Site, x: Var, **_: Any) -> Any:
    return _like(site, x, 0)


@rule("aten.ones_like.default")
def ones_like(site: Site, x: Var, **_: Any) -> Any:
    return _like(site, x, 1)


@rule("aten.copy.default")
def copy(site: Site, x: Var, source: Var, *_: Any) -> Var:
    return op.Expand(cast(source, site.dtype), op.Shape(x))


@rule("aten.scalar_tensor.default")
def scalar_tensor(site: Site, value: Any, **_: Any) -> Any:
    return operand(value, site.dtype)


@rule("aten.arange.start_step", "aten.arange.start", "aten.arange.default")
def arange(site: Site, *limits: Any, **_: Any) -> Any:
    start, end, step = {1: (0, *limits, 1), 2: (*limits, 1), 3: limits}[len(limits)]
    dtype = site.dtype
    known = all(isinstance(limit, int | float) for limit in (start, end, step))
    count = site.result.shape[0]
    if known and isinstance(count, int):
        if dtype.is_integer:
            start, step = int(start), int(step)  # torch counts in the type of the result
        wide = np.int64 if dtype.is_integer else np.float64
        return (start + np.arange(count).astype(wide) * step).astype(dtype.numpy)
    exact = DType.INT64 if all(not isinstance(limit, float) for limit in (start, end, step)) else dtype
    values = op.Range(operand(start, exact), operand(end, exact), operand(step, exact))
    return cast(values, dtype)


@rule(
    "aten.linspace.default", "aten.linspace.Tensor_Tensor", "aten.linspace.Tensor_Scalar",
    "aten.linspace.Scalar_Tensor",
)  # fmt: skip
def linspace(site: Site, start: Any, end: Any, steps: int, **_: Any) -> Any:
    """Counted from the start in the first half, from the end in the second, as torch does."""
    dtype = site.dtype
    wide = dtype if dtype.is_float else DType.FLOAT64
    first, last = (cast(op.Identity(operand(limit, dtype)), wide) for limit in (start, end))
    if steps < 2:
        return op.Expand(cast(first, dtype), [steps])
    step = op.Div(op.Sub(last, first), number(steps - 1, wide))
    places = np.arange(steps)
    up = op.Add(first, op.Mul(step, places.astype(wide.numpy)))
    down = op.Sub(last, op.Mul(step, places[::-1].astype(wide.numpy)))
    return cast(op.Where(places < steps // 2, up, down), dtype)


@rule("aten.eye.default", "aten.eye.m")
def eye(site: Site, rows: Extent, columns: Extent | None = None, **_: Any) -> Any:
    columns = rows if columns is None else columns
    if isinstance(rows, int) and isinstance(columns, int):
        return np.eye(rows, columns, dtype=site.dtype.numpy)
    return op.EyeLike(filled([rows, columns], 0, DType.FLOAT32), dtype=int(site.dtype))


@rule("aten.tril.default")
def tril(site: Site, x: Var, diagonal: int = 0) -> Var:
    return _triangle(site, x, diagonal, upper=0)


@rule("aten.triu.default")
def triu(site: Site, x: Var, diagonal: int = 0) -> Var:
    return _triangle(site, x, diagonal, upper=1)


@rule("aten.rand.default")
def rand(site: Site, sizes: Sequence[Extent], **_: Any) -> Var:
    return op.RandomUniformLike(filled(sizes, 0, site.dtype), dtype=int(site.dtype))


@rule("aten.randn.default")
def randn(site: Site, sizes: Sequence[Extent], **_: Any) -> Var:
    return op.RandomNormalLike(filled(sizes, 0, site.dtype), dtype=int(site.dtype))


@rule("aten.rand_like.default")
def rand_like(site: Site, x: Var, **_: Any) -> Var:
    return op.RandomUniformLike(x, dtype=int(site.dtype))


@rule("aten.randn_like.default")
def randn_like(site: Site, x: Var, **_: Any) -> Var:
    return op.RandomNormalLike(x, dtype=int(site.dtype))


@rule("aten.randperm.default")
def randperm(site: Site, count: Extent, **_: Any) -> Var:
    """An order drawn at random: that of random numbers."""
    drawn = op.RandomUniformLike(filled([count], 0, DType.FLOAT32), dtype=int(DType.FLOAT32))
    ordered = op.TopK(drawn, op.Shape(drawn), outputs=2)
    return cast(ordered[1], site.dtype)


@rule("aten.randint.low", "aten.randint.default")
def randint(site: Site, *args: Any, **_: Any) -> Var:
    low, high, sizes = (0, *args) if len(args) == 2 else args
    drawn: Var = op.RandomUniformLike(
        filled(sizes, 0, DType.FLOAT32), dtype=int(DType.FLOAT32), low=float(low), high=float(high)
    )
    return cast(op.Min(op.Floor(drawn), number(high - 1, DType.FLOAT32)), site.dtype)


@rule("aten.bernoulli.default")
def bernoulli(site: Site, x: Var, **_: Any) -> Var:
    return op.Bernoulli(x)


@rule("aten.multinomial.default")
def multinomial(site: Site, x: Var, count: int, replacement: bool = False, **_: Any) -> Var:
    if not replacement and count > 1:
        raise UnsupportedError("multinomial without replacement")
    rows = x if rank(x) == 2 else op.Unsqueeze(x, [0])
    drawn = op.Multinomial(op.Log(rows), sample_size=count, dtype=int(site.dtype))
    return drawn if rank(x) == 2 else op.Squeeze(drawn, [0])


def filled(sizes: Sequence[Extent], value: Any, dtype: DType) -> Any:
    """A tensor of one value: a constant of these sizes, or one expanded to them."""
    plain = not isinstance(value, Var | Size)
    known = [size for size in sizes if isinstance(size, int)]
    if plain and len(known) == len(sizes) and prod(known) <= _SMALL:
        return np.full(known, number(value, dtype), dtype.numpy)
    if plain:
        return op.ConstantOfShape(as_vector(sizes), value=_tensor(value, dtype))
    return op.Expand(operand(value, dtype), as_vector(sizes))


def _tensor(value: Any, dtype: DType) -> Any:
    return Tensor(np.asarray(number(value, dtype)).reshape(1), name="value")


def _like(site: Site, x: Var, value: Any) -> Any:
    shape = site.result.shape
    if all(isinstance(size, int) for size in shape):
        return filled(list(shape), value, site.dtype)
    return op.Expand(operand(value, site.dtype), op.Shape(x))


def _triangle(site: Site, x: Var, diagonal: int, *, upper: int) -> Var:
    offset = np.array(diagonal, np.int64)
    if site.dtype is DType.BOOL:
        return cast(op.Trilu(cast(x, DType.UINT8), offset, upper=upper), DType.BOOL)
    return op.Trilu(x, offset, upper=upper)
