"""From a model to a plan: the stages in order, each a function from one thing to the next, whose result can be shown.

    load ▸ repair ▸ check ▸ upgrade ▸ type ▸ specialise ▸ optimise ▸ lower ▸ fuse ▸ schedule ▸ emit ▸ link ▸ plan

The first five make a model ready for any provider (`prepare`, and `repair_and_prepare`, which repairs only what
`prepare` refuses), the others compile it for one (`compile_model`); of these the provider itself does the last four,
which know the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from ingot.dataclass import dataclass
from ingot.errors import CheckError, CompileError, IngotError
from ingot.fuse.build import Fused
from ingot.fuse.fuse import fuse
from ingot.infer.typed import TypedModel, type_model
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.names import separate_scopes
from ingot.ir.node import Node
from ingot.ir.types import Shape, TensorType, Type, map_shapes
from ingot.ir.verify import verify
from ingot.loops.ir import kernels_in
from ingot.loops.verify import verify_kernel
from ingot.lower.graph import lower_graph
from ingot.lower.hoist_invariants import hoist_invariants
from ingot.lower.outline import outline
from ingot.lower.program import Program
from ingot.lower.roots import roots_of
from ingot.lower.specialise import specialise
from ingot.lower.specialise_branches import Guards, Specialised, specialise_branches
from ingot.ops.catalog import Catalog
from ingot.ops.limit import allowing
from ingot.passes.before_lowering import before_lowering
from ingot.prim.tensor import Call, Tensor
from ingot.prim.verify import verified
from ingot.prim.verify import verify as verify_program
from ingot.runtime.ended_work import Proceed, Unwanted
from ingot.runtime.executable import Executable
from ingot.runtime.garbage import uncollected
from ingot.runtime.limits import LimitError, RunLimits, refuse_nesting, within_the_stack
from ingot.runtime.make_plan import make_plan
from ingot.runtime.plan import Body, Plan
from ingot.runtime.provider import Compiler
from ingot.schedule.schedule import Scheduled
from ingot.versions.upgrade import upgrade

if TYPE_CHECKING:
    from ingot.repair.record import Repair


def prepare(
    loaded: Model,
    catalog: Catalog,
    limits: RunLimits,
    without: Iterable[str] = (),
    shapes: Mapping[str, Shape] | None = None,
) -> TypedModel:
    """A model that was loaded, which is left as it is, ready for any provider.

    `without` are inputs whose defaults are forgotten, as callers give them. With `shapes` the inputs of these names
    have these, and what else the model declares of shapes is forgotten. CheckError if the model breaks the
    standard, LimitError if it nests deeper than a run may follow.
    """
    refuse_nesting(loaded, limits)
    with within_the_stack(), uncollected():
        checked = check_structure(loaded, without)
        newest = upgrade_operators(checked, catalog)
        reshaped = newest if shapes is None else redeclare_shapes(newest, shapes)
        return type_model(reshaped, catalog, limits.calls, overrule=shapes is not None)


def repair_and_prepare(loaded: Model, catalog: Catalog, limits: RunLimits) -> Prepared:
    """The same, where a model that breaks the standard is repaired first; CheckError if it cannot be.

    What was repaired is logged, at debug level.
    """
    try:
        return Prepared(loaded, prepare(loaded, catalog, limits), ())
    except CheckError as error:
        refusal = error
    import logging  # few models come here, and these are slow to import

    from ingot.repair.apply_rules import repaired_copy

    with within_the_stack(), allowing(limits.most_bytes):
        model, repairs = repaired_copy(loaded, refusal, catalog=catalog)
    typed = prepare(model, catalog, limits)
    for repaired in repairs:
        logging.getLogger("ingot").debug("repaired %s", repaired)
    return Prepared(model, typed, repairs)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model ready for any provider, typed and as it was before that; and what was repaired in it."""

    model: Model
    typed: TypedModel
    repairs: tuple[Repair, ...]


