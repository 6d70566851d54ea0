"""Operands: the text for values of the model in the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ingot.dtypes import DType
from ingot.ir.tensor import Tensor
from ingot.ir.types import Shape, TensorType, Type


@dataclass(frozen=True, slots=True)
class Size:
    """One number that Python itself holds: an integer or a truth, known now or when the module runs."""

    text: str
    natural: bool = False
    """Whether it cannot be negative."""
    number: int | None = None

    @classmethod
    def of(cls, number: int, dtype: DType = DType.INT64) -> Size:
        """A number known now."""
        return cls(repr(bool(number)) if dtype is DType.BOOL else repr(int(number)), number >= 0, int(number))

    def __str__(self) -> str:
        return self.text

    @property
    def atom(self) -> str:
        """The same, fit to stand beside any operator."""
        plain = self.number is not None and self.number >= 0
        simple = all(letter.isalnum() or letter in "_.[]()" for letter in self.text)
        return self.text if plain or simple else f"({self.text})"


class Operand:
    """A value: a tensor by its text, and where Python holds its numbers, these.

    `str` gives an expression of a tensor (a list for a sequence). `sizes` are the elements of an integer tensor of at
    most one axis, in Python's own integers: shapes are followed with them, as people write them.
    """

    __slots__ = ("_text", "constant", "literal", "name", "sizes", "transposed", "type", "whole")

    def __init__(
        self,
        text: str | Callable[[], str],
        type: Type | None,
        *,
        sizes: Sequence[Size] | None = None,
        constant: Tensor | None = None,
        literal: str | None = None,
        transposed: str | None = None,
        whole: str | None = None,
        name: str = "",
    ) -> None:
        self._text = text
        self.type = type
        self.sizes = None if sizes is None else tuple(sizes)
        self.constant = constant
        self.literal = literal
        """The equal number of Python, of a constant with one element that is nobody's to train."""
        self.transposed = transposed
        """Text of the matrix that this one is the transpose of."""
        self.whole = whole
        """One expression for all sizes, where there is one: the shape of a tensor."""
        self.name = name

    def __str__(self) -> str:
        if isinstance(self._text, str):
            return self._text
        self._text = self._text()
        return self._text

    @property
    def dtype(self) -> DType | None:
        return self.type.dtype if isinstance(self.type, TensorType) else None

    @property
    def shape(self) -> Shape | None:
        return self.type.shape if isinstance(self.type, TensorType) else None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_integer(self) -> bool:
        return self.dtype is not None and self.dtype.is_integer

    @property
    def numbers(self) -> list[int] | None:
        """The elements where all are known now."""
        if self.sizes is None or any(size.number is None for size in self.sizes):
            return None
        return [size.number for size in self.sizes if size.number is not None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a rule returns for a tensor that Python's integers hold: one number, or a list."""

    elements: tuple[Size, ...]
    is_scalar: bool = False
    whole: str | None = None
