"""The memory of stored tensors: a buffer for each, named in order, and how its axes lie there."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.fuse.read import Placed
from ingot.fuse.strides import c_strides
from ingot.fuse.uses import Uses
from ingot.loops.ir import Buffer
from ingot.prim.make import count
from ingot.prim.tensor import Constant, Parameter, Tensor


class Memory:
    """The placement of tensors, as far as decided: `placed`, with the `orders` of axes that others may follow."""

    def __init__(self, uses: Uses, prefix: str) -> None:
        """Names begin with `prefix`."""
        self._prefix = prefix
        self._numbers: dict[str, int] = {}
        self.placed: dict[Tensor, Placed] = {}
        self.orders: dict[Tensor, tuple[int, ...]] = {
            tensor: tuple(range(tensor.rank)) for tensor in uses.order if isinstance(tensor, Parameter)
        }

    def external(self, tensor: Parameter | Constant) -> Placed:
        """The placement of an input or a constant, whose buffer is named when it is first read."""
        if tensor not in self.placed:
            name = tensor.name if isinstance(tensor, Parameter) else self.name("c")
            self.placed[tensor] = Placed(Buffer(name, tensor.dtype, count(tensor.shape)), c_strides(tensor.shape))
        return self.placed[tensor]

    def allocate(self, tensor: Tensor, name: str) -> Placed:
        """New memory for a tensor, in the order of its axes."""
        placed = Placed(Buffer(name, tensor.dtype, count(tensor.shape)), c_strides(tensor.shape))
        self.put(tensor, placed, range(tensor.rank))
        return placed

    def put(self, tensor: Tensor, placed: Placed, order: Sequence[int]) -> None:
        """Set the placement of a tensor."""
        self.placed[tensor] = placed
        self.orders[tensor] = tuple(order)

    def buffer(self, tensor: Tensor) -> Buffer:
        return self.placed[tensor].buffer

    def name(self, kind: str) -> str:
        """The name of one more of a kind."""
        name = self.next_name(kind)
        self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return name

    def next_name(self, kind: str) -> str:
        """The name that the next one of a kind will have."""
        return f"{self._prefix}{kind}{self._numbers.get(kind, 0) + 1}"