def compile_model(typed: TypedModel, provider: Compiler, options: Options) -> Build:
    """A typed model compiled by a provider; CompileError if that fails: a fault of ingot's, not of the model's."""
    try:
        with uncollected():
            specialised = specialise(typed, options.catalog, options.level)
            artifacts = _Compilation(provider, options).of(specialised)
    except (CompileError, LimitError, Unwanted):
        raise
    except Exception as error:  # CheckError too: the model is typed already
        what = error.message if isinstance(error, IngotError) else f"{type(error).__name__}: {error}"
        raise CompileError(f"the model could not be compiled: {what}") from error
    model, most = artifacts.optimised.model, options.limits.most_bytes
    return Build(artifacts, Executable(artifacts.plan, artifacts.outputs, lambda: model, most))


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is compiled: for how many threads (by default what the provider has), and how far it is optimised.

    `level` is 0 to change nothing, 1 for what leaves every result as it is, 2 for what may round differently.
    """

    catalog: Catalog
    threads: int | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    level: int = 2
    proceed: Proceed | None = None
    """Called between stages; what it raises ends the compilation."""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The result of every stage, for a model or for an outlined body of it."""

    specialised: Specialised
    optimised: Optimised
    program: Program
    fused: Fused
    scheduled: Scheduled
    plan: Plan
    outputs: tuple[Tensor, ...]
    bodies: Mapping[Call, tuple[Artifacts | None, ...]] = field(default_factory=dict)
    """The subgraphs of nodes that the provider refuses, in order, where they are outlined and compiled."""
    name: str = ""
    """The prefix of kernel names: empty, or the name of a body."""
    invariants: Artifacts | None = None
    """The loop invariants of a body, hoisted out of it."""


@dataclass(frozen=True, slots=True)
class Optimised(Specialised):
    """A specialised model after the passes; `removed` are the nodes that nothing is left of."""

    removed: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Build:
    """A compiled model: the result of every stage, and what runs it."""

    artifacts: Artifacts
    executable: Executable


def check_structure(model: Model, without: Iterable[str] = ()) -> Model:
    """A copy of a model, of checked structure, without the defaults of some inputs; CheckError if it is broken.

    A value of a subgraph that may hide one around it has a name of its own in the copy.
    """
    copy = model.copy()
    for name in without:
        copy.graph.initializers.remove(name)
    verify(copy)
    separate_scopes(copy)
    return copy


def upgrade_operators(model: Model, catalog: Catalog) -> Model:
    """A model, which belongs to the result from now on, in the newest operators."""
    upgrade(model, catalog=catalog)
    return model


def redeclare_shapes(model: Model, shapes: Mapping[str, Shape]) -> Model:
    """A model, which belongs to the result from now on, that declares these shapes of inputs, and no other sizes.

    Inputs of subgraphs keep sizes that are numbers, and all other values their ranks, unless the shapes leave no size
    open: then what is declared was wrong before, and inputs of subgraphs keep their ranks, other values nothing.
    """
    is_exact = all(isinstance(size, int) for shape in shapes.values() for size in shape)
    of_inputs = _without_sizes if is_exact else _without_names
    of_others = _without_shape if is_exact else partial(map_shapes, change=_without_sizes)
    for graph in model.graphs():
        inputs = set(graph.inputs)
        for value in graph.values():
            if value in inputs and value.type is not None:
                value.type = map_shapes(value.type, _without_names if graph is model.graph else of_inputs)
            elif value.type is not None and value.constant is None:
                value.type = of_others(value.type)
    for value in model.graph.inputs:
        if isinstance(value.type, TensorType) and value.name in shapes:
            value.type = TensorType(value.type.dtype, shapes[value.name])
    return model


def _without_names(shape: Shape) -> Shape:
    return tuple(size if isinstance(size, int) else None for size in shape)


def _without_sizes(shape: Shape) -> Shape:
    return (None,) * len(shape)


def _without_shape(type_: Type) -> Type:
    return TensorType(type_.dtype) if isinstance(type_, TensorType) else map_shapes(type_, _without_sizes)


def optimise(specialised: Specialised, level: int, catalog: Catalog) -> Optimised:
    """A specialised model after the passes of an optimisation level."""
    twin = specialised.copy()
    nodes = list(twin.model.graph)
    before_lowering(twin.model, twin.facts, level, catalog)
    removed = tuple(node for node in nodes if node.graph is None)
    return Optimised(twin.model, twin.facts, twin.guards, twin.changed, removed)


