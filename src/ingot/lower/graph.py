"""Lowering of a graph: each node to primitives by its operator's `lower` rule, or to a call that the reference runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from ingot.dataclass import dataclass
from ingot.dims import Dim, symbol, symbols
from ingot.dtypes import DType
from ingot.errors import CheckError
from ingot.infer.driver import OMITTED
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.sort import captures
from ingot.ir.tensor import SparseTensor
from ingot.ir.tensor import Tensor as Held
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.lower.program import Program
from ingot.lower.refuse import Refuses, refuse_to_lower
from ingot.lower.regions import LoweredRegions
from ingot.ops.arguments import keywords
from ingot.ops.catalog import Catalog
from ingot.ops.control.regions import Regions
from ingot.ops.define import Operator
from ingot.ops.facts import Fact
from ingot.ops.generator.keys import node_key
from ingot.ops.limit import dense
from ingot.prim.functions import ELEMENTS, FLOATING, NARROW_FLOATS, STORED
from ingot.prim.guard import Guard, assumed_equal
from ingot.prim.make import cast, constant, reshape
from ingot.prim.make import count as elements_of
from ingot.prim.region import RegionResult
from ingot.prim.size_guards import size_guards
from ingot.prim.tensor import (
    AssumeShape,
    Call,
    CallResult,
    Concat,
    KeyReader,
    Parameter,
    Permute,
    RandomKey,
    Refused,
    Reshape,
    SizeReader,
    SizeReading,
    Sizes,
    Tensor,
    assume_shape,
    scalar,
)

_UNKNOWN = Fact()

_MOST_READ = 32
"""Elements of a tensor that are read as sizes: those of a shape, and of the lengths of a Split."""


def lower_graph(
    model: Model,
    facts: Mapping[Value, Fact],
    catalog: Catalog,
    guards: Mapping[Graph, Sequence[Guard]] | None = None,
    refuses: Refuses = refuse_to_lower,
    lacks: tuple[type[Tensor], ...] = (),
) -> Program:
    """The main graph of a model, in the newest operators, inlined and typed, as a program of primitives.

    `guards` are the assumptions about sizes in each of its graphs. A node becomes a call, with the reason, if `refuses`
    has one against it, or if its operator has no `lower` rule, that rule raises Refused, or primitives of it are of a
    kind that the provider `lacks`.
    """
    program = Program()
    graph = model.graph
    program.guards.extend((guards or {}).get(graph, ()))
    shapes = {fact.type.shape for fact in facts.values() if isinstance(fact.type, TensorType)}
    sizes = frozenset(name for shape in shapes for size in shape or () if size is not None for name in symbols(size))
    lowering = _Lowering(model, catalog, program, guards or {}, refuses, lacks, sizes)
    for value in graph.inputs:
        program.inputs[value.name] = program.values[value] = _parameter(value, facts.get(value, Fact(value.type)))
        program.note_sizes(program.values[value])
    for value in graph.initializers.values():
        if value not in program.values:
            program.values[value] = _initializer(value)
    for node in graph:
        lowering.node(node, facts)
    program.guards.extend(_assumed(program.values[value] for node in graph for value in node.outputs))
    program.guards = [
        replace(guard, left=program.size(guard.left), right=program.size(guard.right)) for guard in program.guards
    ]
    return program


def _assumed(tensors: Iterable[Tensor]) -> Iterator[Guard]:
    """The guards of every assumed shape, and of the sizes of all tensors, that tensors depend on.

    Perhaps only their sizes are read, by no kernel. Bodies of loops and branches are left out: they may never run.
    """
    pending = list(tensors)
    seen: set[Tensor] = set()
    while pending:
        tensor = pending.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if isinstance(tensor, AssumeShape):
            yield from assumed_equal(tensor.x.shape, tensor.shape)
        yield from size_guards(tensor)
        pending += tensor.region.before if isinstance(tensor, RegionResult) else tensor.reads


@dataclass(frozen=True, slots=True)
class _Lowering:
    """The lowering of the graphs of one model."""

    model: Model
    catalog: Catalog
    program: Program
    guards: Mapping[Graph, Sequence[Guard]]
    refuses: Refuses
    lacks: tuple[type[Tensor], ...]
    sizes: frozenset[str]
    """All names in sizes of values of the main graph: what a run reads has other names than these."""

    def node(self, node: Node, facts: Mapping[Value, Fact]) -> None:
        """Note the tensors that a node computes, or the call by which the reference computes them."""
        program = self.program
        inputs = [None if value is None else program.values[value] for value in node.inputs]
        input_facts = [OMITTED if value is None else program.known(facts.get(value, _UNKNOWN)) for value in node.inputs]
        output_facts = [program.known(facts.get(value) or Fact(value.type)) for value in node.outputs]
        calls, lowered, guarded = len(program.calls), len(program.values), len(program.guards)
        read, drawn = len(program.readings), len(program.keys)
        try:
            for tensor in inputs:
                if tensor is not None:
                    _require_known(tensor.shape, program)
            parts = self._lowered(node, inputs, input_facts, output_facts, facts)
            results = [
                _conform(part, fact, program) if value.name else part
                for part, fact, value in zip(parts, output_facts, node.outputs, strict=True)
            ]
        except Refused as reason:
            del program.guards[guarded:]
            del program.readings[read:]
            while len(program.calls) > calls:  # of graphs inside, the last of a dict first
                program.calls.popitem()
            while len(program.values) > lowered:
                program.values.popitem()
            del program.keys[drawn:]
            results = _call(node, inputs, output_facts, program, str(reason))
            for result in results:
                program.note_sizes(result)
        program.values.update(zip(node.outputs, results, strict=True))

    def _lowered(
        self,
        node: Node,
        inputs: Sequence[Tensor | None],
        input_facts: Sequence[Fact],
        output_facts: Sequence[Fact],
        facts: Mapping[Value, Fact],
    ) -> list[Tensor]:
        """The tensors that a node computes; Refused, with the reason, by the provider or by the `lower` rule."""
        if self.model.function_of(node) is not None:
            raise Refused("a function of the model that was not inlined")
        operator = self.catalog.operator_of(node, self.model.opset_imports)
        reason = self.refuses(node, operator, input_facts, output_facts)
        if reason is not None or operator is None or "lower" not in operator.rules:
            raise Refused(reason or f"{node.op_type} has no rule")
        input_facts, output_facts = self._with_sizes_read(node, operator, inputs, input_facts, output_facts)
        self._require_inferred(node, operator, input_facts, output_facts)
        regions = self._regions(node, facts) if operator.takes("lower", "regions") else None
        parts = lower_node(node, operator, inputs, input_facts, output_facts, regions, self._read, self._draw)
        if self.lacks:
            self._require_kernels(parts, inputs)
        return parts

    def _regions(self, node: Node, facts: Mapping[Value, Fact]) -> LoweredRegions:
        """What lowers the subgraphs of a node."""
        wanted = tuple(bool(value.name) for value in node.outputs)
        return LoweredRegions(wanted, self.model, self.catalog, dict(facts), self.program, self.guards, self._within)

    def _require_kernels(self, parts: Sequence[Tensor], inputs: Sequence[Tensor | None]) -> None:
        """Refused if something between the inputs and the results of a node is of a kind that has no kernels."""
        pending, seen = list(parts), {tensor for tensor in inputs if tensor is not None}
        while pending:
            tensor = pending.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            if isinstance(tensor, self.lacks):
                raise Refused(f"there is no kernel for {type(tensor).__name__.lower()}")
            pending += tensor.reads

    def _with_sizes_read(
        self,
        node: Node,
        operator: Operator,
        inputs: Sequence[Tensor | None],
        input_facts: Sequence[Fact],
        output_facts: Sequence[Fact],
    ) -> tuple[Sequence[Fact], Sequence[Fact]]:
        """The facts of a node; elements of inputs that sizes follow from are read, where a run computes them."""
        if not operator.size_inputs:
            return input_facts, output_facts
        facts = list(input_facts)
        for place, (tensor, fact, formal) in enumerate(zip(inputs, input_facts, operator.inputs, strict=False)):
            if tensor is None or formal.name not in operator.size_inputs or tensor.dtype not in ELEMENTS:
                continue
            many = elements_of(tensor.shape)
            if not isinstance(many, int) or many > _MOST_READ:
                continue
            known = fact.elements or (None,) * many
            if None in known:
                named = self._read(reshape(cast(tensor, DType.INT64), (many,)))
                elements = [name if size is None else size for name, size in zip(named, known, strict=True)]
                facts[place] = replace(fact, elements=tuple(elements))
        if facts == list(input_facts):
            return input_facts, output_facts
        arguments = {**operator.defaults, **keywords(operator, node)}
        try:
            parts = operator.apply("infer", facts, arguments, outputs=len(node.outputs))
        except CheckError as error:
            raise Refused(error.message) from None
        return facts, [part if isinstance(part, Fact) else Fact(part) for part in parts]

    def _read(self, x: Tensor) -> Sizes:
        """The elements of a tensor as sizes: see `SizeReader`."""
        program = self.program
        (many,) = x.shape
        assert x.dtype is DType.INT64
        assert isinstance(many, int)
        used, known = self.sizes, program.known_sizes
        fresh = (name for number in count() if (name := f"read_{number}") not in used and name not in known)
        names = [symbol(next(fresh)) for _ in range(many)]
        result = CallResult(DType.UNDEFINED, tuple(names), SizeReading(x), 0, opaque=True)
        program.readings.append(result)
        program.note_sizes(result)
        return result.shape

    def _draw(self, seed: float | None) -> Tensor:
        """A key of random numbers: see `KeyReader`."""
        if seed is not None:
            return scalar(node_key(seed), DType.UINT64)
        keys = self.program.keys
        keys.append(CallResult(DType.UINT64, (1,), RandomKey(keys[-1] if keys else None), 0))
        return reshape(keys[-1], ())

    def _require_inferred(
        self, node: Node, operator: Operator, input_facts: Sequence[Fact], output_facts: Sequence[Fact]
    ) -> None:
        """Refused where a rule would take sizes as the model declares them, and a run computes others perhaps.

        A call has the sizes that it has: those declared are guards on its results. Names that inference invented
        promise nothing, and rules that read computed sizes themselves need no promise.
        """
        if not operator.takes("lower", "inferred") or operator.takes("lower", "read") or "infer" not in operator.rules:
            return
        if all(fact.elements is not None or fact.constant is not None for fact in input_facts[1:] if fact.present):
            return
        arguments = {**operator.defaults, **keywords(operator, node)}
        parts = operator.apply("infer", list(input_facts), arguments, outputs=len(node.outputs))
        for part, fact in zip(parts, output_facts, strict=False):
            inferred = (part if isinstance(part, Fact) else Fact(part)).shape
            if inferred is None and fact.shape is not None:
                raise Refused(f"axes that a run computes, {len(fact.shape)} are declared")
            for place, size in enumerate(fact.shape or ()):
                is_declared = size is not None and symbols(size) <= self.program.known_sizes
                if is_declared and inferred is not None and inferred[place] is None:
                    raise Refused(f"a size that a run computes, declared {size}")

    def _is_decided_outside(self, node: Node) -> bool:
        """Whether a node is an If whose sizes can be read before all regions: by a condition of the main graph."""
        condition = node.inputs[0] if node.applies("If") else None
        return condition is not None and condition.graph is self.model.graph

    def _within(self, graph: Graph, facts: Mapping[Value, Fact]) -> list[Tensor]:
        """The results of a subgraph of a node; Refused if one of its nodes became a call."""
        program = self.program
        for value in graph.initializers.values():
            program.values.setdefault(value, _initializer(value))
        read, drawn = len(program.readings), len(program.keys)
        for node in graph:
            self.node(node, facts)
            call = program.calls.get(node)
            if call is not None:
                raise Refused(f"{node.op_type} in it: {call.reason}")
            if len(program.keys) > drawn:
                raise Refused(f"{node.op_type} in it: random numbers that each of its runs draws")
            if len(program.readings) > read and not self._is_decided_outside(node):
                raise Refused(f"{node.op_type} in it: a size that its run computes")
            read = len(program.readings)
        results = [program.values[value] for value in graph.outputs]
        for tensor in results:
            if tensor.dtype not in STORED or (isinstance(tensor, CallResult) and tensor.opaque):
                raise Refused("a result that is no tensor of numbers")
        return results


def lower_node(
    node: Node,
    operator: Operator,
    inputs: Sequence[Tensor | None],
    input_facts: Sequence[Fact],
    output_facts: Sequence[Fact],
    regions: Regions | None = None,
    read: SizeReader | None = None,
    draw: KeyReader | None = None,
) -> list[Tensor]:
    """The tensors that a node computes; Refused, with the reason, if its operator cannot be lowered.

    16-bit floats are computed with in float32 and rounded to the types of the outputs; control flow passes them on.
    """
    for tensor, fact in zip(inputs, input_facts, strict=True):
        if (
            tensor is not None
            and tensor.dtype is DType.UNDEFINED
            and (isinstance(tensor, CallResult) or not isinstance(fact.type, TensorType))
        ):
            raise Refused("an input that is no tensor of numbers")
        if tensor is not None and tensor.dtype is DType.UNDEFINED and fact.shape is None:
            raise Refused("an input of unknown rank")
    if not operator.takes("lower", "regions"):
        inputs = [
            cast(tensor, DType.FLOAT32) if tensor is not None and tensor.dtype in NARROW_FLOATS else tensor
            for tensor in inputs
        ]
    arguments = {**operator.defaults, **keywords(operator, node)}
    parts = operator.apply(
        "lower",
        _without_trailing_none(list(inputs)),
        arguments,
        facts=tuple(input_facts),
        inferred=tuple(output_facts),
        regions=regions,
        read=read,
        draw=draw,
    )
    computed = [part for part in parts if isinstance(part, Tensor)]
    if len(computed) < len(parts) or len(parts) < len(output_facts):
        raise Refused("an output that is not computed")
    return computed[: len(output_facts)]


def _conform(part: Tensor, fact: Fact, program: Program) -> Tensor:
    """The result of a `lower` rule with its inferred type; names that inference invented are bound to its sizes."""
    type_ = fact.type
    assert isinstance(type_, TensorType)
    if part.dtype is not type_.dtype:
        part = _cast_inside(part, type_.dtype)
    if part.shape == type_.shape and type_.dtype in STORED:
        _require_known(part.shape, program)
        return part
    sized = _sized(fact)
    if sized is None or len(sized[1]) != part.rank:
        raise Refused(f"sizes {list(map(str, part.shape))} where inference found {list(map(str, type_.shape or ()))}")
    sizes: list[Dim] = []
    for own, wanted in zip(part.shape, sized[1], strict=True):
        name = str(wanted)
        is_invented = symbols(wanted) == {name} and name not in program.known_sizes
        sizes.append(own if is_invented else wanted)
        _require_known(sizes[-1:], program)
        if is_invented and name not in program.sizes:
            program.sizes[name] = own
    return assume_shape(part, tuple(sizes))


def _cast_inside(part: Tensor, dtype: DType) -> Tensor:
    """A result in another type: cast before its elements are moved, by the kernel that computes them."""
    if isinstance(part, Permute | Reshape) and part.dtype in FLOATING:
        return replace(part, dtype=dtype, x=_cast_inside(part.x, dtype))
    if isinstance(part, Concat) and part.dtype in FLOATING:
        return replace(part, dtype=dtype, parts=tuple(_cast_inside(each, dtype) for each in part.parts))
    return cast(part, dtype)


def _require_known(sizes: Sequence[Dim], program: Program) -> None:
    """Refused for a size with a name that no input and no call result has: no kernel could be passed it."""
    for size in sizes:
        if not isinstance(size, int) and not size.symbols <= program.known_sizes:
            raise Refused(f"a statically unknown size '{size}'")


def _without_trailing_none(inputs: list[Tensor | None]) -> list[Tensor | None]:
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
    return inputs


def _parameter(value: Value, fact: Fact) -> Tensor:
    sized = _sized(fact)
    return Parameter(*sized, value.name) if sized else Parameter(DType.UNDEFINED, (), value.name)


def _sized(fact: Fact) -> tuple[DType, Sizes] | None:
    """The element type and sizes of what primitives can compute with; None for anything else."""
    type_ = fact.type
    if not isinstance(type_, TensorType) or type_.dtype not in STORED or type_.shape is None:
        return None
    sizes = tuple(size for size in type_.shape if size is not None)
    return (type_.dtype, sizes) if len(sizes) == len(type_.shape) else None


def _initializer(value: Value) -> Tensor:
    if isinstance(value.constant, Held):
        return constant(value.constant.numpy())
    if isinstance(value.constant, SparseTensor) and (value.uses or value.is_output):
        return constant(dense(value.constant).numpy())
    return Parameter(DType.UNDEFINED, (), value.name)


def _call(
    node: Node, inputs: Sequence[Tensor | None], output_facts: Sequence[Fact], program: Program, reason: str
) -> list[Tensor]:
    """The results of a node that the reference runs; its call also reads what its subgraphs capture."""
    outer = [program.values[value] for graph in node.subgraphs for value in dict.fromkeys(captures(graph))]
    call = Call(node, (*inputs, *outer), reason)
    program.calls[node] = call
    results: list[Tensor] = []
    for index, fact in enumerate(output_facts):
        sized = _sized(fact)
        if sized is None:
            results.append(CallResult(DType.UNDEFINED, (), call, index, opaque=True))
        else:
            results.append(CallResult(*sized, call, index))
    return results
