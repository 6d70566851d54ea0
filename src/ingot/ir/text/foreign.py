"""What ingot writes and reads but onnx's own parser does not."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.errors import IngotError
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.text.parts import Findings, Item, has_odd_tensor_name, parts, root_graphs
from ingot.ir.text.words import is_identifier, reads_as_graph_name
from ingot.ir.text.writer import written
from ingot.ir.types import MapType, OpaqueType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

_NUL = "what follows a NUL, which ends the text for onnx,"
_DROPPED = (AttributeKind.TENSORS, AttributeKind.GRAPHS, AttributeKind.TYPES)


def refused_by_onnx(item: Item, *, portable: bool = False) -> list[str]:
    """What the parser of onnx 1.23 refuses, or in the case of lists drops, in the text that `to_text` gives.

    A sentence each; nothing if that parser reads all of it.
    """
    findings = Findings()
    roots = root_graphs(item)
    for place, part in parts(item):
        match part:
            case Node():
                if not all(map(is_identifier, [*(part.domain.split(".") if part.domain else ()), part.op_type])):
                    findings.add("the operator's name, which is not an identifier,", "node", place)
                if part.overload and not is_identifier(part.overload):
                    findings.add("the overload's name, which is not an identifier,", "node", place)
                if not all(map(is_identifier, part.attributes)):
                    findings.add("an attribute's name, which is not an identifier,", "node", place)
            case Graph() if not portable and part not in roots and not reads_as_graph_name(part.name):
                findings.add("the name, which onnx takes for a value,", "subgraph", place)
            case Attribute() if part.kind in _DROPPED and part.value:
                findings.add("the items, which onnx drops,", "attribute", place)
            case Attribute() if not portable and has_odd_tensor_name(part):
                findings.add("a tensor's name, which is not an identifier,", "attribute", place)
            case _ if isinstance(part, Type) and not _reads(part):
                findings.add("an open or oddly named type", "value", place)
            case Tensor() if part.dtype is DType.STRING and _has_nul(part):
                findings.add(_NUL, "tensor", place)
    if "\0" in written(item, elide=0, portable=portable):
        place, _ = next(parts(item))
        findings.add(_NUL, type(item).__name__.lower(), place)
    return findings.sentences()


def _has_nul(tensor: Tensor) -> bool:
    try:
        return any(b"\0" in string for string in tensor.strings())
    except IngotError:  # elements that cannot be had are not written
        return False


def _reads(type_: Type) -> bool:
    match type_:
        case TensorType() | SparseTensorType():
            return type_.dtype is not DType.UNDEFINED
        case SequenceType() | OptionalType():
            return type_.element is not None
        case MapType():
            return type_.value is not None and type_.key is not DType.UNDEFINED
        case OpaqueType():
            if not type_.domain:
                return not type_.name or all(map(is_identifier, type_.name.split(".")))
            return all(map(is_identifier, [*type_.domain.split("."), type_.name]))
