"""What a session says about its model: NodeArg for each input and output, ModelMetadata for the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ingot.dims import Dim, Expr, symbol, symbols
from ingot.dtypes import DType
from ingot.ir.model import Model
from ingot.ir.types import MapType, OpaqueType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

Size = int | str | None

_NO_VERSION = (1 << 63) - 1
"""The version of a model that has none."""


@dataclass(frozen=True, slots=True)
class NodeArg:
    """An input or an output: `shape` has a number, a name or None for each axis, and is [] without a shape."""

    name: str
    type: str
    shape: list[Size]

    def __str__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


@dataclass
class ModelMetadata:
    """What a model says about itself."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = 0
    custom_metadata_map: dict[str, str] = field(default_factory=dict)


def node_arg(name: str, declared: Type | None, inferred: Type | None = None) -> NodeArg:
    """How an input or output is described: as declared, with the numbers that inference knows for its sizes."""
    type_ = declared or inferred
    return NodeArg(name, type_name(type_), _merged(_shape(declared), _shape(inferred)))


def metadata(model: Model) -> ModelMetadata:
    return ModelMetadata(
        model.producer_name,
        model.graph.name,
        model.domain,
        model.doc_string,
        model.graph.doc_string,
        model.model_version if _has_version(model) else _NO_VERSION,
        dict(model.metadata),
    )


def _has_version(model: Model) -> bool:
    """Whether a model has a version, be it 0."""
    return bool(model.model_version) or "model_version" in getattr(model.residue, "explicit", ())


def type_name(type_: Type | None) -> str:
    """The name in onnxruntime of a type: `tensor(float)`, `seq(map(string,tensor(float)))`."""
    match type_:
        case TensorType():
            return f"tensor({_element(type_.dtype)})"
        case SparseTensorType():
            return f"sparse_tensor({_element(type_.dtype)})"
        case SequenceType():
            return f"seq({type_name(type_.element)})"
        case OptionalType():
            return f"optional({type_name(type_.element)})"
        case MapType():
            return f"map({_element(type_.key)},{type_name(type_.value)})"
        case OpaqueType():
            return f"opaque({type_.domain},{type_.name})"
        case None:
            return "unknown"


def dim_name(dim: Expr) -> str:
    """A symbolic size as its model spells it."""
    names = symbols(dim)
    if len(names) == 1:
        (name,) = names
        if dim == symbol(name):
            return name
    return str(dim)


def _element(dtype: DType) -> str:
    return dtype.onnx_name


def _shape(type_: Type | None) -> Iterable[Dim | None] | None:
    match type_:
        case TensorType() | SparseTensorType():
            return type_.shape
        case OptionalType():
            return _shape(type_.element)
        case _:
            return None


def _merged(declared: Iterable[Dim | None] | None, inferred: Iterable[Dim | None] | None) -> list[Size]:
    """The declared sizes with numbers that are inferred; the inferred ones where none, or another rank, is declared."""
    own = None if declared is None else [_size(dim) for dim in declared]
    types = None if inferred is None else list(inferred)
    if types is None:
        return own or []
    if own is None or len(types) != len(own):
        return [_size(dim) if _is_plain(dim) else None for dim in types]
    return [_more(old, new) for old, new in zip(own, types, strict=True)]


def _more(declared: Size, inferred: Dim | None) -> Size:
    """A number where there is one, the inferred one before the declared; else a name."""
    if isinstance(inferred, int):
        return inferred
    if isinstance(declared, int) or not _is_plain(inferred):
        return declared
    return _size(inferred) if declared is None else declared


def _is_plain(dim: Dim | None) -> bool:
    return not isinstance(dim, Expr) or (len(names := symbols(dim)) == 1 and dim == symbol(next(iter(names))))


def _size(dim: Dim | None) -> Size:
    if isinstance(dim, Expr):
        return dim_name(dim)
    return None if dim is None or dim < 0 else dim
