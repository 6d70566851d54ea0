"""Types of values: tensors with symbolic shapes, and sequences, maps, optionals and sparse tensors of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.dims import Dim, Expr
from ingot.dtypes import DType

Shape: TypeAlias = tuple["Dim | None", ...]
"""A size for each axis: an integer, an expression of named sizes, or None where nothing is known."""


@dataclass(frozen=True, slots=True)
class _Declared:
    """What all types share: a denotation, and the bytes a decoded type came from, kept for a faithful save.

    A type made from another by `dataclasses.replace` is another type: it has no bytes.
    """

    denotation: str = field(default="", kw_only=True)
    source: bytes | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TensorType(_Declared):
    """A dense tensor; `shape` is None where not even the rank is known."""

    dtype: DType
    shape: Shape | None = None
    axis_denotations: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}{_brackets(self.shape)}"


@dataclass(frozen=True, slots=True)
class SparseTensorType(_Declared):
    """A sparse tensor of the given dense shape."""

    dtype: DType
    shape: Shape | None = None
    axis_denotations: tuple[str, ...] = field(default=(), kw_only=True)

    def __str__(self) -> str:
        return f"sparse({self.dtype}{_brackets(self.shape)})"


@dataclass(frozen=True, slots=True)
class SequenceType(_Declared):
    """A list of values of one type; `element` is None where the file leaves it open."""

    element: Type | None

    def __str__(self) -> str:
        return f"sequence({self.element or '?'})"


@dataclass(frozen=True, slots=True)
class MapType(_Declared):
    """A mapping from integers or strings to values of one type."""

    key: DType
    value: Type | None

    def __str__(self) -> str:
        return f"map({self.key}, {self.value or '?'})"


@dataclass(frozen=True, slots=True)
class OptionalType(_Declared):
    """A value of the given type, or nothing."""

    element: Type | None

    def __str__(self) -> str:
        return f"optional({self.element or '?'})"


@dataclass(frozen=True, slots=True)
class OpaqueType(_Declared):
    """A type only its domain understands."""

    domain: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"opaque({self.domain}, {self.name})"


Type: TypeAlias = TensorType | SparseTensorType | SequenceType | MapType | OptionalType | OpaqueType


def map_shapes(type_: Type, change: Callable[[Shape], Shape]) -> Type:
    """`type_` with every shape in it changed; the same object where nothing changed."""
    match type_:
        case TensorType() | SparseTensorType():
            if type_.shape is None or (shape := change(type_.shape)) == type_.shape:
                return type_
            keep = type_.axis_denotations if len(shape) == len(type_.axis_denotations) else ()
            return replace(type_, shape=shape, axis_denotations=keep)
        case SequenceType() | OptionalType():
            if type_.element is None or (element := map_shapes(type_.element, change)) is type_.element:
                return type_
            return replace(type_, element=element)
        case MapType():
            if type_.value is None or (value := map_shapes(type_.value, change)) is type_.value:
                return type_
            return replace(type_, value=value)
        case OpaqueType():
            return type_


def format_shape(shape: Shape | None) -> str:
    """`batch, 4, ?`: the sizes as messages show them; `...` for an unknown rank."""
    if shape is None:
        return "..."
    return ", ".join("?" if dim is None else str(dim) for dim in shape)


def is_static(shape: Shape | None) -> bool:
    """Whether every size is a plain integer."""
    return shape is not None and not any(dim is None or isinstance(dim, Expr) for dim in shape)


def _brackets(shape: Shape | None) -> str:
    return f"[{format_shape(shape)}]"
