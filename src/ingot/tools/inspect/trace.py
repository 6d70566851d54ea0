"""Where each node of a graph is computed: in which kernels, or why in none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ingot.fuse.choose import CONTRACTION, RESULT, SHARED
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.sort import captures
from ingot.ir.value import Value
from ingot.loops.ir import Contraction, Kernel, RoundedRows, Winograd, nests_in
from ingot.lower.program import Program
from ingot.prim.tensor import (
    Call,
    CallResult,
    Constant,
    Contract,
    Iota,
    Parameter,
    Reduce,
    Scatter,
    Size,
    Tensor,
    View,
)
from ingot.prim.walk import in_order
from ingot.schedule.schedule import Scheduled

_MOST_READERS = 3


class How(Enum):
    """The fate of a node, as it is shown."""

    COMPUTED = "computed"
    VIEW = "read in place"
    SAME = "passed on"
    KNOWN = "known when compiled"
    CALLED = "on the reference"
    UNUSED = "not needed"
    GONE = "optimised away"


@dataclass(frozen=True, slots=True)
class Fate:
    """The fate of a node, the kernels that compute it or read through it, and for a call the reason."""

    how: How
    kernels: tuple[Kernel, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """The purpose of a kernel.

    It computes `nodes`, whole or in part, and reads through `views`; it stores `tensor`, which is `value` of the graph
    if it has a name there, for the reason `why`.
    """

    nodes: tuple[Node, ...]
    views: tuple[Node, ...]
    tensor: Tensor
    value: Value | None
    why: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The nodes of a graph and the kernels of its program, each by the other."""

    nodes: Mapping[Node, Fate]
    kernels: Mapping[Kernel, Work]


def trace(
    graph: Graph,
    program: Program,
    scheduled: Scheduled,
    outputs: Sequence[Tensor],
    stores: str = "an output of the model",
) -> Trace:
    """The fate of every node of a graph, and the purpose of every kernel; `stores` is the reason to store an output."""
    return _Tracing(graph, program, scheduled, outputs, stores).run()


