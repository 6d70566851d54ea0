"""From a model to a plan: the stages in order, each a function from one thing to the next, whose result can be shown.

    load ▸ repair ▸ check ▸ upgrade ▸ type ▸ specialise ▸ optimise ▸ lower ▸ fuse ▸ schedule ▸ emit ▸ link ▸ plan

The first five make a model ready for any provider (`prepare.py`), the others compile it for one (`compile_model`); of
these the provider itself does those from schedule to link, which know the machine. Linking and the plan come twice
where a provider has drafts of kernels to begin with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ingot.dataclass import dataclass
from ingot.errors import CheckError, CompileError, IngotError
from ingot.fuse.build import Fused
from ingot.fuse.fuse import fuse
from ingot.infer.typed import TypedModel
from ingot.ir.graph import Graph
from ingot.ir.model import nested_graphs
from ingot.ir.node import Node
from ingot.loops.ir import Buffer, Kernel, kernels_in
from ingot.lower.graph import lower_graph
from ingot.lower.program import Program
from ingot.lower.roots import roots_of
from ingot.lower.specialise import specialise
from ingot.lower.specialise_branches import Guards, Specialised, specialise_branches
from ingot.ops.catalog import Catalog
from ingot.passes.before_lowering import before_lowering
from ingot.prim.debug import verified
from ingot.prim.guard import BROADCASTS
from ingot.prim.tensor import Call, Tensor
from ingot.runtime.assumptions import Assumptions
from ingot.runtime.ended_work import Proceed, Unwanted
from ingot.runtime.executable import Executable
from ingot.runtime.garbage import uncollected
from ingot.runtime.limits import LimitError, RunLimits
from ingot.runtime.make_plan import make_plan
from ingot.runtime.plan import Body, Plan
from ingot.runtime.provider import Compiler
from ingot.schedule.schedule import Scheduled

if TYPE_CHECKING:
    from ingot.codegen.kernel_code import KernelCode
    from ingot.dtypes import Array


def compile_model(typed: TypedModel, provider: Compiler, options: Options) -> Build:
    """A typed model compiled by a provider; CompileError if that fails: a fault of ingot's, not of the model's."""
    compilation = _Compilation(provider, options)
    drafts = _Drafts(provider)
    with _faults_as_compile_errors(), uncollected():
        assumed = options.assumptions
        specialised = specialise(typed, options.catalog, options.level, assumed.reversed_choices, assumed.types)
        emitted = compilation.of(specialised)
        artifacts = compilation.linked(emitted, drafts.link if options.draft else provider.link)

    def finish() -> Build:
        with _faults_as_compile_errors():
            return _build(compilation.linked(emitted, provider.link), options)

    return _build(artifacts, options, finish if drafts.are_there else None)


def _build(artifacts: Artifacts, options: Options, finish: Callable[[], Build] | None = None) -> Build:
    model, most = artifacts.optimised.model, options.limits.most_bytes
    executable = Executable(artifacts.plan, artifacts.outputs, lambda: model, most, options.assumptions)
    return Build(artifacts, executable, finish)


@contextmanager
def _faults_as_compile_errors() -> Iterator[None]:
    try:
        yield
    except (CompileError, LimitError, Unwanted):
        raise
    except Exception as error:  # CheckError too: the model is typed already
        what = error.message if isinstance(error, IngotError) else f"{type(error).__name__}: {error}"
        raise CompileError(f"the model could not be compiled: {what}") from error


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
    draft: bool = False
    """Whether the build may have drafts of kernels, to begin with."""
    precision: str | None = None
    """What products are rounded to (`passes.precisions`), None for nothing."""
    assumptions: Assumptions = field(default_factory=Assumptions)
    """What is known of the model besides what it says of itself; the shapes are those that it was typed with."""


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
    finish: Callable[[], Build] | None = None
    """Waits for the build that takes the place of this one, which has drafts of kernels; None if it has none."""


def optimise(
    specialised: Specialised,
    level: int,
    catalog: Catalog,
    precision: str | None = None,
    narrows_values: bool = False,
    fills_channels: bool = False,
) -> Optimised:
    """A specialised model after the passes of an optimisation level, its products, or values, in a precision."""
    twin = specialised.copy()
    nodes = list(twin.model.graph)
    before_lowering(twin.model, twin.facts, level, catalog, precision, narrows_values, fills_channels)
    removed = tuple(node for node in nodes if node.graph is None)
    return Optimised(twin.model, twin.facts, twin.guards, twin.changed, removed)


@dataclass(frozen=True, slots=True)
class _Compilation:
    """The compilation of one model and of the bodies in it, which are numbered."""

    provider: Compiler
    options: Options
    names: list[str] = field(default_factory=list)
    """The names of the bodies that are compiled."""

    def of(self, specialised: Specialised, name: str = "") -> _Emitted:
        """The stages from a specialised model to what links its plan; names of kernels begin with `name`."""
        provider, options = self.provider, self.options
        self._proceed()
        optimised = optimise(
            specialised,
            options.level,
            options.catalog,
            options.precision,
            provider.narrows_values,
            provider.fills_channels,
        )
        program = lower_graph(
            optimised.model,
            optimised.facts,
            options.catalog,
            optimised.guards,
            refuses=provider.refuses,
            lacks=provider.lacks,
        )
        outputs = tuple(program.values[value] for value in optimised.model.graph.outputs)
        roots = verified(roots_of(program, outputs), _verify_program)
        self._proceed()
        fused = verified(fuse(roots, provider.limits(), name), _verify_kernels)
        self._proceed()
        scheduled = verified(provider.schedule(fused), _verify_kernels)
        self._proceed()
        kernels = provider.emit(scheduled, options.draft)
        bodies = {call: self._bodies(call, program, optimised) for call in _calls_with_bodies(fused)}
        constants = provider.hold(scheduled)
        return _Emitted(
            specialised, optimised, program, roots, fused, scheduled, kernels, constants, outputs, bodies, name
        )

    def linked(self, emitted: _Emitted, link: Link) -> Artifacts:
        """What was emitted, linked by `link`, with its plan and those of the bodies in it."""
        self._proceed()
        code = link(emitted.kernels)
        bodies = {call: [self._linked_body(body, link) for body in own] for call, own in emitted.bodies.items()}
        plan = make_plan(
            emitted.program,
            emitted.scheduled,
            emitted.roots,
            code,
            emitted.constants,
            self.options.threads or self.provider.threads,
            self.options.limits.nodes,
            {call: tuple(body for body, _ in own) for call, own in bodies.items()},
            self.provider.memory,
        )
        return Artifacts(
            emitted.specialised,
            emitted.optimised,
            emitted.program,
            emitted.fused,
            emitted.scheduled,
            plan,
            emitted.outputs,
            {call: tuple(artifacts for _, artifacts in own) for call, own in bodies.items()},
            emitted.name,
        )

    def _linked_body(self, body: _EmittedBody, link: Link) -> tuple[Body | None, Artifacts | None]:
        """A body as a plan, and its artifacts; None where it is not compiled."""
        if body.emitted is None:
            return Body(None, (), (), (), 0, body.strict) if body.strict else None, None
        artifacts, once = self.linked(body.emitted, link), None
        if body.invariants is not None:
            first = self.linked(body.invariants, link)
            once = Body(first.plan, body.around, (), first.outputs, len(first.optimised.model.graph))
            artifacts = replace(artifacts, invariants=first)
        plan = Body(artifacts.plan, body.names, body.captured, artifacts.outputs, body.nodes, body.strict, once)
        return plan, artifacts

    def _proceed(self) -> None:
        if self.options.proceed is not None:
            self.options.proceed()

    def _bodies(self, call: Call, program: Program, around: Optimised) -> tuple[_EmittedBody, ...]:
        return tuple(self._body(call, graph, program, around) for graph in call.node.subgraphs)

    def _body(self, call: Call, graph: Graph, program: Program, around: Optimised) -> _EmittedBody:
        """A subgraph of the node of a call, outlined and emitted, unless no types fit it.

        Where branches in it were decided by an assumption, the subgraph is right only while that holds, so that it is
        `strict`: if it has no plan, no run can check the guard.
        """
        from ingot.lower.hoist_invariants import hoist_invariants  # few models have bodies
        from ingot.lower.outline import outline

        catalog = self.options.catalog
        strict = any(inner in around.changed for inner in nested_graphs(graph))
        none = _EmittedBody(strict)
        outlined = outline(call, graph, program, around.model, around.facts, catalog)
        if outlined is None:
            return none
        twins = zip(nested_graphs(graph), nested_graphs(outlined.model.graph), strict=True)
        guards = {twin: around.guards[inner] for inner, twin in twins if inner in around.changed}
        around_names = tuple(outlined.model.graph.inputs.names)[len(graph.inputs) :]
        captured = tuple(value.name for value in outlined.captured)
        named = len(self.names)
        invariants = None
        try:
            hoisted = None if call.node.applies("If") else hoist_invariants(outlined, catalog)
            names = tuple(outlined.model.graph.inputs.names)
            choices = self.options.assumptions.reversed_choices & {BROADCASTS}
            own = specialise_branches(outlined.model, catalog, outlined.input_facts, guards, choices)
            body = self.of(own, self._name())
            if hoisted is not None:
                once = specialise_branches(hoisted.model, catalog, hoisted.input_facts, reversed_choices=choices)
                invariants = self.of(once, self._name())
        except CheckError:  # types that do not fit where they are more exact: the run will say so
            del self.names[named:]
            return none
        if strict and not _can_check(guards, body):
            del self.names[named:]
            return none
        return _EmittedBody(strict, body, invariants, names, around_names, captured, len(graph))

    def _name(self) -> str:
        """The name of one more body."""
        self.names.append(f"b{len(self.names) + 1}")
        return self.names[-1]


Link: TypeAlias = "Callable[[Mapping[Kernel, Any]], Mapping[Kernel, KernelCode]]"


class _Drafts:
    """Links drafts of kernels, and notes whether there are any."""

    def __init__(self, provider: Compiler) -> None:
        self._provider = provider
        self.are_there = False

    def link(self, emitted: Mapping[Kernel, Any]) -> Mapping[Kernel, KernelCode]:
        code = self._provider.link_draft(emitted)
        if code is None:
            return self._provider.link(emitted)
        self.are_there = True
        return code


@dataclass(frozen=True, slots=True)
class _Emitted:
    """The stages of a model, or of an outlined body, whose kernels are being compiled."""

    specialised: Specialised
    optimised: Optimised
    program: Program
    roots: tuple[Tensor, ...]
    fused: Fused
    scheduled: Scheduled
    kernels: Mapping[Kernel, Any]
    constants: Mapping[Buffer, Array]
    outputs: tuple[Tensor, ...]
    bodies: Mapping[Call, tuple[_EmittedBody, ...]]
    name: str


@dataclass(frozen=True, slots=True)
class _EmittedBody:
    """A body, and what it computes once, before its first run; without stages where it is not compiled."""

    strict: bool
    emitted: _Emitted | None = None
    invariants: _Emitted | None = None
    names: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    captured: tuple[str, ...] = ()
    nodes: int = 0


def _verify_program(roots: tuple[Tensor, ...]) -> None:
    from ingot.prim.verify import verify  # for INGOT_DEBUG alone

    verify(roots)


def _verify_kernels(stage: Fused | Scheduled) -> None:
    from ingot.loops.verify import verify_kernel  # for INGOT_DEBUG alone

    for kernel in kernels_in(stage.steps):
        verify_kernel(kernel)


def _calls_with_bodies(fused: Fused) -> list[Call]:
    return [step for step in fused.steps if isinstance(step, Call) and step.node.subgraphs]


def _can_check(guards: Guards, body: _Emitted) -> bool:
    """Whether a run of a body knows all sizes that its guards compare."""
    return all(guard.names <= body.program.known_sizes for own in guards.values() for guard in own)
