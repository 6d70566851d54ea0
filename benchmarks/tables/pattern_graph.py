"""Graphs of a few nodes as exporters write them: a call adds a node, and returns the name of what it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.tables.case import SIZES, Case, declared, finished, random_array

OPSET = 20
"""The opset that patterns are written in: exporters are behind the newest."""


class PatternGraph:
    """A graph under construction. Numbers and lists among the operands of a node become constants of it."""

    def __init__(self, opset: int = OPSET) -> None:
        self.feeds: dict[str, Any] = {}
        self._opset = opset
        self._inputs: list[onnx.ValueInfoProto] = []
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._domains: dict[str, int] = {}
        self._random = np.random.default_rng(0)

    def input(self, *shape: int | tuple[str, int], dtype: str = "float32", below: int | None = None) -> str:
        """An input of random numbers; a size with a name is declared by this name."""
        sizes = [size if isinstance(size, int) else size[1] for size in shape]
        return self.input_of(random_array(self._random, dtype, sizes, below), shape)

    def input_of(self, array: Any, shape: Sequence[int | tuple[str, int]] | None = None) -> str:
        """An input with the array to run it on."""
        name = f"input_{len(self.feeds)}"
        sizes = None if shape is None else [size if isinstance(size, int) else size[0] for size in shape]
        self._inputs.append(declared(name, array, sizes))
        self.feeds[name] = array
        return name

    def weight(self, *shape: int, dtype: str = "float32") -> str:
        """Constant random numbers, of a size that keeps activations in their range."""
        array = random_array(self._random, dtype, shape)
        terms = max(1, int(np.prod(shape[:-1] if len(shape) < 3 else shape[1:])))
        return self.constant(array / np.float32(np.sqrt(terms)) if dtype == "float32" else array)

    def constant(self, value: Any, dtype: str | None = None) -> str:
        name = f"constant_{len(self._constants)}"
        array = np.asarray(value, dtype)
        if dtype is None and array.dtype == np.float64:
            array = array.astype(np.float32)
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def __call__(self, operator: str, *operands: Any, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        """The name of the result of a node, or a tuple of several."""
        names = [self._operand(operand) for operand in operands]
        results = [f"value_{len(self._nodes)}_{place}" for place in range(outputs)]
        if domain:
            self._domains[domain] = 1
        node = helper.make_node(operator, names, results, name=f"node_{len(self._nodes)}", domain=domain, **attributes)
        self._nodes.append(node)
        return results[0] if outputs == 1 else tuple(results)

    def _operand(self, operand: Any) -> str:
        if operand is None or isinstance(operand, str):
            return operand or ""
        return self.constant(operand)

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self._nodes, "pattern", self._inputs, results, self._constants)
        return finished(graph, self._domains, self._opset)


@dataclass(frozen=True)
class Pattern:
    """A function that builds a pattern of named sizes and returns its outputs, and these sizes for each of SIZES."""

    build: Callable[..., Any]
    sizes: Mapping[str, Sequence[Any]]

    def cases(self, name: str) -> list[Case]:
        cases = []
        for place, size in enumerate(SIZES):
            graph = PatternGraph()
            numbers = {key: values[place] for key, values in self.sizes.items()}
            outputs = self.build(graph, **numbers)
            model = graph.model([outputs] if isinstance(outputs, str) else list(outputs))
            group, _, form = name.partition(": ")
            cases.append(Case(group, form, size, model, graph.feeds))
        return cases


def pattern(build: Callable[..., Any], **sizes: Sequence[Any]) -> Pattern:
    """A pattern with its sizes by keyword: one number for tiny, typical and large each."""
    return Pattern(build, sizes)
