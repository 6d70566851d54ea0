"""What is known of a value before a model runs: its type, and for small integer tensors what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ir.tensor import Tensor
from ingot.ir.types import Shape, SparseTensorType, TensorType, Type

MOST_ELEMENTS = 256
"""Integer tensors of up to this many elements are followed element by element."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One value: its type, its elements in C order (each a size, or None where unknown), its constant."""

    type: Type | None = None
    elements: tuple[Dim | None, ...] | None = None
    constant: Tensor | None = None
    present: bool = True
    """False stands for an optional input that the node omits."""

    @property
    def dtype(self) -> DType | None:
        """The element type of a tensor; None for anything else, and where it is unknown."""
        if isinstance(self.type, TensorType | SparseTensorType) and self.type.dtype is not DType.UNDEFINED:
            return self.type.dtype
        return None

    @property
    def shape(self) -> Shape | None:
        return self.type.shape if isinstance(self.type, TensorType | SparseTensorType) else None

    @property
    def rank(self) -> int | None:
        shape = self.shape
        return None if shape is None else len(shape)

    @property
    def integers(self) -> list[int] | None:
        """The elements, where every one is known to be a plain integer."""
        if self.elements is None or not all(isinstance(element, int) for element in self.elements):
            return None
        return [element for element in self.elements if isinstance(element, int)]

    def with_type(self, type_: Type) -> Fact:
        """The same of a value whose type is another, or known better."""
        return Fact(type_, self.elements, self.constant, self.present)

    def __str__(self) -> str:
        return str(self.type or "?")


Inferred: TypeAlias = "Fact | Type | None"
"""The result of an inference rule for one output: a type, a fact, or None (unknown)."""


def of_constant(tensor: Tensor) -> Fact:
    """What is known of a constant: everything."""
    elements = None
    if tensor.dtype.is_integer and tensor.size <= MOST_ELEMENTS and tensor.external is None and len(tensor.shape) < 2:
        elements = tuple(int(element) for element in tensor.numpy().reshape(-1).tolist())
    return Fact(tensor.type, elements, tensor)


def integers(dtype: DType, shape: Shape, elements: Sequence[Dim | None]) -> Fact:
    """An integer tensor whose elements are, as far as they are given, known."""
    return Fact(TensorType(dtype, shape), tuple(elements))
