"""What rules for shapes have in common: broadcasting, axes, rules of whole families."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ingot import dims
from ingot.dims import Dim, lower_bound
from ingot.dtypes import DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops.facts import Fact, Inferred

_MOST_NAMES = 8
"""Two sizes of more names are not compared case by case."""


def broadcast_dims(dims_: Iterable[Dim | None]) -> Dim | None:
    """The size that sizes of one axis broadcast to; None where it is unknown, ShapeError where there is none.

    A name beside a number other than one must be that number, or one: the number is the answer.
    """
    result: Dim | None = 1
    for dim in dims_:
        if dim == 1:
            continue
        if result == 1:
            result = dim
        elif isinstance(result, int) and isinstance(dim, int):
            if result != dim:
                raise ShapeError(f"sizes {result} and {dim} do not broadcast")
        elif isinstance(dim, int):
            result = dim
        elif isinstance(result, int) or result == dim:
            continue
        else:
            result = _dominating(result, dim)
    return result


def _dominating(a: Dim | None, b: Dim | None) -> Dim | None:
    """The size two different expressions broadcast to, where one is never the smaller and both are zero together.

    They broadcast only where they are equal or one of them is one; then the larger is the answer, but for zero and one.
    """
    if a is None or b is None:
        return None
    try:
        agreed = _agreed(a, b)
        if agreed is not None:
            return agreed
        if dims.minimum(a, 1) != dims.minimum(b, 1):
            return None
        larger = dims.maximum(a, b)
    except ValueError:  # too large an expression to follow
        return None
    return larger if larger in (a, b) else None


def _agreed(a: Dim, b: Dim) -> Dim | None:
    """The one of two sizes that is zero wherever one of their names is, if they are equal wherever none is."""
    names = dims.symbols(a) | dims.symbols(b)
    if len(names) > _MOST_NAMES:
        return None
    above = {name: dims.symbol(name) + 1 for name in names}
    if dims.substitute(a, above) != dims.substitute(b, above):
        return None
    for size in sorted((a, b), key=lambda size: len(str(size))):
        if all(dims.substitute(size, {name: 0}) == 0 for name in names):
            return size
    return None


def broadcast(*shapes: Shape | None) -> Shape | None:
    """The shape that shapes broadcast to; None where a rank is unknown."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    rank = max(map(len, known), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in known]
    try:
        return tuple(broadcast_dims(column) for column in zip(*padded, strict=True))
    except ShapeError as error:
        shown = " and ".join(str([*shape]) if shape else "[]" for shape in known)
        raise ShapeError(f"{error.message}, in shapes {shown}") from None


def axis_of(axis: int, rank: int, name: str = "axis") -> int:
    """`axis` counted from the front; ShapeError if a tensor of `rank` axes has no such one."""
    if not -rank <= axis < rank:
        raise ShapeError(f"{name} is {axis}, outside a tensor of {rank} axes")
    return axis % rank


def axes_of(axes: Iterable[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """Axes counted from the front, in order given; ShapeError if one is outside or named twice."""
    counted = tuple(axis_of(axis, rank, name) for axis in axes)
    if len(set(counted)) < len(counted):
        raise ShapeError(f"{name} names an axis twice: {list(axes)}")
    return counted


def unify(a: Dim | None, b: Dim | None, what: str = "sizes") -> Dim | None:
    """One size known from two sides; ShapeError if they are two different numbers."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise ShapeError(f"{what} differ: {a} and {b}")
    return a if isinstance(a, int) or not isinstance(b, int) else b


def product(sizes: Iterable[Dim | None]) -> Dim | None:
    """The number of elements, where every size is known."""
    total: Dim = 1
    for size in sizes:
        if size is None:
            return None
        total = total * size
    return total


FRESH = "~"
"""What the names of sizes begin with that are a node's own; inference puts others in their place."""


def fresh(stem: str) -> Dim:
    """A size that depends on what flows through the model: one size in all outputs of a node, another in the next."""
    return dims.symbol(f"{FRESH}{stem}")


def same(x: Fact, /, *_: Fact, **__: object) -> Inferred:
    """The output is of the type of the first input."""
    return x.type


def broadcasting(*inputs: Fact, **_: object) -> Inferred:
    """The output has the element type of the inputs and the shape they broadcast to."""
    dtype = next((x.dtype for x in inputs if x.dtype is not None), None)
    shape = broadcast(*(x.shape for x in inputs))
    return None if dtype is None else TensorType(dtype, shape)


def comparing(*inputs: Fact, **_: object) -> Inferred:
    """The output is bool, of the shape the inputs broadcast to."""
    return TensorType(DType.BOOL, broadcast(*(x.shape for x in inputs)))


def require_rank(x: Fact, rank: int, name: str) -> None:
    """ShapeError unless the rank of `x` is `rank` or unknown."""
    if x.rank is not None and x.rank != rank:
        raise ShapeError(f"{name} has {x.rank} axes, expected {rank}")


def require(condition: bool, message: str, *, hint: str | None = None) -> None:
    """CheckError with `message` unless the condition holds."""
    if not condition:
        raise CheckError(message, hint=hint)


def require_flags(**flags: int) -> None:
    """CheckError unless each attribute named is 0 or 1."""
    for name, value in flags.items():
        require(value in (0, 1), f"{name} is {value}, it must be 0 or 1")


def pairwise(a: Fact, b: Fact, compute: Callable[[Dim, Dim], Dim]) -> tuple[Dim | None, ...] | None:
    """The elements of two small integer tensors of at most one axis, combined; None where they are not followed."""
    if a.elements is None or b.elements is None or max(a.rank or 0, b.rank or 0) > 1:
        return None
    left, right = a.elements, b.elements
    count = max(len(left), len(right)) if left and right else 0
    if len(left) not in (1, count) or len(right) not in (1, count):
        return None
    pairs = zip(left * (count if len(left) == 1 else 1), right * (count if len(right) == 1 else 1), strict=True)
    return tuple(_combined(x, y, compute) for x, y in pairs)


def _combined(x: Dim | None, y: Dim | None, compute: Callable[[Dim, Dim], Dim]) -> Dim | None:
    if x is None or y is None:
        return None
    try:
        return compute(x, y)
    except (ValueError, ZeroDivisionError):  # too large an expression to follow, or nothing to follow
        return None


def is_natural(dim: Dim | None) -> bool:
    """Whether a size is known not to be negative."""
    return dim is not None and (lower_bound(dim) or 0) >= 0 and lower_bound(dim) is not None
