"""If: one of two graphs, by a condition."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError
from ingot.ir.graph import Graph
from ingot.ops.control.carried import V, joined, scalar, truth
from ingot.ops.control.regions import Regions, require_tensors
from ingot.ops.define import Heterogeneous, Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.tensor.moved import holding
from ingot.ops.typesets import BOOL, types
from ingot.prim.guard import Guard
from ingot.prim.make import reshape, where
from ingot.prim.make_region import branch
from ingot.prim.tensor import Refused, SizeReader, Sizes, Tensor, apply, assume_shape

B: TypeAlias = Annotated[Array, types("B", BOOL)]


@operator("If", since=(1, 11, 13, 16, 19, 21, 23, 24, 25))
def if_(
    cond: B, /, *, then_branch: Graph, else_branch: Graph, runtime: Runtime
) -> Annotated[tuple[V, ...], Heterogeneous()]:
    """What `then_branch` computes where `cond` is true, else what `else_branch` does; only that one runs.

    The branches take no inputs and read the values around the node. `cond` holds one element.
    """
    return tuple(runtime.run(then_branch if scalar(cond, "the condition") else else_branch, []))


@if_.infer
def infer(cond: Fact, /, *, then_branch: Graph, else_branch: Graph) -> list[Inferred]:
    for name, graph in (("then_branch", then_branch), ("else_branch", else_branch)):
        if graph.inputs:
            raise CheckError(f"{name} has {len(graph.inputs)} inputs, a branch takes none")
    if len(then_branch.outputs) != len(else_branch.outputs):
        raise CheckError(f"the branches give {len(then_branch.outputs)} and {len(else_branch.outputs)} outputs")
    pairs = [(a.type, b.type) for a, b in zip(then_branch.outputs, else_branch.outputs, strict=True)]
    both = [joined(a, b) for a, b in pairs]
    chosen = truth(cond.constant)
    if chosen is not None:
        return [a if chosen else b for a, b in pairs]
    return list(both)


@if_.lower
def lower(
    cond: Tensor, /, *, then_branch: Graph, else_branch: Graph, regions: Regions, read: SizeReader
) -> list[Tensor]:
    """A region with two bodies; what was assumed inside of each is compared where it is taken.

    Where their results have different sizes, those of the branch that is taken are read, and each assumes them.
    """
    require_tensors([cond])
    cond = assume_shape(cond, (1,) * cond.rank)
    then, otherwise = regions.branch(then_branch), regions.branch(else_branch)
    guards = [[*regions.guards(then_branch)], [*regions.guards(else_branch)]]
    shapes = _sizes_of_either(cond, then, otherwise, regions, read)
    for side, own in zip((then, otherwise), guards, strict=True):
        for place, shape in enumerate(shapes):
            own += [Guard(*pair) for pair in zip(side[place].shape, shape, strict=True) if pair[0] != pair[1]]
            side[place] = assume_shape(side[place], shape)
    if not all(regions.is_known(size) for own in guards for guard in own for size in (guard.left, guard.right)):
        raise Refused("statically unknown sizes to compare")
    return branch(cond, then, otherwise, (tuple(guards[0]), tuple(guards[1])))


def _sizes_of_either(
    cond: Tensor, then: list[Tensor], otherwise: list[Tensor], regions: Regions, read: SizeReader
) -> list[Sizes]:
    """The sizes of the results of the branch that is taken: those that differ are read; Refused for other ranks."""
    pairs = [pair for a, b in zip(then, otherwise, strict=True) for pair in zip(a.shape, b.shape, strict=False)]
    different = list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))
    if any(a.rank != b.rank or a.dtype is not b.dtype for a, b in zip(then, otherwise, strict=True)):
        raise Refused("branches that make different ranks")
    if not all(regions.is_known(size) for pair in different for size in pair):
        raise Refused("branches that make different sizes, which are statically unknown")
    names: dict[tuple[Dim, Dim], Dim] = {}
    if different:
        sides = [holding([pair[side] for pair in different]) for side in range(2)]
        extents = where(reshape(cond, (1,)), *sides)
        names = dict(zip(different, read(apply("maximum", extents, 0)), strict=True))  # it may not be reached
    return [
        tuple(x if x == y else names[x, y] for x, y in zip(a.shape, b.shape, strict=True))
        for a, b in zip(then, otherwise, strict=True)
    ]