@dataclass(frozen=True, slots=True)
class _Compilation:
    """The compilation of one model and of the bodies in it, which are numbered."""

    provider: Compiler
    options: Options
    names: list[str] = field(default_factory=list)
    """The names of the bodies that are compiled."""

    def of(self, specialised: Specialised, name: str = "") -> Artifacts:
        """The stages from a specialised model to its plan; names of kernels begin with `name`."""
        provider, options = self.provider, self.options
        self._proceed()
        optimised = optimise(specialised, options.level, options.catalog)
        program = lower_graph(
            optimised.model, optimised.facts, options.catalog, optimised.guards, refuses=provider.refuses
        )
        outputs = tuple(program.values[value] for value in optimised.model.graph.outputs)
        roots = verified(roots_of(program, outputs), verify_program)
        self._proceed()
        fused = verified(fuse(roots, provider.limits(), name), _verify_kernels)
        self._proceed()
        scheduled = verified(provider.schedule(fused), _verify_kernels)
        self._proceed()
        emitted = provider.emit(scheduled)
        bodies = {call: self._bodies(call, program, optimised) for call in _calls_with_bodies(fused)}
        constants = provider.hold(scheduled)
        self._proceed()
        code = provider.link(emitted)
        plans = {call: tuple(body.plan for body in own) for call, own in bodies.items()}
        threads = options.threads or provider.threads
        plan = make_plan(
            program, scheduled, roots, code, constants, threads, options.limits.nodes, plans, provider.memory
        )
        inside = {call: tuple(body.artifacts for body in own) for call, own in bodies.items()}
        return Artifacts(specialised, optimised, program, fused, scheduled, plan, outputs, inside, name)

    def _proceed(self) -> None:
        if self.options.proceed is not None:
            self.options.proceed()

    def _bodies(self, call: Call, program: Program, around: Optimised) -> tuple[_Body, ...]:
        return tuple(self._body(call, graph, program, around) for graph in call.node.subgraphs)

    def _body(self, call: Call, graph: Graph, program: Program, around: Optimised) -> _Body:
        """A subgraph of the node of a call, outlined and compiled; without a plan where that leaves no kernel.

        Where branches in it were decided by an assumption, the subgraph is right only while that holds, so that it is
        `strict`: if it has no plan, no run can check the guard.
        """
        catalog = self.options.catalog
        strict = any(inner in around.changed for inner in nested_graphs(graph))
        none = _Body(Body(None, (), (), (), 0, strict) if strict else None)
        outlined = outline(call, graph, program, around.model, around.facts, catalog)
        if outlined is None:
            return none
        twins = zip(nested_graphs(graph), nested_graphs(outlined.model.graph), strict=True)
        guards = {twin: around.guards[inner] for inner, twin in twins if inner in around.changed}
        around_names = tuple(outlined.model.graph.inputs.names)[len(graph.inputs) :]
        captured = tuple(value.name for value in outlined.captured)
        named = len(self.names)
        try:
            hoisted = None if call.node.applies("If") else hoist_invariants(outlined, catalog)
            names = tuple(outlined.model.graph.inputs.names)
            body = self.of(specialise_branches(outlined.model, catalog, outlined.input_facts, guards), self._name())
            if hoisted is not None:
                invariants = self.of(specialise_branches(hoisted.model, catalog, hoisted.input_facts), self._name())
                body = replace(body, invariants=invariants)
        except CheckError:  # types that do not fit where they are more exact: the run will say so
            del self.names[named:]
            return none
        if not (_can_check(guards, body) if strict else _has_kernels(body)):
            del self.names[named:]
            return none
        first = body.invariants
        once = None
        if first is not None:
            once = Body(first.plan, around_names, (), first.outputs, len(first.optimised.model.graph))
        return _Body(Body(body.plan, names, captured, body.outputs, len(graph), strict, once), body)

    def _name(self) -> str:
        """The name of one more body."""
        self.names.append(f"b{len(self.names) + 1}")
        return self.names[-1]


@dataclass(frozen=True, slots=True)
class _Body:
    """A body as a plan, and the stages it came from; None where it is not compiled."""

    plan: Body | None
    artifacts: Artifacts | None = None


def _verify_kernels(stage: Fused | Scheduled) -> None:
    for kernel in kernels_in(stage.steps):
        verify_kernel(kernel)


def _calls_with_bodies(fused: Fused) -> list[Call]:
    return [step for step in fused.steps if isinstance(step, Call) and step.node.subgraphs]


def _has_kernels(body: Artifacts) -> bool:
    """Whether there is a kernel in a body, or in one inside of it."""
    return any(segment.steps for segment in body.plan.segments) or any(map(any, body.bodies.values()))


def _can_check(guards: Guards, body: Artifacts) -> bool:
    """Whether a run of a body knows all sizes that its guards compare."""
    return all(guard.names <= body.program.known_sizes for own in guards.values() for guard in own)
