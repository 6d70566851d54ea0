"""Who is right where two engines differ: what the standard leaves open, or which of them is nearer to float64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

import ingot
from benchmarks.package_models import distance
from ingot.cli.engine_runs import run_on
from ingot.cli.first_difference import differences
from ingot.cli.units import counted
from ingot.convert.source import Tolerance
from ingot.errors import IngotError

_NARROW = (TensorProto.FLOAT, TensorProto.FLOAT16)
_TOLERANCE = Tolerance(1e-4, 1e-5)
_ENGINES = ("cpu", "onnxruntime")
_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


def excuse(path: Path, feeds: Mapping[str, Any]) -> str | None:
    """Why every difference between ingot and onnxruntime follows from one that the standard allows; None if not."""
    model = ingot.load(path)
    names = [value.name for node in model.graph for value in node.outputs]
    try:
        ours, theirs = (dict(zip(names, run_on(engine, model, names, feeds), strict=True)) for engine in _ENGINES)
    except IngotError:
        return None  # onnxruntime does not return all of the values
    reasons = [each.excuse for each in differences(model.graph, names, ours, theirs, _TOLERANCE)]
    return None if None in reasons or not reasons else f"{reasons[0]} ({counted(len(reasons), 'value')})"


def nearer_to_float64(path: Path, feeds: Mapping[str, Any], ours: Sequence[Any], theirs: Sequence[Any]) -> str | None:
    """How far both are from the reference in float64, if ingot is as near as onnxruntime or the reference; else None.

    The reference, in the types of the model, is as far as the standard's own rounding leads: onnxruntime keeps float32
    where a model asks for float16.
    """
    if not all(isinstance(value, np.ndarray) for value in (*ours, *theirs)):
        return None
    model = ingot.load(path)
    wide = ingot.from_onnx(widened(ingot.to_onnx(model)))
    doubles = {name: x.astype(np.float64) if x.dtype.kind == "f" else x for name, x in feeds.items()}
    try:
        exact = ingot.Session(wide, providers=("reference",)).run(None, doubles)
        rounded = ingot.Session(model, providers=("reference",)).run(None, feeds)
    except (IngotError, MemoryError):
        return None  # an operator that has no float64
    exact = [value.astype(a.dtype) if a.dtype.kind == "f" else value for value, a in zip(exact, ours, strict=True)]
    us, them, reference = (distance(list(results), exact) for results in (ours, theirs, rounded))
    if us > max(them, reference):
        return None
    return f"float64 is {us:.0e} from ingot, {them:.0e} from onnxruntime, {reference:.0e} from the reference"


def nudged_weights(model: ModelProto, part: float) -> ModelProto:
    """A model with each float of its initialisers a little larger or smaller, by a part of itself."""
    signs = np.random.default_rng(0)
    for graph in _graphs(model.graph):
        for tensor in graph.initializer:
            if tensor.data_type in _NARROW:
                x = numpy_helper.to_array(tensor)
                moved = np.asarray(x * (1 + part * signs.choice([-1.0, 1.0], x.shape)), x.dtype)
                tensor.CopyFrom(numpy_helper.from_array(moved, tensor.name))
    return model


def widened(model: ModelProto) -> ModelProto:
    """A model in float64: constants, casts and what is declared; what is inferred is forgotten."""
    for graph in _graphs(model.graph):
        del graph.value_info[:]
        for tensor in graph.initializer:
            _widen(tensor)
        for value in (*graph.input, *graph.output):
            if value.type.tensor_type.elem_type in _NARROW:
                value.type.tensor_type.elem_type = TensorProto.DOUBLE
        for node in graph.node:
            _widen_attributes(node)
    return model


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.type in _GRAPHS else ():
                yield from _graphs(inner)


def _widen_attributes(node: NodeProto) -> None:
    if node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            _widen(attribute.t)
        elif node.op_type == "Cast" and attribute.name == "to" and attribute.i in _NARROW:
            attribute.i = TensorProto.DOUBLE
        elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
            numbers = attribute.f if attribute.name == "value_float" else attribute.floats
            tensor = numpy_helper.from_array(np.array(numbers, np.float64))
            attribute.CopyFrom(helper.make_attribute("value", tensor))


def _widen(tensor: TensorProto) -> None:
    if tensor.data_type in _NARROW:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
