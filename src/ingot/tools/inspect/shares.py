"""The part of each node in what its kernels cost: an estimate, since a fused kernel computes many nodes at once.

The arithmetic and the time of a kernel are divided by what its nodes compute: products count their multiplications and
additions, other nodes one operation for each element. Bytes are divided by what its nodes give and
the weights they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ingot.compile import Artifacts
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.prim.tensor import Tensor
from ingot.tools.bench.operations import multiplies, operations
from ingot.tools.inspect.bodies import bodies_in
from ingot.tools.inspect.measured import Measured, Step
from ingot.tools.inspect.titles import number
from ingot.tools.inspect.trace import Trace


@dataclass(frozen=True, slots=True)
class Share:
    """What a node costs in a run: seconds, bytes moved, operations."""

    seconds: float = 0.0
    moved: float = 0.0
    operations: float = 0.0

    def plus(self, other: Share) -> Share:
        """The sum of both."""
        return Share(self.seconds + other.seconds, self.moved + other.moved, self.operations + other.operations)


NodeKey: TypeAlias = tuple[str, str]
"""The label of a node and its operator."""


def shares(compiled: Artifacts, traced: Trace, times: Measured, sizes: Mapping[str, int]) -> dict[NodeKey, Share]:
    """The parts of the nodes that measured steps compute; these are nodes of the optimised model."""
    counting = _Counting(compiled, sizes)
    kernels = {kernel.name: work for kernel, work in traced.kernels.items()}
    total: dict[NodeKey, Share] = {}
    for step in times.steps:
        work = None if step.kernel is None else kernels.get(step.kernel)
        nodes: Iterable[Node] = () if work is None else (work.nodes or work.views)
        for key, share in _divided(step, list(nodes), counting).items():
            total[key] = total.get(key, Share()).plus(share)
    return total


def _divided(step: Step, nodes: list[Node], counting: _Counting) -> dict[NodeKey, Share]:
    moved = step.bytes_read + step.bytes_written
    if not nodes:
        count, operator = max(1, len(step.nodes)), step.title.partition(" ")[0]
        own = Share(step.seconds / count, moved / count, step.operations / count)
        return {(label, operator): own for label in step.nodes}
    work = [counting.operations(node) for node in nodes]
    traffic = [counting.elements(node) for node in nodes]
    divided: dict[NodeKey, Share] = {}
    for node, part, bytes_ in zip(nodes, work, traffic, strict=True):
        share = part / sum(work)
        own = Share(step.seconds * share, moved * bytes_ / sum(traffic), step.operations * share)
        key = (node.label, node.op_type)
        divided[key] = divided.get(key, Share()).plus(own)
    return divided


class _Counting:
    """Counts what nodes compute, from the sizes of a run; at least one of everything."""

    def __init__(self, compiled: Artifacts, sizes: Mapping[str, int]) -> None:
        every = [compiled, *(body for _, body in bodies_in(compiled))]
        self._tensors: dict[Value, Tensor] = {
            value: tensor for artifacts in every for value, tensor in artifacts.program.values.items()
        }
        self._sizes = sizes

    def operations(self, node: Node) -> float:
        """Operations of a node."""
        if multiplies(node):
            inputs = [None if value is None else self._shape(value) for value in node.inputs]
            count = operations(node, inputs, [self._shape(value) for value in node.outputs])
            if count:
                return float(count)
        return float(max(1, sum(_product(self._shape(value)) for value in node.outputs)))

    def elements(self, node: Node) -> float:
        """Elements that a node gives, and of the weights it reads."""
        weights = sum(value.constant.size for value in node.inputs if value is not None and value.constant is not None)
        return float(max(1, weights + sum(_product(self._shape(value)) for value in node.outputs)))

    def _shape(self, value: Value) -> tuple[int, ...] | None:
        tensor = self._tensors.get(value)
        if tensor is None:
            return None if value.constant is None else tuple(value.constant.shape)
        sizes = [number(dim, self._sizes) for dim in tensor.shape]
        return tuple(size if isinstance(size, int) else 1 for size in sizes)


def _product(shape: tuple[int, ...] | None) -> int:
    count = 1
    for size in shape or ():
        count *= size
    return count
