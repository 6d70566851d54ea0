"""Pieces of source: numbers, tuples, lists of sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ingot.convert.to_torch.operand import Operand, Size
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_LARGEST = float(np.finfo(np.float32).max)


def number(value: Any) -> str:
    """A number as Python writes it, whatever it is: those that are not finite too."""
    if isinstance(value, bool | np.bool_):
        return repr(bool(value))
    if isinstance(value, int | np.integer):
        return repr(int(value))
    if isinstance(value, complex | np.complexfloating):
        return f"complex({number(value.real)}, {number(value.imag)})"
    real = float(value)
    if math.isfinite(real):
        return repr(real)
    return f'float("{real}")'


def number_of(value: Any, dtype: DType) -> str:
    """An element of a tensor as Python writes it: with the fewest digits that identify it in that type."""
    if dtype is DType.FLOAT32 and np.isfinite(value):
        shown = float(str(np.float32(value)))
        return number(shown if abs(shown) <= _LARGEST else float(value))
    if dtype.is_float:
        return number(float(value))
    if dtype.is_integer:
        return number(int(value))
    return number(value)


def short(value: float) -> str:
    """A number of an attribute, which is a float32: with the fewest digits that identify it."""
    return number_of(value, DType.FLOAT32)


def tupled(items: Iterable[object]) -> str:
    """`(a, b)`, with the comma that one alone needs."""
    texts = [str(item) for item in items]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def listed(items: Iterable[object]) -> str:
    """`[a, b]`."""
    return f"[{', '.join(str(item) for item in items)}]"


def ints(operand: Operand) -> str:
    """An expression of a list of Python's integers: literal where they are known, read from the tensor where not."""
    if operand.whole is not None:
        return operand.whole
    if operand.sizes is not None:
        return tupled(operand.sizes)
    return f"{operand}.tolist()"


def integer(operand: Operand) -> str:
    """An expression of one of Python's integers, from a tensor with one element."""
    if operand.sizes is not None and len(operand.sizes) == 1:
        return operand.sizes[0].text
    return f"int({operand})"


def known(operand: Operand | None, what: str) -> list[int]:
    """The integers of an operand; UnsupportedError if they are not known before the module runs."""
    if operand is None or (numbers := operand.numbers) is None:
        raise UnsupportedError(f"its {what} are computed, and the source needs to know them")
    return numbers


def scalar(operand: Operand, rank: int | None = None) -> str:
    """A number of Python where the operand is one that leaves an operand of `rank` its shape; else the tensor."""
    fits = rank is None or (operand.rank is not None and operand.rank <= rank)
    if operand.literal is not None and fits:
        return f"({operand.literal})" if operand.literal.startswith("-") else operand.literal
    return str(operand)


def nested(array: Any, dtype: DType) -> str:
    """An array as nested lists."""
    if array.ndim == 0:
        return number_of(array[()], dtype)
    return listed(nested(part, dtype) for part in array)


def rank_of(operand: Operand, what: str = "its input") -> int:
    """The number of axes; UnsupportedError where it is statically unknown."""
    if operand.rank is None:
        raise UnsupportedError(f"the number of axes of {what} is not known")
    return operand.rank


def axis_in(axis: int, rank: int) -> int:
    """An axis counted from the first."""
    return axis + rank if axis < 0 else axis


def total(sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    numbers = [size.number for size in sizes if size.number is not None]
    if len(numbers) == len(sizes):
        return Size.of(math.prod(numbers))
    return Size(" * ".join(size.atom for size in sizes), all(size.natural for size in sizes))
