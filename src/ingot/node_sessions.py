"""Nodes that the compiler of a session refuses, computed by one that comes after it: a session of each node.

So what a GPU has no kernels for runs compiled on the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, CompileError, IngotError, UnsupportedError
from ingot.ir.clone import Known, copy_node
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.prim.tensor import Call
from ingot.runtime.provider import Compiler

if TYPE_CHECKING:
    from ingot.ops.define import Operator
    from ingot.runtime.plan import Plan


class Runs(Protocol):
    """What runs a model: a session."""

    @property
    def inputs(self) -> Mapping[str, Any]: ...

    def run(self, outputs: None, feeds: Mapping[str, Any], /) -> list[Any]: ...


Open: TypeAlias = "Callable[[bytes, Compiler], tuple[Runs, Plan | None]]"
"""A session of an encoded model that a compiler runs, and its plan, if it has one."""

_Key: TypeAlias = "tuple[Any, ...]"


_FEW = 16
"""Elements up to which an integer input is taken for constant: it says which axes, how many, or where."""

_MOST = 8
"""Sessions of a node: integers that keep changing are left to the next provider."""


class NodeSessions:
    """An evaluator of nodes by a compiler. Nodes with bodies, and those that ask the run for more, are refused."""

    takes_all = False

    def __init__(self, compiler: Compiler, open_session: Open) -> None:
        self.name = compiler.name
        self._compiler, self._open = compiler, open_session
        self._sessions: dict[Node, dict[_Key, Runs | None]] = {}

    def refuses(
        self,
        node: Node,
        operator: Operator | None,
        inputs: Sequence[Fact],
        outputs: Sequence[Fact],  # noqa: ARG002 - their types are found by the session
    ) -> str | None:
        if operator is None or "lower" not in operator.rules:
            return f"{node.op_type} has no rule"
        if node.subgraphs or operator.runtime is not None:
            return f"{node.op_type} asks the run for more than its inputs"
        types = [fact.type for fact in inputs if fact.present]
        if any(not isinstance(type_, TensorType) or type_.dtype is DType.STRING for type_ in types):
            return "an input that is no tensor of numbers"
        return None

    def compute(self, node: Node, operator: Operator, inputs: Sequence[Any], arguments: Mapping[str, Any]) -> Any:
        """The results of a node: by its session, or, if it cannot be compiled or fails, as its operator is defined."""
        session = self._session(node, inputs)
        if session is None:
            return operator.evaluate(*inputs, **arguments)
        names = session.inputs
        try:
            results = iter(session.run(None, {f"i{n}": own for n, own in enumerate(inputs) if f"i{n}" in names}))
        except IngotError:  # which names values of the session, not of the model
            return operator.evaluate(*inputs, **arguments)
        every = tuple(next(results) if value.name else None for value in node.outputs)
        return every if len(every) > 1 else every[0]

    def _session(self, node: Node, inputs: Sequence[Any]) -> Runs | None:
        """The session of a node for inputs of these types and ranks, and these constants; None if there is none."""
        key = tuple(
            None if own is None else (own.dtype, *((own.shape, own.tobytes()) if _is_constant(own) else (own.ndim,)))
            for own in inputs
        )
        sessions = self._sessions.setdefault(node, {})
        if key not in sessions:
            if len(sessions) >= _MOST:
                return None
            sessions[key] = self._opened(node, inputs)
        return sessions[key]

    def _opened(self, node: Node, inputs: Sequence[Any]) -> Runs | None:
        from ingot.format import encode  # a model whose nodes are all taken needs none

        try:
            session, plan = self._open(bytes(encode(_model_of(node, inputs))), self._compiler)
        except (CheckError, CompileError, UnsupportedError):
            return None
        has_calls = plan is None or any(isinstance(segment.call, Call) for segment in plan.segments)
        return None if has_calls else session


def _is_constant(array: Array) -> bool:
    return array.dtype.kind in "iu" and array.size <= _FEW


def _model_of(node: Node, inputs: Sequence[Any]) -> Model:
    """A model of one node, whose inputs have any sizes, but for the constants."""
    from ingot.ops.rewrite import NEWEST  # operators

    graph, known = Graph(name=node.op_type), Known()
    for place, (value, own) in enumerate(zip(node.inputs, inputs, strict=False)):
        if value is None or own is None or value in known:
            continue
        type_ = TensorType(DType.of(own.dtype), tuple(None for _ in own.shape))
        if _is_constant(own):
            known[value] = twin = Value(f"c{place}", None, constant=Tensor(own, name=f"c{place}"))
            graph.initializers.add(twin)
        else:
            known[value] = twin = Value(f"i{place}", type_)
            graph.inputs.append(twin)
    for place, value in enumerate(node.outputs):
        known[value] = Value(f"o{place}" if value.name else "", None)
    graph.append(copy_node(node, known))
    graph.outputs.extend(known[value] for value in node.outputs if value.name)
    return Model(graph, {domain: NEWEST[domain] for domain in {"", node.domain}})
