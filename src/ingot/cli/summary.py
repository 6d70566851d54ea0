"""What a model is made of, counted. The fields here are the keys of `ingot info --json`: keep their names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ingot.cli.models import Opened
from ingot.cli.placement import placement
from ingot.cli.weights import Weight, weights
from ingot.ir import Function, Model, TensorType, Value, problems
from ingot.ir.domains import spelled_out


@dataclass(frozen=True, slots=True)
class OpsetImport:
    """A set of operators the model speaks."""

    domain: str
    version: int


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output; `dtype` and `shape` only where it is a tensor, a size a number, an expression or None."""

    name: str
    type: str | None
    dtype: str | None
    shape: list[int | str | None] | None
    default: bool
    doc_string: str


@dataclass(frozen=True, slots=True)
class OperatorCount:
    """How many nodes call an operator, in every graph, subgraph and function."""

    domain: str
    operator: str
    count: int


@dataclass(frozen=True, slots=True)
class FunctionSummary:
    """An operator that the model brings with it."""

    domain: str
    name: str
    overload: str
    inputs: list[str]
    outputs: list[str]
    attributes: list[str]
    nodes: int
    doc_string: str


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """A constant; `location` is the file its bytes lie in, None if they are inside the model."""

    name: str
    dtype: str
    shape: list[int]
    elements: int
    bytes: int
    location: str | None


@dataclass(frozen=True, slots=True)
class ExternalFile:
    """A file with weights, and whether it is there."""

    location: str
    found: bool
    tensors: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything `ingot info` shows. Sizes are in bytes."""

    path: str
    file_bytes: int | None
    ir_version: int
    opset_imports: list[OpsetImport]
    producer_name: str
    producer_version: str
    domain: str
    model_version: int
    doc_string: str
    metadata: dict[str, str]
    graph_name: str
    graph_doc_string: str
    inputs: list[Port]
    outputs: list[Port]
    nodes: int
    all_nodes: int
    subgraphs: int
    functions: list[FunctionSummary]
    operators: list[OperatorCount]
    parameters: int
    parameters_by_dtype: dict[str, int]
    tensors: int
    weight_bytes_inside: int
    weight_bytes_external: int
    external: list[ExternalFile]
    largest: list[TensorSummary]
    problems: list[str]


def summarise(opened: Opened, *, largest: int) -> Summary:
    """The summary of a model, with its `largest` tensors."""
    model = opened.model
    constants = list(weights(model))
    graphs = list(model.graphs())
    files = placement(model)
    outside = sum(file.bytes for file in files)
    by_dtype: Counter[str] = Counter()
    for weight in constants:
        by_dtype[weight.tensor.dtype.label] += weight.elements
    return Summary(
        path=opened.name,
        file_bytes=opened.nbytes,
        ir_version=model.ir_version,
        opset_imports=[OpsetImport(spelled_out(domain), v) for domain, v in model.opset_imports.items()],
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.model_version,
        doc_string=model.doc_string,
        metadata=dict(model.metadata),
        graph_name=model.graph.name,
        graph_doc_string=model.graph.doc_string,
        inputs=[_port(value, default=value.constant is not None) for value in model.graph.inputs],
        outputs=[_port(value) for value in model.graph.outputs],
        nodes=len(model.graph),
        all_nodes=sum(len(graph) for graph in graphs),
        subgraphs=len(graphs) - sum(1 for _ in model.roots()),
        functions=[_function(function) for function in model.functions.values()],
        operators=_operators(model),
        parameters=sum(by_dtype.values()),
        parameters_by_dtype=dict(by_dtype.most_common()),
        tensors=len(constants),
        weight_bytes_inside=sum(weight.tensor.nbytes for weight in constants) - outside,
        weight_bytes_external=outside,
        external=[ExternalFile(f.location, f.found, len(f.tensors), f.bytes) for f in files],
        largest=[_tensor(weight) for weight in sorted(constants, key=lambda w: -w.tensor.nbytes)[:largest]],
        problems=list(problems(model)),
    )


def _port(value: Value, *, default: bool = False) -> Port:
    type_ = value.type
    shape: list[int | str | None] | None = None
    if isinstance(type_, TensorType) and type_.shape is not None:
        shape = [dim if dim is None or isinstance(dim, int) else str(dim) for dim in type_.shape]
    return Port(
        name=value.name,
        type=None if type_ is None else str(type_),
        dtype=type_.dtype.label if isinstance(type_, TensorType) else None,
        shape=shape,
        default=default,
        doc_string=value.doc_string,
    )


def _function(function: Function) -> FunctionSummary:
    return FunctionSummary(
        domain=function.domain,
        name=function.name,
        overload=function.overload,
        inputs=[value.name for value in function.inputs],
        outputs=[value.name for value in function.outputs],
        attributes=list(function.attributes),
        nodes=len(function.graph),
        doc_string=function.doc_string,
    )


def _operators(model: Model) -> list[OperatorCount]:
    """The most frequent first."""
    counts = Counter((spelled_out(node.domain), node.op_type) for node in model.nodes())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [OperatorCount(domain, operator, count) for (domain, operator), count in ordered]


def _tensor(weight: Weight) -> TensorSummary:
    tensor, external = weight.tensor, weight.external
    return TensorSummary(
        name=weight.name,
        dtype=tensor.dtype.label,
        shape=list(tensor.shape),
        elements=weight.elements,
        bytes=tensor.nbytes,
        location=None if external is None else external.location,
    )
