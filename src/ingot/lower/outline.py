"""Outlining: the subgraph of a node that the reference runs as a model of its own, typed for every run of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from ingot.dataclass import dataclass
from ingot.dims import Dim, Expr, symbol, symbols
from ingot.errors import CheckError
from ingot.infer import infer
from ingot.infer.driver import Facts
from ingot.ir.clone import copy_function, copy_graph
from ingot.ir.domains import TRAINING
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.sort import captures
from ingot.ir.tensor import Tensor as Held
from ingot.ir.types import Shape, TensorType, Type, map_shapes
from ingot.ir.value import Value
from ingot.lower.program import Program
from ingot.ops.catalog import Catalog
from ingot.ops.control.bodies import first_types, repeats, states
from ingot.ops.control.carried import joined
from ingot.ops.facts import Fact
from ingot.prim.functions import STORED
from ingot.prim.tensor import Call, CallResult, Constant, Tensor

_MOST_ROUNDS = 8
"""How often a body is typed until the types of its states no longer change."""


@dataclass(frozen=True, slots=True)
class Outlined:
    """A body as a model: its inputs are those of the subgraph, then the captured values that are no constants.

    `captured` are the latter, as values around the node; `input_facts` is what is known of inputs beside their types.
    """

    model: Model
    captured: tuple[Value, ...]
    input_facts: Mapping[Value, Fact]


def outline(
    call: Call, graph: Graph, program: Program, model: Model, facts: Facts, catalog: Catalog
) -> Outlined | None:
    """A subgraph of the node of a call as a model; None if it has a Gradient node, or no types fit it."""
    if any(node.applies("Gradient", domain=TRAINING) for inner in nested_graphs(graph) for node in inner):
        return None
    outlining = _Outlining(call, graph, program, model, facts, catalog)
    try:
        return outlining.of_loop() if repeats(call.node) else outlining.of_types(outlining.first_types())
    except CheckError:
        return None


@dataclass(slots=True)
class _Outlining:
    call: Call
    graph: Graph
    program: Program
    model: Model
    facts: Facts
    catalog: Catalog

    def of_loop(self) -> Outlined:
        """The model of a body that runs over and over: a size that differs from run to run gets a name of its own."""
        types = self.first_types()
        carried = states(self.call.node, self.graph)
        for _ in range(_MOST_ROUNDS):
            outlined = self.of_types(types)
            twin = outlined.model.copy()
            same = dict(zip(outlined.model.graph.inputs, twin.graph.inputs, strict=True))
            after = infer(
                twin,
                catalog=self.catalog,
                input_facts={same[value]: fact for value, fact in outlined.input_facts.items()},
            )
            changed = list(types)
            for place, output in carried:
                changed[place] = self._either(types[place], after[twin.graph.outputs[output]].type, place)
            if changed == types:
                return outlined
            types = changed
        raise CheckError("types that change with every run")

    def first_types(self) -> list[Type | None]:
        """The types of the inputs of the subgraph in its first run."""
        if repeats(self.call.node):
            return first_types(self.call.node, self.graph, [self._type(value) for value in self.call.node.inputs])
        return [self.facts.get(value, Fact(value.type)).type for value in self.graph.inputs]

    def of_types(self, types: Sequence[Type | None]) -> Outlined:
        """The model of the subgraph, with inputs of these types."""
        around = dict.fromkeys(captures(self.graph))
        names = {value.name for inner in nested_graphs(self.graph) for value in inner.values()}
        known: dict[Value, Value] = {}
        captured: list[Value] = []
        for value in around:
            name = value.name
            while name in names:
                name += "_"
            names.add(name)
            known[value] = Value(name, constant=self._constant(value))
            if known[value].constant is None:
                known[value].type = self._type(value)
                captured.append(value)
        twin = copy_graph(self.graph, known)
        for value, type_ in zip(twin.inputs, types, strict=True):
            value.type = type_
        for value in around:
            if known[value].constant is None:
                twin.inputs.append(known[value])
            else:
                twin.initializers.add(known[value])
        rename = name_sizes(twin.inputs)
        input_facts = {
            known[value]: Fact(known[value].type, elements=rename(fact.elements))
            for value in captured
            if (fact := self.program.known(self.facts.get(value, Fact()))).elements is not None
        }
        functions = map(copy_function, self.model.functions.values())
        model = Model(twin, self.model.opset_imports, functions=functions, ir_version=self.model.ir_version)
        return Outlined(model, tuple(captured), input_facts)

    def _either(self, before: Type | None, after: Type | None, place: int) -> Type | None:
        """A type that holds before a run and after it; a size that differs gets a name of its own."""
        if before is None or after is None or before == after:
            return before if after is not None else None
        if not isinstance(before, TensorType) or not isinstance(after, TensorType):
            try:
                return joined(before, after)
            except CheckError:
                return None
        if before.dtype is not after.dtype:
            return None
        if before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
            return TensorType(before.dtype)
        own = [self._own(place, axis) for axis in range(len(before.shape))]
        pairs = zip(before.shape, after.shape, own, strict=True)
        return TensorType(before.dtype, tuple(one if one == other else name for one, other, name in pairs))

    def _own(self, place: int, axis: int) -> Dim:
        """The name of a size of an input that differs from run to run."""
        stem = re.sub(r"\W+", "_", f"{self.graph.inputs[place].name}_{axis}", flags=re.ASCII)
        return symbol(f"each_{stem}")

    def _type(self, value: Value | None) -> Type | None:
        tensor = None if value is None else self.program.values[value]
        if value is None or tensor is None:
            return None
        if tensor.dtype in STORED and not (isinstance(tensor, CallResult) and tensor.opaque):
            return TensorType(tensor.dtype, tensor.shape)
        return self.facts.get(value, Fact(value.type)).type

    def _constant(self, value: Value) -> Held | None:
        if isinstance(value.constant, Held) and not value.is_input:
            return value.constant
        tensor: Tensor = self.program.values[value]
        return Held(tensor.array) if isinstance(tensor, Constant) else None


def name_sizes(inputs: Iterable[Value]) -> _SizeNames:
    """Make every size of inputs a name of one axis: `2*n` gets a new name if no axis is `n`. Returns the renaming."""
    listed = list(inputs)
    sizes = [size for value in listed if isinstance(value.type, TensorType) for size in value.type.shape or ()]
    rename = _SizeNames({str(size) for size in sizes if size is not None and symbols(size) == {str(size)}})
    for value in listed:
        value.type = None if value.type is None else map_shapes(value.type, rename)
    return rename


@dataclass(frozen=True, slots=True)
class _SizeNames:
    """A renaming of sizes: expressions of `names` stay; any other expression becomes a name of its own."""

    names: set[str]
    others: dict[Dim, Dim] = field(default_factory=dict)

    def __call__(self, shape: Shape) -> Shape:
        return tuple(self._size(size) for size in shape)

    def _size(self, size: Dim | None) -> Dim | None:
        if not isinstance(size, Expr) or symbols(size) <= self.names:
            return size
        if size not in self.others:
            name = f"whole_{len(self.others)}"
            while name in self.names:
                name += "_"
            self.others[size] = symbol(name)
        return self.others[size]
