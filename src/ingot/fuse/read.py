"""Reading a tensor at an index: views become arithmetic on indices, elementwise functions expressions, others loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.fuse.reshaped import reshaped_strides
from ingot.fuse.steps_of_codes import applied
from ingot.fuse.strides import c_strides
from ingot.loops.ir import (
    Buffer,
    CheckedIndex,
    Index,
    Inside,
    Literal,
    Load,
    Local,
    Position,
    Scalar,
    Select,
    Var,
)
from ingot.loops.rewrite import parts
from ingot.prim.coded import Dequantised
from ingot.prim.tensor import (
    AssumeShape,
    Constant,
    Expand,
    Gather,
    Iota,
    Map,
    Pad,
    Permute,
    Reshape,
    Size,
    Slice,
    Tensor,
    Window,
)

Place = tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Requirement:
    """That `tensor` be stored before another can be, for the reason `why`.

    It may have to be stored in the order of its axes, or in an `order` that suits its reader.
    """

    tensor: Tensor
    why: str
    in_order: bool = False
    order: tuple[int, ...] | None = None


class StoreFirst(Exception):
    """Ends the reading of a tensor with what it requires.

    It is raised wherever a tensor is read, deep inside of expressions, and caught in one place: `fuse.kernels.read`
    returns the requirement. Nothing else sees it.
    """

    def __init__(
        self, tensor: Tensor, why: str, *, in_order: bool = False, order: tuple[int, ...] | None = None
    ) -> None:
        super().__init__(why)
        self.requirement = Requirement(tensor, why, in_order, order)


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a tensor is stored: element `i` is at the sum of `strides[a] * i[a]`."""

    buffer: Buffer
    strides: tuple[Dim, ...]


