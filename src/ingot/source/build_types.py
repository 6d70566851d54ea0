"""Types as expressions of the builder: `Float32["batch", 4]`."""

from __future__ import annotations

from ingot.dims import Dim, parse
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
from ingot.source.layout import Expression, call, flat
from ingot.source.literals import quoted

_NAMES = {
    DType.BFLOAT16: "BFloat16",
    DType.BOOL: "Bool",
    DType.STRING: "String",
}


def element_name(dtype: DType) -> str:
    """The builder's name of an element type: `Float32`, `UInt8`, `Float8E4M3FN`."""
    if dtype in _NAMES:
        return _NAMES[dtype]
    for spelled, written in (("FLOAT", "Float"), ("UINT", "UInt"), ("INT", "Int"), ("COMPLEX", "Complex")):
        if dtype.name.startswith(spelled):
            return written + dtype.name.removeprefix(spelled)
    return dtype.name


def type_expression(type_: Type | None, used: set[str]) -> Expression:
    """An expression that gives the type; `used` gets the names to import."""
    if type_ is None:
        return "None"
    if type_.denotation or _is_open(type_):
        return _constructed(type_, used)
    match type_:
        case TensorType():
            name = element_name(type_.dtype)
            used.add(name)
            return name + _sizes(type_.shape)
        case SparseTensorType():
            used |= {"Sparse", element_name(type_.dtype)}
            return f"Sparse[{element_name(type_.dtype)}{_sizes(type_.shape)}]"
        case SequenceType():
            used.add("Sequence")
            return f"Sequence[{flat(type_expression(type_.element, used))}]"
        case OptionalType():
            used.add("Optional")
            return f"Optional[{flat(type_expression(type_.element, used))}]"
        case MapType():
            used |= {"Map", element_name(type_.key)}
            return f"Map[{element_name(type_.key)}, {flat(type_expression(type_.value, used))}]"
        case OpaqueType():
            return _constructed(type_, used)


def _is_open(type_: Type) -> bool:
    """Whether a type has parts that no subscript can express."""
    match type_:
        case TensorType() | SparseTensorType():
            if type_.axis_denotations:
                return True
            return type_.dtype is DType.UNDEFINED or not all(map(_is_spelled, type_.shape or ()))
        case SequenceType() | OptionalType():
            return type_.element is None
        case MapType():
            return type_.value is None or type_.key is DType.UNDEFINED
        case OpaqueType():
            return True


def _constructed(type_: Type, used: set[str]) -> Expression:
    """The call of a constructor of `ingot.ir.types`."""
    used |= {f"ir.{type(type_).__name__}"}
    arguments: list[Expression] = []
    match type_:
        case TensorType() | SparseTensorType():
            used.add("ingot.DType")
            shape = None if type_.shape is None else tuple(map(_dim, type_.shape))
            shown = "None" if shape is None else f"({', '.join(shape)}{',' if len(shape) == 1 else ''})"
            if any("from_param(" in size for size in shape or ()):
                used.add("dims.from_param")
            arguments += [f"DType.{type_.dtype.name}", shown]
            if type_.axis_denotations:
                texts = ", ".join(map(quoted, type_.axis_denotations))
                arguments.append(f"axis_denotations=({texts}{',' if len(type_.axis_denotations) == 1 else ''})")
        case SequenceType() | OptionalType():
            arguments.append(type_expression(type_.element, used))
        case MapType():
            used.add("ingot.DType")
            arguments += [f"DType.{type_.key.name}", type_expression(type_.value, used)]
        case OpaqueType():
            arguments += [quoted(type_.domain), quoted(type_.name)]
    if type_.denotation:
        arguments.append(f"denotation={quoted(type_.denotation)}")
    return call(type(type_).__name__, *arguments)


def _sizes(shape: Shape | None) -> str:
    if shape is None:
        return ""
    return f"[{', '.join(map(_size, shape)) or '()'}]"


def _size(dim: Dim | None) -> str:
    if dim is None or isinstance(dim, int):
        return str(dim)
    return quoted(next(text for text in (str(dim), f"`{dim}`") if _means(text, dim)))


def _dim(dim: Dim | None) -> str:
    return str(dim) if dim is None or isinstance(dim, int) else f"from_param({quoted(str(dim))})"


def _is_spelled(dim: Dim | None) -> bool:
    """Whether a subscript gives this size back."""
    if dim is None:
        return True
    if isinstance(dim, int):
        return dim >= 0
    return _means(str(dim), dim) or _means(f"`{dim}`", dim)


def _means(text: str, dim: Dim) -> bool:
    try:
        return parse(text) == dim
    except ValueError:
        return False
