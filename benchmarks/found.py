"""What ingot and the onnx package find of the values of a model, counted and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import onnx
from onnx import shape_inference

import ingot
from ingot.dims import Dim, Expr, from_param, symbols
from ingot.infer.stepwise import types_of
from ingot.ir.types import OptionalType, SequenceType, TensorType, Type

Place = tuple[str, ...]
"""Where a value is: the attributes that lead to its graph, and its name."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a tool says of a value: its kind and element type, and its sizes, of the elements if it is a sequence."""

    type: str
    shape: tuple[Dim | None, ...] | None


@dataclass
class Counts:
    """How many values of how many models a tool knows how much of."""

    types: int = 0
    ranks: int = 0
    sizes: int = 0
    """Every size is a number or an expression of names that the inputs have."""
    named: int = 0
    """Every size is known or has a name, one of them made up by the tool."""

    def add(self, known: Known | None, given: frozenset[str]) -> None:
        if known is None:
            return
        self.types += 1
        if known.shape is None:
            return
        self.ranks += 1
        if None in known.shape:
            return
        if all(names_of(dim) <= given for dim in known.shape):
            self.sizes += 1
        else:
            self.named += 1


@dataclass
class Comparison:
    """Both tools on the same models."""

    models: int = 0
    values: int = 0
    ours: Counts = field(default_factory=Counts)
    theirs: Counts = field(default_factory=Counts)
    missed: list[str] = field(default_factory=list)
    """What onnx finds and ingot does not, in words."""

    def add(self, name: str, model: onnx.ModelProto) -> None:
        """Ask both tools about a model without the types it declares for what it computes."""
        bare = undeclared(model)
        ours, theirs = by_ingot(bare), by_onnx(bare)
        inputs = ours.input_names | {
            name
            for value in bare.graph.input
            for dim in value.type.tensor_type.shape.dim
            for name in names_of(_dim(dim))
        }
        self.models += 1
        for place in places(bare.graph):
            self.values += 1
            mine, peer = ours.values.get(place), theirs.get(place)
            self.ours.add(mine, inputs)
            self.theirs.add(peer, inputs)
            if peer is not None:
                self.missed += [f"{name}: {'/'.join(place)}: {what}" for what in _missed(mine, peer, inputs)]
        self.missed += [f"{name}: {what}" for what in _equalities_missed(ours.values, theirs, inputs)]


def undeclared(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that declares the types of what it is given only."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for _, graph in _graphs(copy.graph, ()):
        del graph.value_info[:]
        for value in graph.output:
            value.ClearField("type")
    return copy


def places(graph: onnx.GraphProto) -> Iterator[Place]:
    """The values that the nodes of a graph and of its subgraphs compute."""
    for path, inner in _graphs(graph, ()):
        for node in inner.node:
            yield from ((*path, name) for name in node.output if name)


def names_of(dim: Dim | None) -> frozenset[str]:
    return symbols(dim) if isinstance(dim, Expr) else frozenset()


@dataclass(frozen=True)
class Answers:
    """What ingot says, and the names that the sizes of the inputs have or get."""

    values: dict[Place, Known]
    input_names: frozenset[str] = frozenset()


def by_ingot(model: onnx.ModelProto) -> Answers:
    """What `infer` finds in a model of any version; nothing if it refuses the model."""
    loaded = ingot.from_onnx(model)
    try:
        found = types_of(loaded, name_sizes=True)
    except ingot.IngotError:
        return Answers({})
    known: dict[Place, Known] = {}

    def walk(graph: ingot.Graph, path: Place) -> None:
        for index, node in enumerate(graph):
            for value in node.outputs:
                if value.name and value in found:
                    known[*path, value.name] = _ours(found[value])
            for name, attribute in node.attributes.items():
                for subgraph in attribute.graphs:
                    walk(subgraph, (*path, f"{index}.{name}"))

    walk(loaded.graph, ())
    types = (found.get(value) for value in loaded.graph.inputs)
    shapes = [type_.shape for type_ in types if isinstance(type_, TensorType) and type_.shape is not None]
    return Answers(known, frozenset(name for shape in shapes for dim in shape for name in names_of(dim)))


def by_onnx(model: onnx.ModelProto) -> dict[Place, Known]:
    """What `onnx.shape_inference` finds, with the values it can follow."""
    try:
        inferred = shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # it stops at a model it does not understand
        return {}
    known: dict[Place, Known] = {}
    for path, graph in _graphs(inferred.graph, ()):
        for value in (*graph.value_info, *graph.output):
            found = _theirs(value.type)
            if found is not None:
                known[*path, value.name] = found
    return known


def _graphs(graph: onnx.GraphProto, path: Place) -> Iterator[tuple[Place, onnx.GraphProto]]:
    yield path, graph
    for index, node in enumerate(graph.node):
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g, (*path, f"{index}.{attribute.name}"))


def _ours(type_: Type) -> Known:
    match type_:
        case TensorType():
            return Known(str(type_.dtype), type_.shape)
        case SequenceType() | OptionalType() if type_.element is not None:
            inner = _ours(type_.element)
            kind = "sequence" if isinstance(type_, SequenceType) else "optional"
            return Known(f"{kind}({inner.type})", inner.shape)
    return Known(str(type_), None)


def _theirs(type_: onnx.TypeProto) -> Known | None:
    if type_.HasField("tensor_type") and type_.tensor_type.elem_type:
        tensor = type_.tensor_type
        shape = tuple(_dim(dim) for dim in tensor.shape.dim) if tensor.HasField("shape") else None
        return Known(str(ingot.DType(tensor.elem_type)), shape)
    for kind in ("sequence", "optional"):
        if type_.HasField(f"{kind}_type"):
            inner = _theirs(getattr(type_, f"{kind}_type").elem_type)
            return None if inner is None else Known(f"{kind}({inner.type})", inner.shape)
    return None


def _dim(dim: onnx.TensorShapeProto.Dimension) -> Dim | None:
    """A size as onnx has it; one below zero, which files have in place of unknown ones and onnx carries on, is none."""
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    return from_param(dim.dim_param) if dim.dim_param else None


def _missed(mine: Known | None, peer: Known, inputs: frozenset[str]) -> Iterator[str]:
    if mine is None or mine.type != peer.type:
        yield f"{peer.type} against {None if mine is None else mine.type}"
    elif peer.shape is not None and (mine.shape is None or len(mine.shape) != len(peer.shape)):
        yield f"{len(peer.shape)} axes against {mine.shape}"
    else:
        for axis, dim in enumerate(peer.shape or ()):
            own = None if mine.shape is None else mine.shape[axis]
            if (isinstance(dim, int) and own != dim) or (
                isinstance(dim, Expr) and names_of(dim) <= inputs and (own is None or not names_of(own) <= inputs)
            ):
                yield f"size {dim} of axis {axis} against {own}"


def _equalities_missed(ours: dict[Place, Known], theirs: dict[Place, Known], inputs: frozenset[str]) -> Iterator[str]:
    """Names that onnx makes up and gives to several sizes, which for ingot are not one size."""
    first: dict[Dim, Dim | None] = {}
    for place, peer in theirs.items():
        mine = ours.get(place)
        if mine is None or mine.shape is None or peer.shape is None or len(mine.shape) != len(peer.shape):
            continue
        for dim, own in zip(peer.shape, mine.shape, strict=True):
            if isinstance(dim, Expr) and not names_of(dim) <= inputs:
                before = first.setdefault(dim, own)
                if before != own:
                    yield f"one size {dim} against {before} and {own} in {'/'.join(place)}"
