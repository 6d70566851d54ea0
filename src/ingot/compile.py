"""From a model to machine code that runs: the stages in order, each a function whose result can be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ingot.codegen.llvm.host import host
from ingot.dims import symbols
from ingot.errors import CheckError, CompileError, IngotError
from ingot.fuse.fuse import Fused, fuse, sizes_of
from ingot.ir.graph import Graph
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import Shape, map_shapes
from ingot.ir.value import Value
from ingot.lower.graph import Program, lower_graph
from ingot.lower.hoist_invariants import hoist_invariants
from ingot.lower.outline import outline
from ingot.lower.specialise_branches import Guards, Specialised, specialise_branches
from ingot.ops.catalog import Catalog
from ingot.ops.facts import Fact
from ingot.passes.before_lowering import before_lowering
from ingot.passes.inline import inline_functions
from ingot.prim.tensor import Call, CallResult, Tensor
from ingot.prim.walk import in_order
from ingot.providers.cpu import plan_of
from ingot.runtime.executable import Executable
from ingot.runtime.limits import RunLimits
from ingot.runtime.plan import Body, Plan
from ingot.runtime.team import processors
from ingot.schedule.target import Target


@dataclass(frozen=True, slots=True)
class Artifacts:
    """A plan, and the stages it came from; `model` is what was lowered, of `removed` nothing was left by then.

    `bodies` are the graphs inside of nodes that the reference runs, in order, where they are compiled by themselves.
    """

    model: Model
    program: Program
    fused: Fused
    plan: Plan
    outputs: tuple[Tensor, ...]
    removed: tuple[Node, ...] = ()
    bodies: Mapping[Call, tuple[Artifacts | None, ...]] = field(default_factory=dict)
    name: str = ""
    """What the names of kernels begin with: nothing, or the name of a body."""
    first: Artifacts | None = None
    """What every run of a body would compute alike, taken out of it."""


@dataclass(frozen=True, slots=True)
class Build:
    """A model compiled: the stages it went through, and what runs it."""

    compiled: Artifacts
    executable: Executable


def compile_model(
    model: Model, catalog: Catalog, target: Target, threads: int, limits: RunLimits | None = None, level: int = 2
) -> Artifacts:
    """A plan for the outputs of a model in the newest operators, which is typed here and optimised to a level."""
    _forget_negative_sizes(model)
    inline_functions(model)
    return _Compiling(catalog, target, threads, limits or RunLimits(), level).model(model)


@dataclass(frozen=True, slots=True)
class _Compiling:
    """The compilation of a model and of the bodies in it."""

    catalog: Catalog
    target: Target
    threads: int
    limits: RunLimits
    level: int
    bodies: list[None] = field(default_factory=list)
    """As many as there are bodies, which are numbered."""

    def model(
        self, model: Model, given: Mapping[Value, Fact] | None = None, claims: Guards | None = None, prefix: str = ""
    ) -> Artifacts:
        """A plan for a model; `given` is what is known of its inputs, `claims` what was taken to be equal before."""
        settling = specialise_branches(model, self.catalog, given, claims)
        nodes = list(model.graph)
        before_lowering(model, settling.facts, self.level, self.catalog)
        removed = tuple(node for node in nodes if node.graph is None)
        program = lower_graph(model, settling.facts, self.catalog, settling.claims)
        outputs = tuple(program.values[value] for value in model.graph.outputs)
        stored = _stored([*_tellers(outputs, program), *outputs])
        fused = fuse(stored, prefix)
        calls = [step for step in fused.steps if isinstance(step, Call) and step.node.subgraphs]
        found = {
            call: [self._body(call, graph, program, model, settling) for graph in call.node.subgraphs] for call in calls
        }
        bodies = {call: tuple(body for _, body in pairs) for call, pairs in found.items()}
        plan = plan_of(program, fused, stored, self.target, self.threads, self.limits.nodes, bodies)
        inside = {call: tuple(compiled for compiled, _ in pairs) for call, pairs in found.items()}
        return Artifacts(model, program, fused, plan, outputs, removed, inside, prefix)

    def _body(
        self, call: Call, graph: Graph, program: Program, model: Model, settling: Specialised
    ) -> tuple[Artifacts | None, Body | None]:
        """A graph inside of the node of a call, compiled by itself; nothing where that would leave no kernel."""
        strict = any(each in settling.changed for each in nested_graphs(graph))
        never = Body(None, (), (), (), 0, strict) if strict else None
        found = outline(call, graph, program, model, settling.facts, self.catalog)
        if found is None:
            return None, never
        twins = zip(nested_graphs(graph), nested_graphs(found.model.graph), strict=True)
        claims = {twin: settling.claims[each] for each, twin in twins if each in settling.changed}
        around = tuple(found.model.graph.inputs.names)[len(graph.inputs) :]
        captured = tuple(value.name for value in found.captured)
        before = len(self.bodies)
        try:
            out = hoist_invariants(found, self.catalog) if call.node.op_type != "If" else None
            taken = tuple(found.model.graph.inputs.names)
            made = self.model(found.model, found.given, claims, self._number())
            first = None if out is None else self.model(out.model, out.given, None, self._number())
        except CheckError:  # types that do not fit where they are more exact: what runs will say so
            made = None
        if made is not None and (_is_told(claims, made) if strict else _is_of_use(made)):
            once = None if first is None else Body(first.plan, around, (), first.outputs, len(first.model.graph))
            body = Body(made.plan, taken, captured, made.outputs, len(graph), strict, once)
            return replace(made, first=first), body
        del self.bodies[before:]
        return None, never

    def _number(self) -> str:
        """The name of one more body."""
        self.bodies.append(None)
        return f"b{len(self.bodies)}"


def _is_of_use(body: Artifacts) -> bool:
    """Whether there is a kernel in a body, or in one inside of it."""
    return any(segment.kernels for segment in body.plan.segments) or any(map(any, body.bodies.values()))


def _is_told(claims: Guards, body: Artifacts) -> bool:
    """Whether a run can tell what was taken to be equal."""
    sizes = [size for pairs in claims.values() for pair in pairs for size in pair]
    return all(symbols(size) <= body.program.told for size in sizes)


def _forget_negative_sizes(model: Model) -> None:
    """Take declared sizes below zero for what they are meant to be: unknown."""
    for graph in model.graphs():
        for value in graph.values():
            if value.type is not None:
                value.type = map_shapes(value.type, _without_negatives)


def _without_negatives(shape: Shape) -> Shape:
    return tuple(None if isinstance(size, int) and size < 0 else size for size in shape)


def _tellers(outputs: Sequence[Tensor], program: Program) -> list[Tensor]:
    """Results of calls of which only the sizes are needed: nothing on the way to the outputs reads them.

    A size that is needed may be taken to be equal to one of theirs, of which a run is to make sure.
    """
    found: list[Tensor] = []
    results = {tensor: None for tensor in program.values.values() if isinstance(tensor, CallResult)}
    while True:
        reached = in_order([*found, *outputs])
        given = [tensor for tensor in reached if isinstance(tensor, CallResult)] + list(program.inputs.values())
        told = {str(size) for tensor in given for size in tensor.shape}
        names = {name for tensor in reached for size in sizes_of(tensor) for name in symbols(size)}
        pairs = [symbols(one) | symbols(other) for one, other in program.claims]
        names = names.union(*(pair for pair in pairs if pair & names)) - told
        more = next((tensor for tensor in results if names & {str(size) for size in tensor.shape}), None)
        if more is None:
            return found
        found.append(more)


def _stored(outputs: Sequence[Tensor]) -> list[Tensor]:
    """The outputs, and what calls on the way to them are given: these are seen from outside."""
    found: dict[Tensor, None] = {}
    for tensor in in_order(outputs):
        if isinstance(tensor, CallResult):
            found.update(dict.fromkeys(each for each in tensor.call.arguments if each is not None))
    found.update(dict.fromkeys(outputs))
    return list(found)


def executable(
    model: Model,
    catalog: Catalog,
    threads: int | None = None,
    limits: RunLimits | None = None,
    level: int = 2,
) -> Build:
    """A model in the newest operators and of checked structure, which is typed and changed here, compiled.

    Inputs that have defaults are these, as constants. CompileError if that goes wrong: a fault of ingot's, not of the
    model's.
    """
    inputs_to_initializers(model)
    try:
        compiled = compile_model(model, catalog, host(), threads or processors(), limits, level)
    except IngotError:
        raise
    except Exception as error:
        raise CompileError(f"the model could not be compiled: {type(error).__name__}: {error}") from error
    most = (limits or RunLimits()).most_bytes
    return Build(compiled, Executable(compiled.plan, compiled.outputs, lambda: model, most))
