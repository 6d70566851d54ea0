"""Arguments that a run computes, such as axes and shapes: the sizes that follow from them, read where they are needed.

Each function computes these numbers in primitives, as a run has the arguments in tensors, and reads them; -1, which no
size is, stands for what breaks the standard: such a run leaves the plan, and the reference says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import DType
from ingot.ops.tensor.moved import holding
from ingot.prim.tensor import SizeReader, Sizes


def numbers_in(x: prim.Tensor) -> tuple[prim.Tensor, int]:
    """A tensor of numbers as int64 of one axis, and how many there are; Refused where that is not known."""
    many = prim.count(x.shape)
    if not isinstance(many, int):
        raise prim.Refused(f"{many} numbers that the sizes of a result follow from")
    return prim.reshape(prim.cast(x, DType.INT64), (many,)), many


FAR = 1 << 60
"""Numbers of which a few can be added without wrapping around."""


def has_far(numbers: prim.Tensor) -> prim.Tensor:
    """Whether one of the numbers along an axis is so large, or so far below zero, that sums of them wrap around."""
    far = prim.apply("or", prim.apply("less", numbers, -FAR), prim.apply("less", FAR, numbers))
    return prim.reduce_("or", far, [0])


def read_numbers(x: prim.Tensor, read: SizeReader) -> Sizes:
    """The elements of a tensor of natural numbers, as sizes."""
    return read(numbers_in(x)[0])


def marked(axes: prim.Tensor, rank: int) -> prim.Tensor:
    """For each of `rank` axes 1 if it is named and 0 if not; -1 for all unless those named are different ones."""
    named, many = numbers_in(axes)
    counted = prim.where(prim.apply("less", named, 0), named + rank, named)
    hits = prim.apply("equal", prim.reshape(counted, (many, 1)), prim.iota((many, rank), 1))
    marks = _over_rows("add", prim.cast(hits, DType.INT64))
    different = prim.reduce_("add", prim.apply("minimum", marks, 1), [0])
    return prim.where(prim.apply("equal", different, many), marks, -1)


def per_axis(axes: prim.Tensor, numbers: prim.Tensor, rank: int) -> prim.Tensor:
    """For each of `rank` axes, the number at the position in which it is named; 0 for one that is not."""
    named, many = numbers_in(axes)
    counted = prim.where(prim.apply("less", named, 0), named + rank, named)
    is_here = prim.apply("equal", prim.unsqueeze(counted, [1]), prim.iota((many, rank), 1))
    return prim.squeeze(prim.reduce_("add", prim.where(is_here, prim.unsqueeze(numbers, [1]), 0), [0]), [0])


def _over_rows(function: str, x: prim.Tensor) -> prim.Tensor:
    return prim.squeeze(prim.reduce_(function, x, [0]), [0])


def chosen(numbers: prim.Tensor, is_chosen: prim.Tensor, many: int) -> prim.Tensor:
    """The numbers that are chosen, in order, where there are so many of them."""
    (among,) = numbers.shape
    place = prim.scan("add", prim.cast(is_chosen, DType.INT64), 0, exclusive=True)
    is_here = prim.apply("equal", prim.unsqueeze(place, [0]), prim.iota((many, among), 0))
    is_here = prim.apply("and", is_here, prim.unsqueeze(is_chosen, [0]))
    return prim.squeeze(prim.reduce_("add", prim.where(is_here, prim.unsqueeze(numbers, [0]), 0), [1]), [1])


def apart(x: prim.Tensor, marks: prim.Tensor, read: SizeReader) -> tuple[prim.Tensor, Sizes]:
    """`x` with two axes for each of its own, the second of the size of those marked, the first of that of the others.

    The other of the two has size one. Also the sizes of the first axes.
    """
    sizes, is_marked = holding(x.shape), prim.apply("equal", marks, 1)
    first = prim.where(is_marked, 1, sizes)
    second = prim.where(is_marked, sizes, 1)
    both = read(prim.where(prim.apply("less", prim.concat([marks, marks], 0), 0), -1, prim.concat([first, second], 0)))
    left, over = both[: x.rank], both[x.rank :]
    return assume_reshape(x, [size for pair in zip(left, over, strict=True) for size in pair]), left


def without_marked(x: prim.Tensor, shape: Sizes, marks: prim.Tensor, many: int, read: SizeReader) -> prim.Tensor:
    """`x` with the sizes of those axes of a shape that are not marked, which make up its elements; `many` are."""
    left = len(shape) - many
    sizes = chosen(holding(shape), prim.apply("equal", marks, 0), left)
    if not left:  # what says whether the axes are wrong
        sizes = prim.full(1, (1,), DType.INT64)
    is_wrong = prim.reduce_("or", prim.apply("less", marks, 0), [0])
    result = assume_reshape(x, read(prim.where(is_wrong, -1, sizes)))
    return result if left else assume_reshape(result, ())


def around_axis(x: prim.Tensor, axis: prim.Tensor, read: SizeReader, last: int = 0) -> prim.Tensor:
    """`x` with three axes: those before an axis made one, the axis, and those after it; so many `last` ones stay."""
    rank = x.rank - last
    counted = counted_axis(axis, x.rank)
    sizes, at = holding(x.shape[:rank]), prim.iota((rank,), 0)
    parts = [
        prim.reduce_("multiply", prim.where(here, sizes, 1), [0])
        for here in (
            prim.apply("less", at, counted),
            prim.apply("equal", at, counted),
            prim.apply("less", counted, at),
        )
    ]
    is_inside = prim.apply("and", prim.apply("less_equal", 0, counted), prim.apply("less", counted, rank))
    three = read(prim.where(is_inside, prim.concat(parts, 0), -1))
    return assume_reshape(x, (*three, *x.shape[rank:]))


def counted_axis(axis: prim.Tensor, rank: int) -> prim.Tensor:
    """A computed axis, counted from the front; of one axis."""
    named, many = numbers_in(axis)
    if many != 1:
        raise prim.Refused(f"{many} axes in place of one")
    return prim.where(prim.apply("less", named, 0), named + rank, named)


def places_of(flags: prim.Tensor, read: SizeReader) -> prim.Tensor:
    """The indices at which a tensor of one axis is true, in order: counted, read, and written by a second kernel."""
    (among,) = flags.shape
    ones = prim.cast(flags, DType.INT64)
    (many,) = read(prim.reduce_("add", ones, [0]))
    place = prim.where(flags, prim.scan("add", ones, 0, exclusive=True), prim.size(many))
    filled = prim.scatter(prim.full(0, (many + 1,), DType.INT64), prim.iota((among,), 0), [place])
    return prim.slice_(filled, [0], [many], in_range=True)


def assume_reshape(x: prim.Tensor, shape: Sequence[Dim]) -> prim.Tensor:
    """The same elements in C order under other sizes, which are assumed to make up as many: a guard checks that.

    Where one open size of `x` has to be a number for that, as a batch of one in `[batch, 6]` to `[1, 2, 3]`, it is
    assumed to be that number.
    """
    total = prim.count(shape)
    if prim.count(x.shape) == total:
        return prim.reshape(x, shape)
    for axis, size in enumerate(x.shape):
        others = x.shape[:axis] + x.shape[axis + 1 :]
        wanted = None if isinstance(size, int) else divide_exactly(total, prim.count(others))
        if isinstance(wanted, int) and wanted > 0:
            return prim.reshape(prim.assume_shape(x, (*x.shape[:axis], wanted, *x.shape[axis + 1 :])), shape)
    return prim.reshape(prim.assume_shape(prim.reshape(x, (prim.count(x.shape),)), (total,)), shape)
