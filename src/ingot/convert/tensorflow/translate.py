"""Translating a graph: each operation by its rule, in order, into one graph of ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from ingot.builder import Var, op
from ingot.builder.emission import emit
from ingot.convert.operands import constant
from ingot.convert.rules import RuleTable
from ingot.convert.tensorflow.dtypes import dtype_of, to_array
from ingot.convert.tensorflow.evaluate import evaluated
from ingot.convert.tensorflow.functions import function_graph, needed
from ingot.convert.tensorflow.pair import Pair
from ingot.convert.tensorflow.place import place_of
from ingot.convert.tensorflow.refused import REASONS
from ingot.convert.tensorflow.resource import Resource
from ingot.convert.tensorflow.rule import Rule, Site, attributes, static_shape
from ingot.convert.unsupported import Unsupported
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, UnsupportedError
from ingot.infer.driver import Facts
from ingot.ir.graph import Graph
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value

CUSTOM = "give the rule of '{}' in custom_translation_table"


_TENSORS = frozenset(
    (
        tf.float32,
        tf.float64,
        tf.float16,
        tf.bfloat16,
        tf.int64,
        tf.int32,
        tf.int16,
        tf.int8,
        tf.uint8,
        tf.uint16,
        tf.uint32,
        tf.uint64,
        tf.bool,
        tf.string,
    )
)
"""Types whose tensors are values of the model as they are; complex ones are pairs, others are no tensors."""


class Translation:
    """A function of TensorFlow becoming a graph: what has no rule, where values come from, and constants so far."""

    def __init__(self, rules: RuleTable[str, Rule[..., Any]], graph: Graph, facts: Facts) -> None:
        self.rules = rules
        self.graph = graph
        self.facts = facts
        self.unsupported = Unsupported()
        self.sources: dict[str, str] = {}
        """By the name of a value, the tensor it is, as the function with its calls inlined calls it."""
        self._named: set[Value] = set()
        self._resources: dict[int, Var] = {}
        self._sizes: dict[Dim, tuple[Value, int]] = {}

    def run(self, graph: Any, arguments: Sequence[Any], path: str = "") -> list[Any]:
        """The operations of a graph of TensorFlow, its inputs being `arguments`; returns its outputs."""
        values: dict[str, Any] = {}
        for tensor, argument in zip(graph.inputs, arguments, strict=True):
            if isinstance(argument, Var) and argument.rank is None and tensor.dtype in _TENSORS:
                self._type(argument.value, tensor)
            values[tensor.name] = argument
        for operation in needed(graph):
            if operation.outputs and operation.outputs[0].name in values:
                continue
            results = self._operation(graph, operation, [values[tensor.name] for tensor in operation.inputs], path)
            for tensor, result in zip(operation.outputs, results, strict=True):
                values[tensor.name] = result
        return [values[tensor.name] for tensor in graph.outputs]

    def constant(self, name: str, array: Array) -> Var:
        """An array as an initialiser."""
        called = self.graph.fresh_name(name)
        return Var(self.graph.add_initializer(called, Tensor(array, name=called)))

    def read(self, resource: Resource, dtype: Any) -> Var:
        """What a variable holds, as an initialiser: one for each variable."""
        known = self._resources.get(id(resource.handle))
        if known is None:
            held = tf.raw_ops.ReadVariableOp(resource=resource.handle, dtype=dtype)
            known = self._resources[id(resource.handle)] = self.constant(resource.name, to_array(held))
        return known

    def open_size(self, dim: Dim, value: Value, axis: int) -> None:
        """Note that an input has a size that is not known now."""
        self._sizes.setdefault(dim, (value, axis))

    def _operation(self, graph: Any, operation: Any, inputs: list[Any], path: str) -> list[Any]:
        kind = operation.type
        if kind == "Const":
            return [self._constant(operation)]
        if kind not in self.rules:
            hint = None if kind in REASONS else CUSTOM.format(kind)
            self.unsupported.add(kind, place=place_of(operation), reason=self.rules.explain(kind), hint=hint)
            return self._stand_ins(operation)
        rule = self.rules[kind]
        missing = [each for each in inputs if isinstance(each, _Missing)]
        if missing:
            if missing[0].what:
                self.unsupported.add(kind, place=place_of(operation), reason=f"it reads {missing[0].what}")
            return self._stand_ins(operation)
        folded = evaluated(operation, inputs)
        if folded is not None:
            return [self.constant(operation.name, array) for array in folded]
        site = Site(
            operation,
            self._elements,
            lambda name, arguments: self._call(graph, operation, name, arguments, path),
            lambda name: function_graph(graph, name),
            self._sized,
            self._sizes.__contains__,
            self.read,
        )
        try:
            if not rule.pairs and any(isinstance(each, Pair) for each in inputs):
                raise UnsupportedError("complex numbers")
            results = rule(site, *inputs, **attributes(operation, rule.function))
            return self._settled(operation, results, path)
        except (UnsupportedError, CheckError) as error:  # our limit, or a type that ONNX's operator does not take
            self.unsupported.add(kind, place=place_of(operation), reason=error.message)
            return self._stand_ins(operation)

    def _call(self, graph: Any, operation: Any, name: str, arguments: Sequence[Any], path: str) -> list[Any]:
        return self.run(function_graph(graph, name), arguments, f"{path}{operation.name}/")

    def _constant(self, operation: Any) -> Any:
        try:
            return self.constant(operation.name, to_array(tf.make_ndarray(operation.get_attr("value"))))
        except UnsupportedError as error:
            self.unsupported.add("Const", place=place_of(operation), reason=error.message)
            return _Missing()

    def _elements(self, x: Any) -> tuple[Dim | None, ...] | None:
        held = constant(x)
        if held is not None:
            return tuple(int(item) for item in held.ravel()) if held.dtype.kind in "iu" else None
        fact = self.facts.get(x.value)
        return None if fact is None else fact.elements

    def _sized(self, dim: Dim | None) -> Any:
        if isinstance(dim, int):
            return np.array([dim], np.int64)
        source = None if dim is None else self._sizes.get(dim)
        return None if source is None else op.Shape(source[0], start=source[1], end=source[1] + 1)

    def _settled(self, operation: Any, written: Any, path: str) -> list[Any]:
        results = list(written) if isinstance(written, tuple | list) else [written]
        results += [None] * (len(operation.outputs) - len(results))
        return [
            self._result(operation, at, tensor, result, path)
            for at, (tensor, result) in enumerate(zip(operation.outputs, results, strict=True))
        ]

    def _result(self, operation: Any, at: int, tensor: Any, result: Any, path: str) -> Any:
        """A result as a value with the graph's own name, and with what TensorFlow knows of its type."""
        if isinstance(result, np.ndarray | np.generic):
            return self.constant(operation.name, np.asarray(result))
        if isinstance(result, Pair):
            self._name(result.var.value, operation, at, path)
            return result
        if result is None:
            return _Missing(f"result {at} of {operation.type}, which its rule does not compute")
        if not isinstance(result, Var):
            return result
        value = result.value
        self._name(value, operation, at, path)
        self._type(value, tensor)
        fact = self.facts.get(value)
        if fact is not None and fact.integers is not None and fact.shape is not None and value.constant is None:
            sizes = [size for size in fact.shape if isinstance(size, int)]
            if len(sizes) == len(fact.shape):
                array = np.array(fact.integers, (result.dtype or DType.INT64).numpy)
                return self.constant(operation.name, array.reshape(sizes))
        return result

    def _name(self, value: Value, operation: Any, at: int, path: str) -> None:
        if value.producer is None or value in self._named:
            return
        self._named.add(value)
        value.name = self.graph.fresh_name(operation.name if at == 0 else f"{operation.name}:{at}")
        if value.graph is self.graph:
            self.sources[value.name] = f"{path}{operation.name}:{at}"

    def _type(self, value: Value, tensor: Any) -> None:
        """Fill in what inference did not find."""
        if tensor.dtype not in _TENSORS:
            return
        shape = static_shape(tensor)
        own = value.type
        if not isinstance(own, TensorType):
            value.type = TensorType(dtype_of(tensor.dtype), shape)
        elif shape is None or value.constant is not None:
            return
        elif own.shape is None or len(own.shape) != len(shape):
            value.type = TensorType(own.dtype, shape)
        else:
            merged = [theirs if theirs is not None else mine for mine, theirs in zip(own.shape, shape, strict=True)]
            value.type = TensorType(own.dtype, tuple(merged))
        fact = self.facts.get(value)
        if fact is not None:
            self.facts[value] = replace(fact, type=value.type)

    def _stand_ins(self, operation: Any) -> list[Any]:
        """Values for the results of an operation that has no rule, so that those after it are looked at too."""
        stand_ins: list[Any] = []
        for tensor in operation.outputs:
            if tensor.dtype not in _TENSORS:
                stand_ins.append(_Missing())
                continue
            type_ = TensorType(dtype_of(tensor.dtype), static_shape(tensor))
            stand_ins += [Var(v) for v in emit("StandIn", [], {}, types=[type_], domain="unsupported", checked=False)]
        return stand_ins


@dataclass(frozen=True, slots=True)
class _Missing:
    """Stands in for a value that cannot be computed: `what` it is, or nothing where that is reported already."""

    what: str = ""
