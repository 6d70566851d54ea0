"""From a model to machine code that runs: the stages in order, each a function whose result can be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingot.codegen.llvm.target import Target, host
from ingot.dims import symbols
from ingot.errors import CompileError, IngotError
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor as Held
from ingot.ir.types import Shape, map_shapes
from ingot.lower.fuse import Fused, fuse
from ingot.lower.graph import Program, lower_graph
from ingot.lower.settle import settled
from ingot.ops.catalog import Catalog
from ingot.passes.before_lowering import before_lowering
from ingot.passes.inline import inline_functions
from ingot.prim.tensor import Result, Tensor
from ingot.prim.walk import in_order
from ingot.providers.cpu import plan_of
from ingot.runtime.executable import Executable
from ingot.runtime.limits import RunLimits
from ingot.runtime.plan import Plan
from ingot.runtime.team import processors


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan, and the stages it came from; `model` is what was lowered, of `removed` nothing was left by then."""

    model: Model
    program: Program
    fused: Fused
    plan: Plan
    outputs: tuple[Tensor, ...]
    removed: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """A model compiled: the stages it went through, and what runs it."""

    compiled: Compiled
    executable: Executable


def compile_model(
    model: Model, catalog: Catalog, target: Target, threads: int, limits: RunLimits | None = None, level: int = 2
) -> Compiled:
    """A plan for the outputs of a model in the newest operators, which is typed here and optimised to a level."""
    _forget_negative_sizes(model)
    inline_functions(model)
    facts, claims = settled(model, catalog)
    given = list(model.graph)
    before_lowering(model, facts, level, catalog)
    removed = tuple(node for node in given if node.graph is None)
    program = lower_graph(model, facts, catalog, claims)
    outputs = tuple(program.values[value] for value in model.graph.outputs)
    stored = _stored([*_tellers(outputs, program), *outputs])
    fused = fuse(stored)
    plan = plan_of(program, fused, stored, target, threads, (limits or RunLimits()).nodes)
    return Compiled(model, program, fused, plan, outputs, removed)


def _forget_negative_sizes(model: Model) -> None:
    """Take declared sizes below zero for what they are meant to be: unknown."""
    for graph in model.graphs():
        for value in graph.values():
            if value.type is not None:
                value.type = map_shapes(value.type, _without_negatives)


def _without_negatives(shape: Shape) -> Shape:
    return tuple(None if isinstance(size, int) and size < 0 else size for size in shape)


def _tellers(outputs: Sequence[Tensor], program: Program) -> list[Tensor]:
    """Results of calls of which only the sizes are needed: nothing on the way to the outputs reads them."""
    found: list[Tensor] = []
    results = {tensor: None for tensor in program.values.values() if isinstance(tensor, Result)}
    while True:
        reached = in_order([*found, *outputs])
        given = [tensor for tensor in reached if isinstance(tensor, Result)] + list(program.inputs.values())
        told = {str(size) for tensor in given for size in tensor.shape}
        names = {name for tensor in reached for size in tensor.shape for name in symbols(size)} - told
        more = next((tensor for tensor in results if names & {str(size) for size in tensor.shape}), None)
        if more is None:
            return found
        found.append(more)


def _stored(outputs: Sequence[Tensor]) -> list[Tensor]:
    """The outputs, and what calls on the way to them are given: these are seen from outside."""
    found: dict[Tensor, None] = {}
    for tensor in in_order(outputs):
        if isinstance(tensor, Result):
            found.update(dict.fromkeys(each for each in tensor.call.arguments if each is not None))
    found.update(dict.fromkeys(outputs))
    return list(found)


def executable(
    model: Model,
    catalog: Catalog,
    threads: int | None = None,
    limits: RunLimits | None = None,
    level: int = 2,
) -> Made:
    """A model in the newest operators and of checked structure, which is typed and changed here, compiled.

    CompileError if that goes wrong: a fault of ingot's, not of the model's.
    """
    try:
        compiled = compile_model(model, catalog, host(), threads or processors(), limits, level)
    except IngotError:
        raise
    except Exception as error:
        raise CompileError(f"the model could not be compiled: {type(error).__name__}: {error}") from error
    defaults = {value.name: value.constant.numpy() for value in model.graph.inputs if isinstance(value.constant, Held)}
    most = (limits or RunLimits()).most_bytes
    return Made(compiled, Executable(compiled.plan, compiled.outputs, defaults, lambda: model, most))