@dataclass(slots=True)
class _Tracing:
    graph: Graph
    program: Program
    scheduled: Scheduled
    outputs: Sequence[Tensor]
    stores: str
    owners: dict[Tensor, Node] = field(default_factory=dict)
    own: dict[Node, list[Tensor]] = field(default_factory=dict)
    inside: dict[Kernel, list[Tensor]] = field(default_factory=dict)

    def run(self) -> Trace:
        self._divide()
        for kernel, tensor in self.scheduled.stores.items():
            self.inside[kernel] = self._computed(kernel, tensor)
        homes: dict[Tensor, list[Kernel]] = {}
        for kernel, tensors in self.inside.items():
            for tensor in tensors:
                homes.setdefault(tensor, []).append(kernel)
        names: dict[Tensor, Value] = {}
        for value, tensor in self.program.values.items():
            names.setdefault(tensor, value)
        bodies = {value.graph for value in self.program.values if value.graph is not None}
        needed = _needed({self.graph, *bodies})
        fates = {node: self._fate(node, homes, needed) for node in self._nodes()}
        shown = {kernel: self._shown(kernel, tensor) for kernel, tensor in self.scheduled.stores.items()}
        works = {kernel: self._work(kernel, tensor, names.get(tensor)) for kernel, tensor in shown.items()}
        return Trace(fates, works)

    def _divide(self) -> None:
        """Assign each primitive to a node: the first that needs it."""
        nodes = self._nodes()
        computed = {value for node in nodes for value in node.outputs}
        seen = {tensor for value, tensor in self.program.values.items() if value not in computed}
        for node in nodes:
            pending = [self.program.values[value] for value in node.outputs]
            own = self.own[node] = []
            while pending:
                tensor = pending.pop()
                if tensor not in seen:
                    seen.add(tensor)
                    own.append(tensor)
                    self.owners[tensor] = node
                    pending.extend(tensor.reads)

    def _nodes(self) -> list[Node]:
        """The nodes that were lowered or left to the reference, those of bodies before the node they are in."""
        nodes = dict.fromkeys(value.producer for value in self.program.values if value.producer is not None)
        nodes.update(dict.fromkeys(self.graph))
        return list(nodes)

    def _computed(self, kernel: Kernel, stored: Tensor) -> list[Tensor]:
        """The primitives between what a kernel loads and what it stores."""
        loaded = set(kernel.reads)
        computed: dict[Tensor, None] = {}
        place = self.scheduled.placed.get(stored)
        if place is not None and place.buffer in loaded:  # it packs or copies what is computed already
            return []
        for before, tensor in self.scheduled.stores.items():  # what it reads may be parts, or bytes, of what these read
            if tensor is stored and before is not kernel and not loaded.isdisjoint(before.writes):
                loaded.update(before.reads)
        pending: list[Tensor] = [stored]
        if isinstance(stored, Scatter):  # it takes two kernels: what is written over, and what is written
            copies = (
                next(candidate for candidate, tensor in self.scheduled.stores.items() if tensor is stored) is kernel
            )
            pending = [stored.x] if copies else [candidate for candidate in stored.reads if candidate is not stored.x]
            computed = {} if copies else {stored: None}
        while pending:
            tensor = pending.pop()
            placed = self.scheduled.placed.get(tensor)
            read = tensor is not stored and placed is not None and placed.buffer in loaded
            if read or tensor in computed or isinstance(tensor, Parameter | CallResult):
                continue
            computed[tensor] = None
            pending.extend(tensor.reads if not isinstance(tensor, Contract) else _operands_read(kernel, tensor))
        return list(computed)

    def _fate(self, node: Node, homes: Mapping[Tensor, Sequence[Kernel]], needed: set[Node]) -> Fate:
        call = self.program.calls.get(node)
        if call is not None:
            return Fate(How.CALLED, (), call.reason) if call in self.scheduled.steps else Fate(How.UNUSED)
        real = [tensor for tensor in self.own[node] if not isinstance(tensor, Constant | Iota | Size)]
        if not real and self._is_passed_on(node):
            return Fate(How.SAME)
        computed = [tensor for tensor in real if not isinstance(tensor, View)]
        for how, tensors in ((How.COMPUTED, computed), (How.VIEW, real)):
            kernels = tuple(kernel for kernel in self.inside if any(kernel in homes.get(t, ()) for t in tensors))
            if kernels:
                return Fate(how, kernels)
        stored = [tensor for tensor in real if tensor in self.scheduled.placed]
        return Fate(How.KNOWN if stored or node in needed else How.UNUSED)

    def _is_passed_on(self, node: Node) -> bool:
        """Whether a node returns nothing but its inputs."""
        read = {self.program.values[value] for value in node.inputs if value is not None and value.constant is None}
        return bool(read) and all(self.program.values[value] in read for value in node.outputs)

    def _work(self, kernel: Kernel, tensor: Tensor, value: Value | None) -> Work:
        nodes: dict[Node, bool] = {}
        for primitive in self.inside[kernel]:
            owner = self.owners.get(primitive)
            if owner is not None and not isinstance(primitive, Constant | Iota | Size):
                nodes[owner] = nodes.get(owner, False) or not isinstance(primitive, View)
        places = {node: place for place, node in enumerate(self._nodes())}
        ordered = sorted(nodes, key=lambda node: places[node])
        computed = tuple(node for node in ordered if nodes[node])
        views = tuple(node for node in ordered if not nodes[node])
        return Work(computed, views, tensor, value, self._why_prepared(kernel) or self._why(tensor))

    def _shown(self, kernel: Kernel, stored: Tensor) -> Tensor:
        """What a kernel stores: of one that rounds rows to bytes what these are of, not what they are multiplied to."""
        rows = {nest.x.buffer for nest in kernel.nests if isinstance(nest, RoundedRows)}
        return next((tensor for tensor, place in self.scheduled.placed.items() if place.buffer in rows), stored)

    def _why_prepared(self, kernel: Kernel) -> str | None:
        """Why a kernel packs or rounds what it reads; None for one that does neither."""
        panels = [nest.panels for nest in kernel.nests if isinstance(nest, Contraction) and nest.panels is not None]
        rounded = [nest.rounded for nest in kernel.nests if isinstance(nest, RoundedRows)]
        prepared = {*panels, *rounded}
        readers = [reader.name for reader in self.inside if reader is not kernel and prepared & set(reader.reads)]
        if panels:
            return f"{_listed(readers)} multiplies it in every run of a loop"
        return f"{_listed(readers)} multiplies its rows as bytes" if rounded else None

    def _why(self, tensor: Tensor) -> str:
        """Why a tensor is stored."""
        if tensor in self.outputs:
            return self.stores
        calls = [call for call in self.program.calls.values() if tensor in call.arguments]
        if calls:
            return f"the reference reads it, for {' and '.join(_quoted(call) for call in calls[:2])}"
        why = self.scheduled.why[tensor]
        if why not in (RESULT, CONTRACTION, SHARED):
            return why
        buffer = self.scheduled.placed[tensor].buffer
        readers = [kernel for kernel in self.inside if buffer in kernel.reads]
        if len(readers) == 1:
            return self._why_alone(tensor, readers[0])
        shown = [kernel.name for kernel in readers[:_MOST_READERS]]
        more = [f"{len(readers) - len(shown)} more"] if len(readers) > len(shown) else []
        return f"{_listed([*shown, *more])} read it"

    def _why_alone(self, tensor: Tensor, reader: Kernel) -> str:
        """Why the only kernel that reads a tensor does not compute it."""
        if any(isinstance(nest, RoundedRows) for nest in reader.nests):
            return f"{reader.name} rounds it to bytes"
        inside = set(self.inside[reader])
        for inner in self.inside[reader]:
            if isinstance(inner, Contract):
                below = in_order([inner.lhs, inner.rhs])
                return f"{reader.name} {'multiplies' if tensor in below else 'has a product already, and reads'} it"
        if any(isinstance(inner, Reduce) and tensor in in_order([inner]) for inner in inside):
            return f"{reader.name} reduces it"
        through = self._through(tensor, self.inside[reader])
        return f"{reader.name} reads it{f' through {_listed(through)}' if through else ''}"

    def _through(self, tensor: Tensor, inside: Sequence[Tensor]) -> list[str]:
        """The operators whose views lie between a tensor and what a kernel computes of it."""
        operators: dict[str, None] = {}
        viewed: Tensor | None = tensor
        while viewed is not None:
            viewed = next((view for view in inside if isinstance(view, View) and view.x is viewed), None)
            owner = None if viewed is None else self.owners.get(viewed)
            operators.update({} if owner is None else {owner.op_type: None})
        return list(operators)


def _operands_read(kernel: Kernel, contract: Contract) -> Iterable[Tensor]:
    """The operands of a contraction that a kernel reads: not the one that was packed when compiling."""
    products = [nest for nest in nests_in(kernel) if isinstance(nest, Winograd | Contraction)]
    packed = any(isinstance(product, Winograd) or product.packed for product in products)
    return [side for side in contract.reads if not (packed and side.is_constant)]


def _needed(graphs: Iterable[Graph]) -> set[Node]:
    """The nodes that outputs of graphs depend on."""
    needed: set[Node] = set()
    pending: list[Value | None] = [value for graph in graphs for value in graph.outputs]
    while pending:
        value = pending.pop()
        node = None if value is None else value.producer
        if node is not None and node not in needed:
            needed.add(node)
            pending.extend(node.inputs)
            pending.extend(captured for inner in node.subgraphs for captured in captures(inner))
    return needed


def _quoted(call: Call) -> str:
    return f"{call.node.op_type} '{call.node.label}'"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nobody"
