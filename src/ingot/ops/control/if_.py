"""If: one of two graphs, by a condition."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from ingot.dtypes import Array
from ingot.errors import CheckError
from ingot.ir.graph import Graph
from ingot.ops.control.carried import V, joined, scalar, truth
from ingot.ops.define import Heterogeneous, Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import BOOL, types

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
    for name, branch in (("then_branch", then_branch), ("else_branch", else_branch)):
        if branch.inputs:
            raise CheckError(f"{name} has {len(branch.inputs)} inputs, a branch takes none")
    if len(then_branch.outputs) != len(else_branch.outputs):
        raise CheckError(f"the branches give {len(then_branch.outputs)} and {len(else_branch.outputs)} outputs")
    pairs = [(a.type, b.type) for a, b in zip(then_branch.outputs, else_branch.outputs, strict=True)]
    both = [joined(a, b) for a, b in pairs]
    taken = truth(cond.constant)
    if taken is not None:
        return [a if taken else b for a, b in pairs]
    return list(both)
