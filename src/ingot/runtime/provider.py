"""What a provider is: who computes the nodes of a model that no provider before it takes.

A session has providers in order. The first may compile: the nodes that it does not refuse become primitives, kernels
and a plan. Nodes that it refuses are computed one by one, each by the first *evaluator* that does not refuse it;
`reference` refuses none. A provider is an object with these attributes; it is added by a package of its own and a line
in `providers/__init__.py`, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ingot.fuse.build import Fused
    from ingot.ir.node import Node
    from ingot.lower.program import Program
    from ingot.ops.define import Operator
    from ingot.ops.facts import Fact
    from ingot.prim.tensor import Call, Tensor
    from ingot.runtime.plan import Body, Plan
    from ingot.schedule.schedule import Scheduled


class Provider(Protocol):
    """Who computes nodes."""

    @property
    def name(self) -> str:
        """What a session and its user call it."""

    def refuses(
        self, node: Node, operator: Operator | None, inputs: Sequence[Fact], outputs: Sequence[Fact]
    ) -> str | None:
        """Why this provider does not compute a node, for people; None if it does."""


@runtime_checkable
class Evaluator(Provider, Protocol):
    """A provider that computes one node at a time, from arrays to arrays."""

    takes_all: bool
    """Whether it refuses nothing, so that it need not be asked."""

    def compute(self, node: Node, operator: Operator, inputs: Sequence[Any], arguments: Mapping[str, Any]) -> Any:
        """What the operator of a node gives: one result, or a tuple of several."""


@runtime_checkable
class Compiler(Provider, Protocol):
    """A provider that compiles kernels for a machine, and runs plans of them there."""

    @property
    def fingerprint(self) -> str | None:
        """What tells its machine from others, so that plans for it can be cached on disk; None if they cannot."""

    def warm_up(self) -> None:
        """Start what will be needed to compile, beside other work: a model is being loaded meanwhile."""

    def schedule(self, fused: Fused) -> Scheduled:
        """The kernels of a program with their loops adapted to the machine."""

    def plan(
        self,
        program: Program,
        scheduled: Scheduled,
        roots: Sequence[Tensor],
        bodies: Mapping[Call, tuple[Body | None, ...]],
        *,
        threads: int | None,
        most_runs: int,
    ) -> Plan:
        """The kernels compiled, in a plan that computes the roots from the inputs."""
