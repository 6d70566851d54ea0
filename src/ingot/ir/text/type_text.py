"""Types as text, and sizes both ways."""

from __future__ import annotations

from ingot.dims import Dim
from ingot.ir.text.words import word_text
from ingot.ir.types import MapType, OpaqueType, OptionalType, SequenceType, Shape, SparseTensorType, TensorType, Type


def type_text(type_: Type | None) -> str:
    """A type; nothing for one that the model leaves open."""
    match type_:
        case None:
            return ""
        case TensorType():
            return type_.dtype.onnx_name + shape_text(type_.shape)
        case SparseTensorType():
            return f"sparse_tensor({type_.dtype.onnx_name}{shape_text(type_.shape)})"
        case SequenceType():
            return f"seq({type_text(type_.element)})"
        case OptionalType():
            return f"optional({type_text(type_.element)})"
        case MapType():
            return f"map({type_.key.onnx_name}, {type_text(type_.value)})"
        case OpaqueType():
            return f"opaque({_opaque(type_)})"


def shape_text(shape: Shape | None) -> str:
    """The sizes in brackets: none for a scalar, empty ones for an unknown rank."""
    if shape is None:
        return "[]"
    return f"[{', '.join(map(_dim, shape))}]" if shape else ""


def _dim(dim: Dim | None) -> str:
    if dim is None:
        return "?"
    return str(dim) if isinstance(dim, int) else word_text(str(dim))


def _opaque(type_: OpaqueType) -> str:
    """Dots separate names only in what comes first, which is the domain where there is one."""
    if not type_.domain:
        return ".".join(map(word_text, type_.name.split("."))) if type_.name else ""
    domain = ".".join(map(word_text, type_.domain.split(".")))
    return f"{domain}, {word_text(type_.name)}"
