"""Codes that are dequantised where they are computed: what was rounded, without a way there and back through bytes."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dtypes import DType
from ingot.loops.ir import Apply, Literal, Scalar
from ingot.prim.functions import ROUNDINGS


def applied(dtype: DType, function: str, arguments: Sequence[Scalar]) -> Scalar:
    """A function of scalars; of `float32(uint8(int32(x) + zero)) - zero`, where `x` is rounded within a byte, `x + 0`.

    The sum takes the sign from a zero, as the codes would; after a product with a positive number it does so too.
    """
    match function, tuple(arguments):
        case "subtract", (Apply(function="cast") as codes, Literal() as point) if dtype is DType.FLOAT32:
            steps = _steps(codes)
            if steps is not None and steps[1] == point.value:
                return steps[0]
        case "cast", (Apply() as byte,) if dtype is DType.FLOAT32:
            steps = _steps(Apply(dtype, "cast", (byte,)))
            if steps is not None and steps[1] == 0:
                return steps[0]
        case "multiply", (Apply(function="add", arguments=(near, Literal(value=0.0) as zero)), Literal() as scale) if (
            _is_rounded(near) and scale.value > 0
        ):
            return Apply(dtype, "add", (Apply(dtype, function, (near, scale)), zero))
    return Apply(dtype, function, tuple(arguments))


def _steps(codes: Apply) -> tuple[Scalar, int] | None:
    """What the floats of a byte were rounded from, and the zero point that was added; None if it is not known."""
    (byte,) = codes.arguments
    if not isinstance(byte, Apply) or byte.function != "cast" or byte.dtype not in (DType.INT8, DType.UINT8):
        return None
    whole, zero = byte.arguments[0], 0
    if isinstance(whole, Apply) and whole.function == "add":
        whole, point = whole.arguments
        if not isinstance(point, Literal):
            return None
        zero = int(point.value)
    if not isinstance(whole, Apply) or whole.function != "cast" or whole.dtype is not DType.INT32:
        return None
    (near,) = whole.arguments
    if _is_rounded(near):
        return Apply(DType.FLOAT32, "add", (near, Literal(DType.FLOAT32, 0.0))), zero
    return None


def _is_rounded(x: Scalar) -> bool:
    return isinstance(x, Apply) and x.function in ROUNDINGS and x.dtype is DType.FLOAT32
