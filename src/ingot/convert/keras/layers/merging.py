"""Layers that put several tensors together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion
from ingot.convert.keras.layers.normalisation import to_length_one
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank
from ingot.dtypes import DType


@rule("Add")
def added(c: Conversion, layer: Any, xs: Sequence[Var]) -> Var:
    return _folded(lambda a, b: a + b, _same_rank(c, xs))


@rule("Average")
def averaged(c: Conversion, layer: Any, xs: Sequence[Var]) -> Var:
    total = _folded(lambda a, b: a + b, _same_rank(c, xs))
    return total / c.number(len(xs), total)


@rule("Subtract")
def subtracted(c: Conversion, layer: Any, xs: Sequence[Var]) -> Var:
    one, other = _same_rank(c, xs)
    return one - other


@rule("Multiply")
def multiplied(c: Conversion, layer: Any, xs: Sequence[Var]) -> Var:
    """The product; a step that a mask leaves out multiplies nothing."""
    return _masked(c, lambda a, b: a * b, _same_rank(c, xs))


@rule("Maximum")
def largest(c: Conversion, layer: Any, xs: Sequence[Var]) -> Var:
    return _masked(c, op.Max, _same_rank(c, xs))


@rule("Minimum")
def smallest(c: Conversion, layer: Any, xs: Sequence[Var]) -> Var:
    return _masked(c, op.Min, _same_rank(c, xs))


@rule("Concatenate")
def concatenated(c: Conversion, layer: Any, xs: Sequence[Var]) -> Var:
    return op.Concat(*xs, axis=layer.axis)


@rule("Dot")
def dot(c: Conversion, layer: Any, xs: Sequence[Var]) -> Var:
    """Products along one axis of each, for each row."""
    x, y = xs
    axes = [layer.axes] * 2 if isinstance(layer.axes, int) else list(layer.axes)
    a, b = (axis % rank(each) for axis, each in zip(axes, (x, y), strict=True))
    if layer.normalize:
        x, y = to_length_one(c, x, a, 2, 1e-12), to_length_one(c, y, b, 2, 1e-12)
    letters = "abcdefghijklmnopqrstuvw"
    left = ["z", *letters[: rank(x) - 1]]
    right = ["z", *letters[rank(x) - 1 : rank(x) + rank(y) - 2]]
    left[a] = right[b] = "y"
    result = [axis for axis in [*left, *right[1:]] if axis != "y"]
    product = op.Einsum(x, y, equation=f"{''.join(left)},{''.join(right)}->{''.join(result)}")
    return op.Unsqueeze(product, [1]) if len(result) == 1 else product


def _same_rank(c: Conversion, xs: Sequence[Var]) -> list[Var]:
    """Tensors with as many axes as the one that has most; new ones come after the batch."""
    most = max(rank(x) for x in xs)
    lifted_all = []
    for x in xs:
        lifted = op.Unsqueeze(x, list(range(1, 1 + most - rank(x)))) if rank(x) < most else x
        if lifted is not x:
            c.set_mask(lifted, c.mask(x))
        lifted_all.append(lifted)
    return lifted_all


def _folded(function: Callable[[Var, Var], Var], xs: Sequence[Var]) -> Var:
    total = xs[0]
    for x in xs[1:]:
        total = function(total, x)
    return total


def _masked(c: Conversion, function: Callable[[Var, Var], Var], xs: Sequence[Var]) -> Var:
    """A fold in which what a mask leaves out of one tensor is taken from the other."""
    merged, known = xs[0], _wide(c, xs[0])
    for x in xs[1:]:
        mask = _wide(c, x)
        if mask is not None:
            x = op.Where(mask, x, merged)
        if known is not None:
            merged = op.Where(known, merged, x)
        known = op.Or(known, mask) if known is not None and mask is not None else None
        merged = function(merged, x)
    if known is not None:
        c.set_mask(
            merged, op.Cast(op.ReduceMax(op.Cast(known, to=int(DType.INT32)), [-1], keepdims=0), to=int(DType.BOOL))
        )
    return merged


def _wide(c: Conversion, x: Var) -> Var | None:
    mask = c.mask(x)
    return None if mask is None else op.Unsqueeze(mask, [-1])
