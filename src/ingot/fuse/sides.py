"""Which operand of a contraction with constants is the right one, out of whose columns vectors are.

Constants are, as a rule: they are packed when the model is compiled. An image that is stored channel by channel has
neighbours in vectors already. A convolution of it with few filters would fill a part of a vector with them, and one
whose result is stored channel by channel as well would move its channels to the end and back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.fuse.limits import FusionLimits
from ingot.fuse.order import order_like
from ingot.fuse.uses import Uses
from ingot.prim.coded import is_coded
from ingot.prim.tensor import Contract, Map, Pad, Parameter, Permute, Reshape, Tensor, View, Window

_TYPES = (DType.FLOAT32, DType.FLOAT64)
"""Types of which columns are packed as they are."""

_TURN = 0.6
"""The time in which a result changes the order of its axes, in products of vectors."""

_ALONE = 1.5
"""How much longer products with a single vector of filters take, each of which loads an element of the image."""

_UNKNOWN = 2.5
"""The assumed length, in vectors, of rows of an image whose length is unknown."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The operands of a contraction, and the role of each label in a matrix product.

    The last label of `columns` is that of neighbours in memory. `stored` is the order in which the sums are stored.
    `source` is to be stored before, in `source_order`.
    """

    lhs: Tensor
    rhs: Tensor
    left: str
    right: str
    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    summed: tuple[str, ...]
    stored: tuple[str, ...]
    source: Tensor | None = None
    source_order: tuple[int, ...] = ()

    @property
    def constant_left(self) -> bool:
        """Whether the columns are those of an operand that is not constant, beside one that is."""
        return self.lhs.is_constant and not self.rhs.is_constant


def constant_right(contract: Contract) -> Sides:
    """The sides of a contraction, of which a constant operand is the right one."""
    lhs, rhs, (left, right, result) = contract.lhs, contract.rhs, contract.labels
    if lhs.is_constant and not rhs.is_constant:
        lhs, rhs, left, right = rhs, lhs, right, left
    batch = tuple(label for label in result if label in left and label in right)
    rows = tuple(label for label in result if label in left and label not in right)
    columns = tuple(label for label in result if label in right and label not in left)
    summed = tuple(label for label in left if label in right and label not in result)
    return Sides(lhs, rhs, left, right, batch, rows, columns, summed, (*batch, *rows, *columns))


def constants_left(uses: Uses, in_order: Collection[Tensor], limits: FusionLimits) -> Mapping[Contract, Sides]:
    """The contractions whose constant operand is the left one, `in_order` being stored in the order of its axes."""
    contracts = [tensor for tensor in uses.order if isinstance(tensor, Contract)]
    candidates = {contract: None for contract in contracts if _may_be_left(contract, limits)}
    if not candidates:
        return {}
    last = max(uses.positions[contract] for contract in candidates)
    orders: dict[Tensor, tuple[int, ...]] = {}
    chosen: dict[Contract, Sides] = {}
    for tensor in uses.order[: last + 1]:
        if isinstance(tensor, Contract):
            sides = _left(tensor, orders, uses, in_order, limits) if tensor in candidates else None
            if sides is not None:
                chosen[tensor] = sides
            stored = (sides or constant_right(tensor)).stored
            orders[tensor] = tuple(tensor.labels[2].index(label) for label in stored)
        else:
            own = range(tensor.rank)
            orders[tensor] = tuple(own if isinstance(tensor, Parameter) else order_like(tensor, orders) or own)
    return chosen


def _may_be_left(contract: Contract, limits: FusionLimits) -> bool:
    """Whether a contraction is of an operand that is constant and one that is not, both of a type that is packed."""
    sides = constant_right(contract)
    if limits.columns == 0 or not sides.rhs.is_constant or sides.lhs.is_constant or is_coded(sides.rhs):
        return False
    return contract.dtype in _TYPES and sides.lhs.dtype is sides.rhs.dtype is contract.dtype and bool(sides.rows)


def _left(
    contract: Contract,
    orders: Mapping[Tensor, tuple[int, ...]],
    uses: Uses,
    in_order: Collection[Tensor],
    limits: FusionLimits,
) -> Sides | None:
    """The sides of a contraction with its constant operand left; None where that takes longer.

    Filters may be too few for a vector: an image is copied for them, if it lies in another order. Otherwise it has to
    save the copies that would change the order of axes, before and behind.
    """
    right = constant_right(contract)
    window = window_in(right.lhs)
    sides = _turned(right, order_like(right.lhs, orders))
    sizes = dict(zip(right.left + right.right, right.lhs.shape + right.rhs.shape, strict=True))
    filters = _count([sizes[label] for label in right.columns])
    if not isinstance(filters, int):
        return None
    if window is not None and (sides is None or isinstance(window.x, Pad)):
        others = [axis for axis in range(window.x.rank) if axis not in window.axes]
        order = (*others, *window.axes)
        if sides is None and (filters >= limits.columns or not isinstance(window.x, View)):
            return None
        sides = _turned(right, order_like(right.lhs, {window.x: order}))
        sides = None if sides is None else replace(sides, source=window.x, source_order=order)
    if sides is None:
        return None
    length = _count([sizes[label] for label in (sides.columns if window is None else sides.columns[-1:])])
    if isinstance(length, int) and length < min(filters, limits.columns):
        return None
    if filters < limits.columns:
        ends_with_filters = contract in in_order and contract.labels[2][-1] in sides.rows
        return None if ends_with_filters else sides
    terms = [sizes[label] for label in sides.summed]
    if window is not None and not _is_image_in_vectors(terms, filters, length, limits.columns):
        return None
    return sides if _is_stored_as(contract, sides, uses, in_order) else None


def _turned(sides: Sides, order: tuple[int, ...] | None) -> Sides | None:
    """The sides with the constant operand left, for the order of the other one; None if no rows are neighbours.

    The result is stored as the other operand is, the columns of the constant one in the place of what is summed.
    """
    sizes = dict(zip(sides.left, sides.lhs.shape, strict=True))
    labels = [sides.left[axis] for axis in order or ()]
    long = [label for label in labels if sizes[label] != 1]
    if not long or long[-1] not in sides.rows:
        return None
    channel = next((label for label in reversed(labels) if label in sides.summed), None)
    stored: list[str] = []
    for label in labels:
        stored += sides.columns if label == channel else () if label in sides.summed else (label,)
    columns = tuple(label for label in stored if label in sides.rows)
    return Sides(
        sides.rhs, sides.lhs, sides.right, sides.left, sides.batch, sides.columns, columns, sides.summed, tuple(stored)
    )


def _is_image_in_vectors(terms: Sequence[Dim], filters: int, length: Dim, lanes: int) -> bool:
    """Whether vectors of a row of an image, of few channels, take less time than vectors of filters.

    The last vector of a row, or of the filters, is computed as a whole. Results whose last axis is that of the filters
    change their order.
    """
    channels, count = terms[-1], _count(terms)
    if not isinstance(count, int) or not isinstance(channels, int) or channels >= lanes:
        return False
    columns = length if isinstance(length, int) else int(_UNKNOWN * lanes)
    image, others = -(-columns // lanes), -(-filters // lanes)
    alone = _ALONE if others == 1 else 1
    return count * filters * image <= count * others * columns * alone + _TURN * filters * columns


def _count(sizes: Sequence[Dim]) -> Dim:
    total: Dim = 1
    for size in sizes:
        total = total * size
    return total


def _slides(window: Window) -> bool:
    """Whether windows have more than one element, so that neighbours read the same ones."""
    return any(size != 1 for size in window.shape[window.x.rank :])


def window_in(tensor: Tensor) -> Window | None:
    """The windows of more than one element that slide over what a tensor is a view of; None if there are none."""
    while isinstance(tensor, View):
        if isinstance(tensor, Window) and _slides(tensor):
            return tensor
        tensor = tensor.x
    return None


def _is_stored_as(contract: Contract, sides: Sides, uses: Uses, in_order: Collection[Tensor]) -> bool:
    """Whether elementwise functions and permutations lead from a contraction to what is stored in the same order."""
    tensor: Tensor = contract
    order = tuple(contract.labels[2].index(label) for label in sides.stored)
    while tensor not in in_order:
        readers = set(uses.readers_of(tensor))
        if len(readers) != 1:
            return False
        (tensor,) = readers
        match tensor:
            case Permute():
                order = tuple(tensor.order.index(axis) for axis in order)
            case Reshape():
                known = order_like(tensor, {tensor.x: order})
                if known is None:
                    return False
                order = known
            case Map():
                pass
            case _:
                return False
    return [axis for axis in order if tensor.shape[axis] != 1] == [
        axis for axis in range(tensor.rank) if tensor.shape[axis] != 1
    ]
