"""Values as Python literals. What a model's texts say never becomes code: they are quoted, in ASCII."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.tensor import Tensor
from ingot.source.layout import Expression, Group

INLINE_ITEMS = 16
"""A list or array of at most so many items is written where it is used; a longer one is in the file of weights."""

INLINE_LETTERS = 80
"""And of at most so many letters."""


def quoted(text: str | bytes) -> str:
    """A string literal of `text`: in double quotes, unless that takes more escapes."""
    literal = ascii(text) if isinstance(text, str) else repr(text)
    head, body = (literal[0], literal[2:-1]) if literal[0] == "b" else ("", literal[1:-1])
    if literal[-1] == "'" and '"' not in body:
        return f'{head}"{body}"'
    return literal


def float32(number: float) -> str:
    """The shortest literal that rounds to the float32 nearest to `number`."""
    with np.errstate(over="ignore"):
        return number_literal(np.float32(number))


def number_literal(number: Any) -> str:
    """A literal of one element of an array, which gives it back in its own type."""
    if isinstance(number, bool | np.bool_ | int):
        return str(number)
    if isinstance(number, np.integer):
        return str(int(number))
    if isinstance(number, complex | np.complexfloating):
        return f"complex({number_literal(number.real)}, {number_literal(number.imag)})"
    if isinstance(number, np.floating) and number.dtype.itemsize < 8:
        text = str(number)
    else:
        text = repr(float(number))
    if not math.isfinite(float(number)):
        return f'float("{text}")'
    return text.replace("e+", "e") if any(letter in text for letter in ".en") else f"{text}.0"


def items(values: tuple[Any, ...]) -> list[Expression]:
    return [quoted(value) if isinstance(value, str | bytes) else number_literal(value) for value in values]


def nested(array: Any) -> Expression:
    """An array, or a list of strings in lists, as lists of literals."""
    if isinstance(array, list) or (isinstance(array, np.ndarray) and array.ndim):
        return Group("[", tuple(nested(row) for row in array), "]")
    element = array[()] if isinstance(array, np.ndarray) else array
    if isinstance(element, str | bytes):
        return quoted(element)
    return number_literal(element)


def elements(tensor: Tensor) -> Expression | None:
    """The elements of a small tensor as literals, from which numpy makes the same bits; None where it would not."""
    if not _is_small(tensor):
        return None
    if tensor.dtype is DType.STRING:
        array = np.array([_text(item) for item in tensor.strings()], np.object_).reshape(tensor.shape)
        literal = nested(array)
        return literal if _letters(literal) <= INLINE_LETTERS else None
    literal = nested(_plain(tensor.numpy(), tensor.dtype))
    if _letters(literal) > INLINE_LETTERS or not _gives_back(tensor):
        return None
    return literal


def numpy_name(dtype: DType) -> str:
    """How a program names an element type that numpy has; the name of ml_dtypes' type where it has it not."""
    return f"np.{dtype.numpy.name}" if is_of_numpy(dtype) else f"ml_dtypes.{dtype.numpy.name}"


def is_of_numpy(dtype: DType) -> bool:
    return dtype.numpy.kind != "V" and dtype.numpy.type.__module__ == "numpy"


def _is_small(tensor: Tensor) -> bool:
    if len(tensor.shape) > 4 or tensor.size > INLINE_ITEMS:
        return False
    return bool(tensor.size) or len(tensor.shape) == 1


def _plain(array: Array, dtype: DType) -> Array:
    return array if is_of_numpy(dtype) else array.astype(np.int64 if dtype.is_integer else np.float32)


def _gives_back(tensor: Tensor) -> bool:
    """Whether Python's numbers, as literals show them, become the same bits."""
    array = tensor.numpy()
    numbers = _plain(array, tensor.dtype)
    if numbers.dtype.kind == "c":
        again = np.asarray(numbers.tolist(), tensor.dtype.numpy)
    elif numbers.dtype.kind == "f":
        texts = [float(number_literal(number)) if math.isfinite(number) else float(number) for number in numbers.flat]
        again = np.asarray(texts, np.float64).reshape(array.shape).astype(tensor.dtype.numpy)
    else:
        again = np.asarray(numbers.tolist()).reshape(array.shape).astype(tensor.dtype.numpy)
    return again.tobytes() == array.tobytes()


def _text(item: bytes) -> str | bytes:
    try:
        return item.decode()
    except UnicodeDecodeError:
        return item


def _letters(expression: Expression) -> int:
    if isinstance(expression, str):
        return len(expression)
    return len(expression.before) + len(expression.after) + sum(_letters(item) + 2 for item in expression.items)


def plain(attribute: Attribute) -> str | None:
    """The literal of an attribute that is one number or string, the same in every style; None for others."""
    value: Any = attribute.value
    match attribute.kind:
        case AttributeKind.INT:
            return str(value)
        case AttributeKind.FLOAT:
            return float32(value)
        case AttributeKind.STRING:
            return quoted(value)
    return None
