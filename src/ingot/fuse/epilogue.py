"""Epilogues of contractions: elementwise functions and permutations, applied to a sum while it is in a register."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.fuse.contraction import order_after
from ingot.fuse.read import split
from ingot.fuse.reshaped import joined_axes
from ingot.fuse.sides import Sides
from ingot.fuse.uses import External, Uses, is_spread
from ingot.loops.ir import Index
from ingot.prim.functions import NARROW_FLOATS
from ingot.prim.region import RegionResult
from ingot.prim.tensor import Contract, Map, Permute, Reshape, Tensor

_DEQUANTISING = ("cast", "add", "subtract", "multiply")
"""Functions of bytes, one beside numbers, that readers compute again rather than load four bytes."""

_MOST_BESIDE = 24
"""Elementwise functions that are followed until they join in one: bounds the search, whatever the machine."""


@dataclass(slots=True)
class Epilogues:
    """The search for epilogues, contraction after contraction; no tensor is in two of them.

    `stored` is what is stored already, `in_order` what has to be stored in the order of its axes. `sides` are those of
    contractions whose constant operand is the left one.
    """

    uses: Uses
    stored: Collection[Tensor]
    in_order: Collection[Tensor]
    sides: Mapping[Contract, Sides]
    _fused: set[Tensor] = field(default_factory=set)

    def chain(self, contract: Contract, *, reshapes: bool) -> tuple[Tensor, ...]:
        """A contraction and its epilogue: each tensor of the chain is the only one computed from the one before.

        With `reshapes`, those that join axes may be in it, as that of the groups of a convolution. Between two of the
        chain there may be elementwise functions that are not in it: `y * sigmoid(y)`.
        """
        chain: list[Tensor] = [contract]
        inside: set[Tensor] = {contract}
        placements = self.uses.placements
        while chain[-1] not in self.stored:
            maps = self._next(chain[-1], contract, reshapes)
            if maps is None or any(placements[inner] != placements[contract] for inner in maps):
                break
            if maps[-1] in self.in_order and not self._keeps_columns([*chain, maps[-1]]):
                break
            inside.update(maps)
            chain.append(maps[-1])
        self._leave_views(chain, inside)
        while len(chain) > 1 and chain[-1] not in self.stored and self._is_read_narrower(chain):
            inside.discard(chain.pop())
            self._leave_views(chain, inside)
        self._fused.update(inside - {contract})
        return tuple(chain)

    def _leave_views(self, chain: list[Tensor], inside: set[Tensor]) -> None:
        """Leave to readers the permutations and reshapes that a chain ends with, but for one that keeps its columns."""
        while isinstance(chain[-1], Permute | Reshape) and chain[-1] not in self.stored:
            if self._is_flattened(chain[-1]) and self._keeps_columns(chain):
                break
            inside.discard(chain.pop())

    def _is_read_narrower(self, chain: Sequence[Tensor]) -> bool:
        """Whether readers load fewer bytes if they compute the last of a chain: from bytes, or from 16-bit floats."""
        last, before = chain[-1], chain[-2]
        is_cast = isinstance(last, Map) and last.function == "cast" and last.reads == (before,)
        if is_cast and last.dtype is DType.FLOAT32 and before.dtype in NARROW_FLOATS:
            return True
        return self._is_dequantised(chain)

    def _is_dequantised(self, chain: Sequence[Tensor]) -> bool:
        """Whether the last of a chain follows from bytes in it by cheap functions, which its readers compute as well.

        Bytes are stored in a quarter of the memory. A contraction does not compute what it reads.
        """
        if any(not isinstance(reader, Map) for reader in self.uses.readers_of(chain[-1])):
            return False
        for before, tensor in zip(reversed(chain[:-1]), reversed(chain), strict=False):
            if not isinstance(tensor, Map) or tensor.function not in _DEQUANTISING:
                return False
            if not all(argument is before or is_spread(argument) for argument in tensor.arguments):
                return False
            if before.dtype.numpy.itemsize == 1:
                return tensor.dtype.numpy.itemsize > 1
        return False

    def _next(self, start: Tensor, contract: Contract, reshapes: bool) -> list[Tensor] | None:
        """The elementwise functions from a tensor to the first computed from it alone; None if there is none."""
        waiting = set(self.uses.readers_of(start))
        if len(waiting) == 1:
            reader = next(iter(waiting))
            if isinstance(reader, Permute) or (reshapes and self._joins(reader)):
                return [reader]
        maps: list[Tensor] = []
        while waiting and len(maps) < _MOST_BESIDE:
            tensor = min(waiting, key=lambda candidate: self.uses.positions[candidate])
            if not isinstance(tensor, Map) or tensor.shape != start.shape or tensor in self._fused:
                return None
            others = [candidate for candidate in tensor.arguments if candidate is not start and candidate not in maps]
            if not all(self._is_readable(candidate, contract) for candidate in others):
                return None
            waiting.discard(tensor)
            maps.append(tensor)
            if not waiting:
                return maps
            if tensor in self.stored:
                return None
            waiting |= set(self.uses.readers_of(tensor))
        return None

    def _joins(self, tensor: Tensor) -> bool:
        """Whether a tensor joins axes of another, and is not stored, for which its source is."""
        if not isinstance(tensor, Reshape) or tensor in self.stored:
            return False
        return joined_axes(tensor.x.shape, tensor.shape) is not None

    def _is_readable(self, tensor: Tensor, contract: Contract) -> bool:
        """Whether a tensor can be read in an epilogue: it is not computed from the contraction.

        Other contractions, and reductions, are stored before.
        """
        pending, seen = [tensor], set()
        while pending:
            operand = pending.pop()
            if operand in self.stored or operand in seen or isinstance(operand, External | RegionResult):
                continue
            if isinstance(operand, Map) and len(set(self.uses.readers_of(operand))) > 1:
                continue  # others read it too: it will be stored
            if operand is contract:
                return False
            if isinstance(operand, Contract):
                continue
            seen.add(operand)
            pending.extend(operand.reads)
        return True

    def _keeps_columns(self, chain: Sequence[Tensor]) -> bool:
        """Whether the last of a chain over a contraction ends with its columns, so that vectors are stored."""
        contract = chain[0]
        assert isinstance(contract, Contract)
        sides = self.sides.get(contract)
        columns = 1 if sides is not None else len(set(contract.labels[1]) - set(contract.labels[0])) or 1
        labels = contract.labels[2] if sides is None else sides.stored
        order = order_after(chain, [contract.labels[2].index(label) for label in labels])
        return list(order[-columns:]) == list(range(chain[-1].rank))[-columns:]

    def _is_flattened(self, tensor: Tensor) -> bool:
        """Whether a tensor is read by a reshape alone that joins axes of it, and so needs it stored in their order."""
        readers = set(self.uses.readers_of(tensor))
        if len(readers) != 1:
            return False
        (reader,) = readers
        if not isinstance(reader, Reshape):
            return False
        return split(tuple(Index() for _ in reader.shape), reader.shape, tensor.shape) is None


def column_axes(contract: Contract) -> int:
    """How many axes, other than those of size one, the columns of a contraction lie in."""
    left, right, _ = contract.labels
    return sum(label not in left and size != 1 for label, size in zip(right, contract.rhs.shape, strict=True))
