"""Direct calls: the nodes of a plan that need nothing of a run but their inputs, called without an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.ops.arguments import keywords
from ingot.prim.tensor import Call
from ingot.runtime.plan import Plan

if TYPE_CHECKING:
    from ingot.ir.node import Node
    from ingot.runtime.evaluate import Evaluation
    from ingot.runtime.interrupt import Interrupt


@dataclass(frozen=True, slots=True)
class DirectCall:
    """What computes a node: of how many inputs, without those omitted at the end, and whether it gives several."""

    function: Callable[..., Any]
    inputs: int
    several: bool
    moves: bool = False
    """Whether strings and sequences that it gives consist of what its inputs or attributes hold."""
    cuts: bool = False
    """Whether strings that it gives are parts of those that it is given, with no more characters than these."""
    is_fresh: bool = False
    """Whether arrays that it gives are new ones, or parts of one, contiguous and not shared with anything."""
    is_view: bool = False
    """Whether what it gives is its first argument with other sizes."""
    is_bounded: bool = False
    """Whether what it gives takes no more than what it is given, times a constant, and it computes with no floats."""
    has_bodies: bool = False
    """Whether the function takes the run first, and all that its node and the bodies of it read."""

    def results(self, arguments: list[Any]) -> Sequence[Any]:
        """The results of the node for so many arguments as it takes."""
        result = self.function(*arguments)
        return result if self.several and isinstance(result, tuple | list) else (result,)


class NotFast(Exception):
    """The run has to be made in full, which says what is wrong, if anything."""


class DirectRun:
    """A run on the fast path that runs bodies: what is left of its limits, and who may end it."""

    __slots__ = ("_interrupt", "_nodes", "bytes_left")

    def __init__(self, interrupt: Interrupt | None, most_nodes: int, most_bytes: int) -> None:
        self._interrupt = interrupt
        self._nodes = most_nodes
        self.bytes_left = most_bytes
        """Bytes that it may still take."""

    @property
    def is_interruptible(self) -> bool:
        """Whether anybody may end it."""
        return self._interrupt is not None

    def check(self) -> None:
        """Interrupted where the run has to end."""
        if self._interrupt is not None:
            self._interrupt.check()

    def proceed(self, nodes: int) -> None:
        """Count nodes about to run; NotFast if there may be too many, Interrupted where the run has to end."""
        if self._interrupt is not None:
            self._interrupt.check()
        self._nodes -= nodes
        if self._nodes < 0:
            raise NotFast

    def attach(self, state: Array) -> None:
        """Have kernels of this state stop where the run ends, until `detach`."""
        if self._interrupt is not None:
            self._interrupt.attach(state)

    def detach(self, state: Array) -> None:
        if self._interrupt is not None:
            self._interrupt.detach(state)


Ending: TypeAlias = "Interrupt | DirectRun | None"
"""Who may end a run: an interrupt, or the run that a body is part of."""


def direct_run(ending: Ending, most_nodes: int, most_bytes: int) -> DirectRun:
    """The run that bodies are part of: that of the body around them, or a new one within limits."""
    return ending if isinstance(ending, DirectRun) else DirectRun(ending, most_nodes, most_bytes)


def direct_calls(plan: Plan, direct: Callable[[Call], DirectCall | None]) -> dict[Call, DirectCall] | None:
    """The calls of a plan, each by `direct`; None if one needs more of a run than its inputs.

    Such are functions, random numbers, and evaluators that may refuse.
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
    moves = _is_one_of(node, _MOVING)
    bind = getattr(evaluator, "bind", None)  # one that takes all may have it
    if bind is not None:
        function: Callable[..., Any] = bind(operator, arguments)
        cuts, is_fresh, is_view, is_bounded = (
            _is_one_of(node, names) for names in (_CUTTING, _FRESH, _VIEWING, _BOUNDED)
        )
        return DirectCall(function, inputs, several, moves, cuts, is_fresh, is_view, is_bounded)
    if evaluator is None:
        return DirectCall(partial(operator.evaluate, **arguments), inputs, several, moves)
    compute = evaluator.compute
    return DirectCall(lambda *values: compute(node, operator, values, arguments), inputs, several, moves)


def _is_one_of(node: Node, names: Mapping[str, Sequence[str]]) -> bool:
    """Whether a node applies an operator of these, which are given by their domains."""
    return node.domain in names and node.applies(*names[node.domain], domain=node.domain)


_MOVING: Mapping[str, Sequence[str]] = {
    "": (
        "Compress",
        "Concat",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Optional",
        "OptionalGetElement",
        "Reshape",
        "ScatterElements",
        "ScatterND",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceErase",
        "SequenceInsert",
        "Slice",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unique",
        "Unsqueeze",
        "Where",
    ),
    "ai.onnx.ml": ("LabelEncoder",),
}
_CUTTING: Mapping[str, Sequence[str]] = {"": ("StringSplit",), "com.microsoft": ("Tokenizer",)}
_FRESH: Mapping[str, Sequence[str]] = {
    "": (
        "Cast",
        "Concat",
        "ConcatFromSequence",
        "Equal",
        "Expand",
        "Gather",
        "GatherElements",
        "GatherND",
        "RegexFullMatch",
        "ScatterElements",
        "ScatterND",
        "SequenceEmpty",
        "SequenceLength",
        "SplitToSequence",
        "StringConcat",
        "StringNormalizer",
        "StringSplit",
        "Tile",
        "Unique",
    ),
    "ai.onnx.ml": ("LabelEncoder", "ZipMap"),
    "com.microsoft": ("BifurcationDetector", "Tokenizer"),
}
_VIEWING: Mapping[str, Sequence[str]] = {"": ("Flatten", "Reshape", "Squeeze", "Unsqueeze")}
_BOUNDED: Mapping[str, Sequence[str]] = {
    "": (
        "Compress",
        "Concat",
        "ConcatFromSequence",
        "Flatten",
        "GatherElements",
        "Identity",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "RegexFullMatch",
        "Reshape",
        "ScatterElements",
        "ScatterND",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "Slice",
        "Split",
        "SplitToSequence",
        "Squeeze",
        "StringNormalizer",
        "Transpose",
        "Unique",
        "Unsqueeze",
    ),
    "ai.onnx.ml": ("LabelEncoder", "ZipMap"),
    "com.microsoft": ("BifurcationDetector",),
}
