"""Direct calls: the nodes of a plan that need nothing of a run but their inputs, called without an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ingot.dataclass import dataclass
from ingot.ops.arguments import keywords
from ingot.prim.tensor import Call
from ingot.runtime.plan import Plan

if TYPE_CHECKING:
    from ingot.ir.node import Node
    from ingot.runtime.evaluate import Evaluation


@dataclass(frozen=True, slots=True)
class DirectCall:
    """What computes a node: of how many inputs, without those omitted at the end, and whether it gives several."""

    compute: Callable[[Sequence[Any]], Any]
    inputs: int
    several: bool
    is_lookup: bool = False
    """Whether it is a lookup in a table of strings, which needs no limit and computes with no numbers."""

    def results(self, arguments: list[Any]) -> Sequence[Any]:
        """The results of the node for so many arguments as it has inputs."""
        result = self.compute(arguments)
        return result if self.several and isinstance(result, tuple | list) else (result,)


def direct_calls(plan: Plan, direct: Callable[[Call], DirectCall | None]) -> dict[Call, DirectCall] | None:
    """The calls of a plan, each by `direct`; None if one needs more of a run than its inputs.

    Such are subgraphs, functions, random numbers, and evaluators that may refuse.
    """
    calls: dict[Call, DirectCall] = {}
    for segment in plan.segments:
        if not isinstance(segment.call, Call):
            continue
        call = direct(segment.call)
        if call is None:
            return None
        calls[segment.call] = call
    return calls if len(calls) <= plan.most_trips else None


def direct_call(node: Node, evaluation: Evaluation) -> DirectCall | None:
    """What computes a node; None if it needs more of a run than its inputs."""
    if node.subgraphs or evaluation.function(node) is not None or not evaluation.first_takes_all:
        return None
    operator = evaluation.operator(node, evaluation.imports)
    if operator.runtime is not None or any(attribute.ref for attribute in node.attributes.values()):
        return None
    arguments, evaluator = keywords(operator, node), evaluation.evaluators[0] if evaluation.evaluators else None
    inputs = len(node.inputs)
    while inputs and node.inputs[inputs - 1] is None:
        inputs -= 1
    several = operator.returns_several
    if evaluator is None:
        evaluate = operator.evaluate
        return DirectCall(lambda values: evaluate(*values, **arguments), inputs, several)
    bind = getattr(evaluator, "bind", None)  # one that takes all may have it
    if bind is not None:
        return DirectCall(bind(operator, arguments), inputs, several)
    compute = evaluator.compute
    return DirectCall(lambda values: compute(node, operator, values, arguments), inputs, several)