class Reader:
    """Reads tensors within one kernel; the same tensor at the same place gives the same expression."""

    def __init__(self, placed: Mapping[Tensor, Placed], local: Callable[[Tensor, Place], Scalar | None]) -> None:
        """`placed` is what is stored; `local` may return an expression for a tensor, or raise StoreFirst."""
        self._placed = placed
        self._local = local
        self._known: dict[tuple[Tensor, Place], Scalar] = {}

    def forget(self) -> None:
        """Start a new loop: expressions that were read before are not shared with what follows."""
        self._known.clear()

    def read(self, tensor: Tensor, at: Place) -> Scalar:
        """The element of a tensor at an index; StoreFirst if some tensor must be stored to read this one."""
        if 1 in tensor.shape:
            at = tuple([Index() if size == 1 else index for size, index in zip(tensor.shape, at, strict=True)])
        key = (tensor, at)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._read(tensor, at)
        return known

    def _read(self, tensor: Tensor, at: Place) -> Scalar:
        placed = self._placed.get(tensor)
        if placed is not None:
            return Load(tensor.dtype, placed.buffer, linear(at, placed.strides))
        local = self._local(tensor, at)
        if local is not None:
            return local
        match tensor:
            case Constant() if tensor.array.size == 1:
                return Literal(tensor.dtype, tensor.array.item())
            case Size():
                return Position(Index((), tensor.size))
            case Iota():
                return Position(at[tensor.axis])
            case Map():
                arguments = tuple(self.read(argument, at) for argument in tensor.arguments)
                return applied(tensor.dtype, tensor.function, arguments)
            case Permute():
                inner = dict(zip(tensor.order, at, strict=True))
                return self.read(tensor.x, tuple(inner[axis] for axis in range(tensor.rank)))
            case Expand() | AssumeShape() | Dequantised():
                return self.read(tensor.x, at)
            case Reshape():
                return self._reshaped(tensor, at)
            case Slice():
                moved = (
                    i.times(step).plus(start) for i, start, step in zip(at, tensor.starts, tensor.steps, strict=True)
                )
                return self.read(tensor.x, tuple(moved))
            case Pad():
                return self._padded(tensor, at)
            case Window():
                return self.read(tensor.x, _in_window(tensor, at))
            case Gather():
                return self._gathered(tensor, at)
        raise StoreFirst(tensor, "it is no function of single elements")

    def _reshaped(self, tensor: Reshape, at: Place) -> Scalar:
        x = tensor.x
        placed = self._placed.get(x)
        if placed is not None and placed.strides == c_strides(x.shape):
            return Load(x.dtype, placed.buffer, linear(at, c_strides(tensor.shape)))
        inner = split(at, tensor.shape, x.shape)
        if inner is not None:
            return self.read(x, inner)
        joined = self._placed_view(x)
        strides = None if joined is None else reshaped_strides(x.shape, joined.strides, tensor.shape)
        if joined is None or strides is None:
            raise StoreFirst(x if placed is None else tensor, "a reshape joins its axes", in_order=True)
        return Load(x.dtype, joined.buffer, linear(at, strides))

    def _placed_view(self, tensor: Tensor) -> Placed | None:
        """Where a tensor, or a stored one with its axes in another order, is stored; None for any other."""
        placed = self._placed.get(tensor)
        if placed is None and isinstance(tensor, Permute):
            inner = self._placed_view(tensor.x)
            return None if inner is None else Placed(inner.buffer, tuple(inner.strides[axis] for axis in tensor.order))
        return placed

    def _padded(self, tensor: Pad, at: Place) -> Scalar:
        x = tensor.x
        inner = tuple(
            index.plus(-lo if isinstance(lo, int) else lo * -1) for index, lo in zip(at, tensor.before, strict=True)
        )
        where = tuple(
            Inside(index, size)
            for index, size, whole in zip(inner, x.shape, tensor.shape, strict=True)
            if size != whole
        )
        value = self.read(x, inner)
        own = {term for index in at for term, _ in index.terms}  # computed places, known to be there
        plain = isinstance(value, Load) and all(isinstance(term, Var) or term in own for term, _ in value.index.terms)
        if plain and isinstance(value, Load) and (not value.where or value.fill == tensor.fill):
            return Load(value.dtype, value.buffer, value.index, (*value.where, *where), tensor.fill)
        if _loads(value):
            raise StoreFirst(x, "what is computed is padded")
        return Select(tensor.dtype, value, where, tensor.fill)

    def _gathered(self, tensor: Gather, at: Place) -> Scalar:
        places = tuple(self._place(tensor, axis, at) for axis in range(tensor.x.rank))
        value = self.read(tensor.x, places)
        met = {id(part) for part in parts([value])}
        checks = [term for index in places for term, _ in index.terms if isinstance(term, CheckedIndex)]
        lost = tuple(Inside(Index(((check, 1),)), check.size) for check in checks if id(check) not in met)
        return Select(tensor.dtype, value, lost, 0) if lost else value  # an axis that is repeated is not indexed

    def _place(self, tensor: Gather, axis: int, at: Place) -> Index:
        place = tensor.places[axis]
        if isinstance(place, int):
            return at[place]
        value, size = self.read(place, at), tensor.x.shape[axis]
        return Index(((value if tensor.in_range else CheckedIndex(value, size), 1),))


def linear(at: Place, strides: Sequence[Dim]) -> Index:
    """The one index of an element in memory."""
    total = Index()
    for index, stride in zip(at, strides, strict=True):
        total = total + index.times(stride)
    return total


def split(at: Place, outer: Sequence[Dim], inner: Sequence[Dim]) -> Place | None:
    """The index into `inner` of what `at` is in `outer`, in C order; None where that takes a division."""
    indices: list[Index] = []
    left = [(size, index) for size, index in zip(outer, at, strict=True) if size != 1]
    for size in inner:
        if size == 1:
            indices.append(Index())
            continue
        joined: Dim = 1
        index = Index()
        while joined != size:
            if not left:
                return None
            step, digit = left.pop(0)
            joined = joined * step
            index = index.times(step) + digit
            if isinstance(joined, int) and isinstance(size, int) and joined > size:
                return None
        indices.append(index)
    return tuple(indices) if not left else None


def _in_window(tensor: Window, at: Place) -> Place:
    rank = tensor.x.rank
    places = list(at[:rank])
    for axis, inner, stride, dilation in zip(tensor.axes, at[rank:], tensor.strides, tensor.dilations, strict=True):
        places[axis] = places[axis].times(stride) + inner.times(dilation)
    return tuple(places)


def _loads(value: Scalar) -> bool:
    """Whether an expression reads memory, so that it may be computed only where it is inside."""
    return any(
        isinstance(part, Load | CheckedIndex | Local) for part in parts([value])
    )  # a local is of a row that was read


def of_var(var: Var) -> Index:
    return Index(((var, 1),))
