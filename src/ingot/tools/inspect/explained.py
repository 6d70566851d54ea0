"""The fate of every node of a model: who runs it, in which kernel, fused with what, and why not with more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ingot.compile import Artifacts
from ingot.dims import Dim
from ingot.ir.node import Node
from ingot.loops.cost import cost_of
from ingot.loops.ir import Kernel
from ingot.prim.show import typed
from ingot.prim.tensor import Tensor
from ingot.queries.values import fact
from ingot.session import Session
from ingot.tools.inspect.bodies import bodies_in
from ingot.tools.inspect.measured import Measured, Step
from ingot.tools.inspect.titles import amount, number, operators
from ingot.tools.inspect.trace import Fate, How, Trace, Work


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """A node: who runs it, and the kernels that compute it or read through it; `reason` is why it is in none."""

    node: str
    operator: str
    provider: str | None
    how: str
    kernels: list[str]
    reason: str | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel: the nodes in it by their index in the model, what it stores and why, and its cost.

    `views` are nodes that it reads through; if it has no others, it copies. Operations and bytes are text where they
    depend on unknown sizes.
    """

    kernel: str
    operators: str
    amount: str
    nodes: list[int]
    views: list[int]
    stores: str | None
    type: str
    why: str
    operations: int | str
    bytes_read: int | str
    bytes_written: int | str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class CopyEntry:
    """A tensor copied to or from the memory of a device in every run; `value` is None where the graph has no name."""

    value: str | None
    type: str
    to: str


@dataclass(frozen=True, slots=True)
class Explained:
    """A model: its nodes in order, its kernels in order, and how many nodes became of what.

    `copies` are those of the plan, in order: none where the kernels read and write the memory of the host.
    """

    provider: str
    threads: int
    nodes: list[NodeEntry]
    kernels: list[KernelEntry]
    counts: dict[str, int]
    seconds: float | None
    seconds_in_kernels: float | None
    seconds_on_the_reference: float | None
    copies: list[CopyEntry]


def explained(
    compiled: Artifacts,
    traced: Trace,
    sizes: Mapping[str, int],
    times: Measured | None,
    session: Session | None = None,
) -> Explained:
    """The fate of the nodes of a compiled model, with times if it was measured.

    By default it is compiled for the processor, and what is not in kernels is left to the reference.
    """
    provider = "cpu" if session is None else session.providers[0]
    steps = {} if times is None else {_key(step): step for step in times.steps}
    places = {node: place for place, node in enumerate(traced.nodes)}
    kernels = [_kernel(kernel, work, traced, places, sizes, steps) for kernel, work in traced.kernels.items()]
    nodes = [_node(node, fate, steps, provider, session, compiled) for node, fate in traced.nodes.items()]
    every = [compiled, *(body for _, body in bodies_in(compiled))]
    nodes += [
        _node(node, Fate(How.GONE), steps, provider, session, compiled)
        for artifacts in every
        for node in artifacts.optimised.removed
    ]
    counts = Counter(entry.how for entry in nodes)
    return Explained(
        provider,
        compiled.plan.threads,
        nodes,
        kernels,
        {how.value: counts[how.value] for how in How if counts[how.value]},
        None if times is None else times.whole,
        None if times is None else times.kernels,
        None if times is None else times.calls,
        [copy for artifacts in every for copy in _copies(artifacts)],
    )


def _copies(compiled: Artifacts) -> list[CopyEntry]:
    names: dict[Tensor, str] = {}
    for value, tensor in compiled.program.values.items():
        names.setdefault(tensor, value.name)
    return [
        CopyEntry(names.get(copy.tensor), typed(copy.tensor), "host" if copy.to_host else "device")
        for segment in compiled.plan.segments
        for copy in segment.copies
    ]


def _key(step: Step) -> str:
    return step.kernel or f"call {step.nodes[0]}"


def _node(
    node: Node, fate: Fate, steps: Mapping[str, Step], compiler: str, session: Session | None, compiled: Artifacts
) -> NodeEntry:
    provider = {How.CALLED: "reference", How.COMPUTED: compiler, How.VIEW: compiler}.get(fate.how)
    if fate.how is How.CALLED and session is not None:
        provider = session.evaluated_by(node, [fact(value, compiled.optimised.facts) for value in node.inputs])
    step = steps.get(f"call {node.label}") if fate.how is How.CALLED else None
    return NodeEntry(
        node.label,
        node.op_type,
        provider,
        fate.how.value,
        [kernel.name for kernel in fate.kernels],
        fate.reason or None,
        None if step is None else step.seconds,
    )


def _kernel(
    kernel: Kernel,
    work: Work,
    traced: Trace,
    places: Mapping[Node, int],
    sizes: Mapping[str, int],
    steps: Mapping[str, Step],
) -> KernelEntry:
    cost, step = cost_of(kernel), steps.get(kernel.name)
    operations, read, written = (_shown_size(dim, sizes) for dim in (cost.operations, cost.read, cost.written))
    return KernelEntry(
        kernel.name,
        operators(work),
        amount(kernel, work, sizes),
        [places[node] for node in work.nodes],
        [places[node] for node in work.views if not work.nodes or traced.nodes[node].how is How.VIEW],
        None if work.value is None else work.value.name,
        typed(work.tensor),
        work.why,
        operations,
        read,
        written,
        None if step is None else step.seconds,
    )


def _shown_size(dim: Dim, sizes: Mapping[str, int]) -> int | str:
    size = number(dim, sizes)
    return size if isinstance(size, int) else str(size)
