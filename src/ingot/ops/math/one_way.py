"""Broadcasting as versions before 7 had it: of the second operand alone, along axes that follow one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.types import Shape
from ingot.ir.value import Value
from ingot.ops.older import shape_of


def one_way(
    op: Any, a: Value, b: Value, compute: Callable[..., Any], mirrored: Callable[..., Any] | None = None
) -> Any:
    """`compute(a, b)` with the attributes that broadcast one to the other as versions before 7 can.

    `mirrored(b, a)` gives the same with its operands exchanged. Operands that neither fits are repeated to one shape;
    UnsupportedError if their ranks are not known.
    """
    if alike(a, b):
        return compute(a, b)
    for large, small, say in ((a, b, compute), (b, a, mirrored)):
        span = None if say is None else _span(_shape(large), _shape(small))
        if say is not None and span is not None:
            axis, drop = span
            return say(large, op.Squeeze(small, axes=drop) if drop else small, axis=axis, broadcast=1)
    return compute(*stretched(op, a, b))


def alike(*values: Value) -> bool:
    """Whether tensors have one shape, whatever the sizes are when the model runs."""
    shapes = [_shape(value) for value in values]
    if all(value is values[0] for value in values):
        return True
    return shapes[0] is not None and None not in shapes[0] and all(shape == shapes[0] for shape in shapes)


def stretched(op: Any, *values: Value) -> list[Any]:
    """Tensors repeated along axes of one to the shape they broadcast to; UnsupportedError if a rank is not known."""
    shapes = [shape_of(value) for value in values]
    rank = max(map(len, shapes))
    ahead = [rank - len(shape) for shape in shapes]
    sizes = [[1] * (rank - len(shape)) + [size for size in shape if isinstance(size, int)] for shape in shapes]
    if all(len(row) == rank for row in sizes):
        known = np.asarray(sizes, np.int64)
        result = np.where((known == 0).any(0), 0, known.max(0))
        repeats: list[Any] = [np.where(row == 1, result, 1) for row in known]
    else:
        repeats = _repeats_when_it_runs(op, values, ahead, rank)
    return [_repeated(op, *each) for each in zip(values, ahead, repeats, strict=True)]


def _span(large: Shape | None, small: Shape | None) -> tuple[int | None, list[int]] | None:
    """Where the axes of a smaller tensor lie among those of a larger, and which of them, of one, to leave out first.

    None if it is not sure that they are the same sizes, one after another.
    """
    if small == ():
        return None, []
    if large is None or small is None or len(small) > len(large):
        return None
    ahead = len(large) - len(small)
    inner = [axis for axis, size in enumerate(small) if size != 1]
    if not inner:
        return None, []
    core = range(inner[0], inner[-1] + 1)
    if any(small[axis] is None or small[axis] != large[ahead + axis] for axis in core):
        return None
    is_suffix = core.stop == len(small)
    return None if is_suffix else ahead + core.start, [axis for axis in range(len(small)) if axis not in core]


def _repeats_when_it_runs(op: Any, values: tuple[Value, ...], ahead: list[int], rank: int) -> list[Any]:
    ones = np.ones(rank, np.int64)
    sizes = []
    for value, more in zip(values, ahead, strict=True):
        size = op.Shape(value)
        sizes.append(op.Concat(ones[:more], size, axis=0) if more else size)
    single = [op.Cast(op.Equal(size, ones), to=int(DType.INT64)) for size in sizes]
    result = sizes[-1]
    for size, flag in zip(sizes[-2::-1], single[-2::-1], strict=True):
        result = _either(op, flag, result, size)
    return [_either(op, flag, result, ones) for flag in single]


def _either(op: Any, flag: Any, x: Any, y: Any) -> Any:
    """Of integers, `x` where the flag is one, `y` where it is zero."""
    return op.Add(y, op.Mul(flag, op.Sub(x, y)))


def _repeated(op: Any, value: Any, ahead: int, repeats: Any) -> Any:
    if ahead:
        value = op.Unsqueeze(value, axes=list(range(ahead)))
    if isinstance(repeats, np.ndarray) and (repeats == 1).all():
        return value
    return op.Tile(value, repeats)


def _shape(value: Value) -> Shape | None:
    try:
        return shape_of(value)
    except UnsupportedError:
        return None
