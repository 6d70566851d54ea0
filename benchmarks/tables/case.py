"""A case: a model of one operator, or of a few, in one form and size, with arrays to run it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.tables.peer import opset_of

SIZES = ("tiny", "typical", "large")
"""A few elements; as in models that people run; some megabytes."""

OPSET, IR_VERSION = 26, 11
"""The newest that the onnxruntime of the tables takes; older ones are for operators whose newest form it lacks."""


@dataclass(frozen=True)
class Case:
    """One row of a table: `only` is matched with the name, which is the operator, the form and the size."""

    operator: str
    form: str
    size: str
    model: onnx.ModelProto
    feeds: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.operator} {self.form} {self.size}"

    @cached_property
    def data(self) -> bytes:
        return bytes(self.model.SerializeToString())

    @property
    def random(self) -> bool:
        return any(node.op_type in UNPREDICTABLE for node in self.model.graph.node)


UNPREDICTABLE = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
"""Operators that draw random numbers of a generator that no standard names: only types and shapes are compared."""


@dataclass(frozen=True)
class Argument:
    """An input of a node with the array to run it on: computed by who calls the model, or constant in it."""

    value: Any
    constant: bool = False


def model_of_node(
    operator: str, domain: str, arguments: Sequence[Argument | None], attributes: Mapping[str, Any], outputs: int
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model of one node, and what it is run on; an argument None is omitted."""
    names = ["" if argument is None else f"x{place}" for place, argument in enumerate(arguments)]
    results = [f"y{place}" for place in range(outputs)]
    node = helper.make_node(operator, names, results, name="node", domain=domain, **attributes)
    feeds, constants = {}, []
    for name, argument in zip(names, arguments, strict=True):
        if argument is not None and argument.constant:
            constants.append(numpy_helper.from_array(argument.value, name))
        elif argument is not None:
            feeds[name] = argument.value
    inputs = [declared(name, value) for name, value in feeds.items()]
    declared_results = [onnx.ValueInfoProto(name=name) for name in results]
    graph = helper.make_graph([node], "case", inputs, declared_results, constants)
    return (finished(graph, {domain: 1}) if domain else finished(graph, {}, opset_of(operator, OPSET))), feeds


def declared(name: str, value: Any, sizes: Sequence[int | str] | None = None) -> onnx.ValueInfoProto:
    """An input of the type of an array, with its sizes or others; of a list, a sequence of arrays like its first."""
    if isinstance(value, list):
        dtype = helper.np_dtype_to_tensor_dtype(value[0].dtype)
        return helper.make_tensor_sequence_value_info(name, dtype, list(value[0].shape))
    dtype = TensorProto.STRING if value.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, dtype, list(value.shape) if sizes is None else list(sizes))


def finished(graph: onnx.GraphProto, domains: Mapping[str, int], opset: int = OPSET) -> onnx.ModelProto:
    """A model of a graph in the opset of the tables."""
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(name, number) for name, number in domains.items())]
    return helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)


def random_array(random: np.random.Generator, dtype: str, shape: Sequence[int], below: int | None = None) -> Any:
    """Numbers as activations are: floats of a normal distribution, or integers from 0 to before `below`."""
    if dtype == "string":
        return random.choice(np.array(["a", "word", "some words", "", "ünïcode"], object), shape)
    if dtype == "bool":
        return random.random(shape) < 0.5
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return random.standard_normal(shape, np.float32).astype(kind)
    lowest, most = (-100, 100) if below is None and kind.kind == "i" else (0, 100 if below is None else below)
    return random.integers(lowest, most, shape).astype(kind)
