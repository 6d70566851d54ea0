"""Types as annotations: `Float32["batch", 4]`, `Sequence[Int64]`; each subscript gives a type of the graph IR."""

from __future__ import annotations

from operator import index
from types import EllipsisType

from ingot.builder.location import failure
from ingot.dims import Dim, Expr, parse
from ingot.dtypes import DType
from ingot.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)

_TYPES = (TensorType, SparseTensorType, SequenceType, MapType, OptionalType, OpaqueType)


class Element:
    """An element type to annotate with: alone, or subscripted with `...`, a tensor of unknown rank.

    Subscripts are sizes: an integer, a name or an expression of names in a string, None where nothing is known.
    `Float32[()]` is a scalar.
    """

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype)

    def __getitem__(self, sizes: object) -> TensorType:
        if isinstance(sizes, EllipsisType):
            return self.type
        return TensorType(self.dtype, _shape(sizes if isinstance(sizes, tuple) else (sizes,)))

    def __repr__(self) -> str:
        return f"<{self.dtype}>"


class Constructor:
    """A type made of another: `Sequence[...]`, `Optional[...]`, `Sparse[...]`."""

    __slots__ = ("_constructor", "_name")

    def __init__(self, name: str, constructor: type[SequenceType | OptionalType | SparseTensorType]) -> None:
        self._name = name
        self._constructor = constructor

    def __getitem__(self, element: object) -> Type:
        inner = _inner(element, self._name)
        if self._constructor is not SparseTensorType:
            return self._constructor(inner)  # type: ignore[arg-type]
        if not isinstance(inner, TensorType):
            raise failure(f"a sparse tensor of {inner}", hint="its element is a tensor: Sparse[Float32[100, 100]]")
        return SparseTensorType(inner.dtype, inner.shape)

    def __repr__(self) -> str:
        return f"<{self._name}>"


class MapConstructor:
    """`Map[key, value]`: the key an element type, the value any type."""

    __slots__ = ()

    def __getitem__(self, pair: object) -> MapType:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], Element):
            raise failure("a map has a key and a value", hint="as in Map[Int64, Float32]")
        return MapType(pair[0].dtype, _inner(pair[1], "Map"))

    def __repr__(self) -> str:
        return "<Map>"


def as_type(annotation: object) -> Type | None:
    """The type an annotation stands for; None if it stands for none."""
    if isinstance(annotation, Element):
        return annotation.type
    if isinstance(annotation, DType):
        return TensorType(annotation)
    return annotation if isinstance(annotation, _TYPES) else None


def _inner(annotation: object, name: str) -> Type:
    type_ = as_type(annotation)
    if type_ is None:
        raise failure(f"{name} of {annotation!r}, which is no type", hint=f'as in {name}[Float32["n"]]')
    return type_


def _shape(sizes: tuple[object, ...]) -> Shape:
    return tuple(_size(size) for size in sizes)


def _size(size: object) -> Dim | None:
    if size is None or isinstance(size, Expr):
        return size
    if isinstance(size, str):
        try:
            return parse(size)
        except ValueError as error:
            raise failure(str(error), hint="put a name that is no identifier in backticks") from None
    if hasattr(size, "__index__") and not isinstance(size, bool):
        number = index(size)
        if number >= 0:
            return number
        raise failure(f"a size of {number}", hint="None stands for a size that is not known")
    if isinstance(size, EllipsisType):
        raise failure("'...' beside sizes: a type has a known rank or none", hint="write Float32[...] or each size")
    hint = "spread it: Float32[*shape]; a scalar is Float32[()]" if isinstance(size, list) else None
    raise failure(f"{size!r} is not a size", hint=hint or "an integer, a string, or None")


Float32 = Element(DType.FLOAT32)
Float64 = Element(DType.FLOAT64)
Float16 = Element(DType.FLOAT16)
BFloat16 = Element(DType.BFLOAT16)
Float8E4M3FN = Element(DType.FLOAT8E4M3FN)
Float8E4M3FNUZ = Element(DType.FLOAT8E4M3FNUZ)
Float8E5M2 = Element(DType.FLOAT8E5M2)
Float8E5M2FNUZ = Element(DType.FLOAT8E5M2FNUZ)
Float8E8M0 = Element(DType.FLOAT8E8M0)
Float6E2M3 = Element(DType.FLOAT6E2M3)
Float6E3M2 = Element(DType.FLOAT6E3M2)
Float4E2M1 = Element(DType.FLOAT4E2M1)
Int64 = Element(DType.INT64)
Int32 = Element(DType.INT32)
Int16 = Element(DType.INT16)
Int8 = Element(DType.INT8)
Int4 = Element(DType.INT4)
Int2 = Element(DType.INT2)
UInt64 = Element(DType.UINT64)
UInt32 = Element(DType.UINT32)
UInt16 = Element(DType.UINT16)
UInt8 = Element(DType.UINT8)
UInt4 = Element(DType.UINT4)
UInt2 = Element(DType.UINT2)
Bool = Element(DType.BOOL)
String = Element(DType.STRING)
Complex64 = Element(DType.COMPLEX64)
Complex128 = Element(DType.COMPLEX128)

Sequence = Constructor("Sequence", SequenceType)
Optional = Constructor("Optional", OptionalType)
Sparse = Constructor("Sparse", SparseTensorType)
Map = MapConstructor()
