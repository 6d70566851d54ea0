"""The primitives: a closed list of tensor expressions, plain data without names or loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.dims import Dim, lower_bound
from ingot.dtypes import Array, DType
from ingot.prim.functions import ELEMENTS, FLOATING, FUNCTIONS, INTEGERS, STORED
from ingot.prim.settled import Number, settled, unchanged

if TYPE_CHECKING:
    from ingot.ir.node import Node

Sizes: TypeAlias = tuple[Dim, ...]

_MOST_COMPARED = 1 << 20
"""Elements of a constant that are compared with one another."""


class Refused(Exception):
    """A node cannot be lowered to primitives; the reference runs it. The message is the reason."""


@dataclass(frozen=True, eq=False, slots=True)
class Tensor:
    """A tensor of known element type and sizes, which may be expressions of named ones; equal only to itself."""

    dtype: DType
    shape: Sizes
    is_constant: bool = field(init=False, repr=False)
    """Whether it can be computed when the model is compiled: from constants, by functions that cannot fail."""

    def __post_init__(self) -> None:
        is_constant = (
            self._can_be_folded()
            and all(read.is_constant for read in self.reads)
            and all(isinstance(size, int) for size in self.shape)
        )
        _set_constant(self, is_constant)

    def _can_be_folded(self) -> bool:
        """Whether it is constant if all that it reads is, and its sizes are numbers."""
        return bool(self.reads)

    @property
    def number(self) -> Number | None:
        """What every element is, where they are known to be one number, bit for bit."""
        return None

    @property
    def least(self) -> int | None:
        """A number that no element is below, where one is known; of integers alone."""
        return None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The tensors this one is computed from."""
        return ()

    def __add__(self, other: Operand) -> Tensor:
        return apply("add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return apply("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return apply("subtract", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return apply("subtract", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return apply("multiply", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return apply("multiply", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return apply("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return apply("divide", other, self)

    def __neg__(self) -> Tensor:
        return apply("negate", self)


_set_constant = Tensor.__dict__["is_constant"].__set__  # past what keeps a tensor frozen


@dataclass(frozen=True, eq=False, slots=True)
class Parameter(Tensor):
    """From outside: an input of the model, or the result of a step."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Tensor):
    """Known when the model is compiled."""

    array: Array

    def _can_be_folded(self) -> bool:
        return True

    @property
    def number(self) -> Number | None:
        elements = self.array.reshape(-1)
        if not 0 < elements.size <= _MOST_COMPARED:
            return None
        bits = elements.view(f"u{elements.itemsize}")
        return elements[0] if bits[0] == bits[-1] and (bits == bits[0]).all() else None

    @property
    def least(self) -> int | None:
        is_known = self.dtype in INTEGERS and 0 < self.array.size <= _MOST_COMPARED
        return int(self.array.min()) if is_known else None


@dataclass(frozen=True, eq=False, slots=True)
class Iota(Tensor):
    """Each element is its own index along `axis`."""

    axis: int

    def _can_be_folded(self) -> bool:
        return True

    @property
    def least(self) -> int | None:
        return 0


@dataclass(frozen=True, eq=False, slots=True)
class Size(Tensor):
    """A size, as an int64 without axes."""

    size: Dim

    @property
    def least(self) -> int | None:
        return lower_bound(self.size)


@dataclass(frozen=True, eq=False, slots=True)
class Map(Tensor):
    """An elementwise function of `prim.functions`; all arguments have the shape of the result."""

    function: str
    arguments: tuple[Tensor, ...]

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return self.arguments

    def _can_be_folded(self) -> bool:
        return self.dtype not in INTEGERS or self.function not in ("divide", "remainder")

    @property
    def number(self) -> Number | None:
        if self.function != "cast":
            return None
        (x,) = self.arguments
        number = None if x.dtype in FLOATING and self.dtype not in FLOATING else x.number
        return None if number is None else np.asarray(number).astype(self.dtype.numpy)[()]


@dataclass(frozen=True, eq=False, slots=True)
class Reduce(Tensor):
    """The reduction by `function` of the elements along `axes`, which stay with size one."""

    function: str
    x: Tensor
    axes: tuple[int, ...]

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.x,)


@dataclass(frozen=True, eq=False, slots=True)
class Contract(Tensor):
    """The sum of products over the axes whose labels the result has not; `labels` are of lhs, rhs and the result.

    Operands have the type of the sums; or they are bytes, the right ones signed, and the sums INT32; or the sums are
    FLOAT32, and each operand is of 16-bit floats or of FLOAT32.
    """

    lhs: Tensor
    rhs: Tensor
    labels: tuple[str, str, str]

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.lhs, self.rhs)


@dataclass(frozen=True, eq=False, slots=True)
class View(Tensor):
    """The elements of another tensor under other indices; see the kinds below."""

    x: Tensor

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.x,)

    @property
    def number(self) -> Number | None:
        return self.x.number

    @property
    def least(self) -> int | None:
        return self.x.least


@dataclass(frozen=True, eq=False, slots=True)
class Permute(View):
    """Axis `i` of the result is axis `order[i]` of `x`."""

    order: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Expand(View):
    """Axes of size one repeated to the size of the result."""


@dataclass(frozen=True, eq=False, slots=True)
class Reshape(View):
    """The same elements in C order under other sizes."""


@dataclass(frozen=True, eq=False, slots=True)
class AssumeShape(View):
    """The same elements under sizes that are assumed to be equal to their own: guards check that in each run."""


@dataclass(frozen=True, eq=False, slots=True)
class Slice(View):
    """Along axis `i`, the elements from `starts[i]` on, `steps[i]` apart (which may be negative)."""

    starts: Sizes
    steps: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Pad(View):
    """`x` from index `before[i]` of axis `i` on, `fill` around it."""

    before: Sizes
    fill: int | float | bool

    @property
    def number(self) -> Number | None:
        return None

    @property
    def least(self) -> int | None:
        return None


@dataclass(frozen=True, eq=False, slots=True)
class Window(View):
    """Each of `axes` becomes two: where a window starts, and the place in it; the latter come last, in order."""

    axes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Gather(Tensor):
    """`x` at computed places: for each of its axes either an axis of the result, or a tensor of indices of its shape.

    Indices count from the front; one out of range is an error of the run, unless they are known to be in range.
    """

    x: Tensor
    places: tuple[Tensor | int, ...]
    in_range: bool = False

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.x, *(place for place in self.places if isinstance(place, Tensor)))

    def _can_be_folded(self) -> bool:
        return self.in_range  # else an index out of range is an error of the run


@dataclass(frozen=True, eq=False, slots=True)
class Scatter(Tensor):
    """`x` with `updates` written, or combined by `function`, at places computed as in `Gather`, in C order."""

    x: Tensor
    updates: Tensor
    places: tuple[Tensor | int, ...]
    function: str | None

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.x, self.updates, *(place for place in self.places if isinstance(place, Tensor)))

    def _can_be_folded(self) -> bool:
        return False  # an index out of range is an error of the run


@dataclass(frozen=True, eq=False, slots=True)
class Concat(Tensor):
    """Tensors one after another along `axis`."""

    parts: tuple[Tensor, ...]
    axis: int

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return self.parts


@dataclass(frozen=True, eq=False, slots=True)
class Scan(Tensor):
    """The running reduction by `function` of the elements along `axis`, each itself left out if `exclusive`."""

    function: str
    x: Tensor
    axis: int
    exclusive: bool
    reverse: bool

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return (self.x,)


@dataclass(frozen=True, eq=False, slots=True)
class Call:
    """A node that the reference runs, as it cannot be lowered."""

    node: Node
    arguments: tuple[Tensor | None, ...]
    reason: str


@dataclass(frozen=True, eq=False, slots=True)
class SizeReading:
    """A step between kernels: the elements of `x`, an int64 tensor of one axis, become the sizes of its one result.

    A guard of the run is that none of them is below zero.
    """

    x: Tensor

    @property
    def arguments(self) -> tuple[Tensor, ...]:
        return (self.x,)


@dataclass(frozen=True, eq=False, slots=True)
class RandomKey:
    """A step between kernels: one uint64, the key of random numbers that follow from the seed of the run.

    It is the next after `previous`, the key before it.
    """

    previous: Tensor | None

    @property
    def arguments(self) -> tuple[Tensor, ...]:
        return () if self.previous is None else (self.previous,)


HostStep: TypeAlias = Call | SizeReading | RandomKey
"""A step of a plan that no kernel computes: those before it end, and those after it know the sizes of its results."""


@dataclass(frozen=True, eq=False, slots=True)
class CallResult(Tensor):
    """One of the results of a call; one that is no tensor of numbers has no sizes and is read by calls alone.

    The result of a reading is read by nothing: it has sizes, no elements.
    """

    call: HostStep
    index: int
    opaque: bool = False

    @property
    def reads(self) -> tuple[Tensor, ...]:
        return tuple(argument for argument in self.call.arguments if argument is not None)

    def _can_be_folded(self) -> bool:
        return False  # it exists only in a run


Operand: TypeAlias = Tensor | int | float | bool


class SizeReader(Protocol):
    """Passed to a `lower` rule that has a parameter `read`: computed numbers as sizes that other tensors have."""

    def __call__(self, x: Tensor) -> Sizes:
        """The elements of an int64 tensor of one axis of a known size; a run in which one is below zero goes another
        way: the reference says what is wrong.
        """


class KeyReader(Protocol):
    """Passed to a `lower` rule that has a parameter `draw`: a key of random numbers."""

    def __call__(self, seed: float | None) -> Tensor:
        """One UINT64 without axes: a number for a seed of the node, else one that each run has of its own."""


def apply(function: str, *operands: Operand) -> Tensor:
    """An elementwise function; sizes of one are broadcast, numbers take the element type of the tensors.

    Where numbers settle it, the number or the argument that it is. Refused if element types differ or are none that
    primitives compute with, or the sizes do not fit.
    """
    rule = FUNCTIONS[function]
    assert len(operands) == rule.arity, function
    typed = operands[1:] if rule.result == "second" else operands
    dtype = next(operand.dtype for operand in typed if isinstance(operand, Tensor))
    tensors = [
        operand if isinstance(operand, Tensor) else scalar(operand, dtype if operand in typed else DType.BOOL)
        for operand in operands
    ]
    for tensor in tensors[1:] if rule.result == "second" else tensors:
        if tensor.dtype is not dtype or dtype not in (STORED if function == "where" else ELEMENTS):
            raise Refused(f"{function} of {', '.join(str(argument.dtype) for argument in tensors)}")
    shape = broadcast(*(tensor.shape for tensor in tensors))
    result = DType.BOOL if rule.result == "bool" else dtype
    if all(_meets(tensor.shape, shape) for tensor in tensors):  # else guards would be lost
        numbers = [tensor.number for tensor in tensors]
        place = unchanged(function, numbers)
        if place is not None:
            return expand(tensors[place], shape)
        number = settled(function, numbers)
        if number is None:
            number = _compared(function, tensors, numbers)
        if number is not None:
            return expand(scalar(number, result), shape)
        once = [tensor.x if isinstance(tensor, Expand) else tensor for tensor in tensors]
        if (whole := broadcast(*(tensor.shape for tensor in once))) != shape and len(whole) == len(shape):
            return expand(apply(function, *once), shape)
    return Map(result, shape, function, tuple(expand(tensor, shape) for tensor in tensors))


def _meets(shape: Sizes, whole: Sizes) -> bool:
    """Whether sizes are known to be one, or those of `whole`, from the last on."""
    return all(size in (1, other) for size, other in zip(reversed(shape), reversed(whole), strict=False))


def _compared(function: str, tensors: Sequence[Tensor], numbers: Sequence[Number | None]) -> bool | None:
    """Whether a number is less than all elements of a tensor, or they than it; None where that is not known."""
    if function not in ("less", "less_equal"):
        return None
    (x, y), (number, other), or_equal = tensors, numbers, function == "less_equal"
    if number is not None and y.least is not None and (number < y.least or (or_equal and number == y.least)):
        return True
    if other is not None and x.least is not None and (other < x.least or (not or_equal and other == x.least)):
        return False
    return None


def scalar(value: int | float | bool, dtype: DType) -> Tensor:
    """A number as a tensor without axes."""
    return Constant(dtype, (), np.asarray(value).astype(dtype.numpy))


def broadcast(*shapes: Sizes) -> Sizes:
    """The shape that all shapes broadcast to; sizes that only a run can compare are assumed to be equal.

    Refused if two sizes cannot be equal.
    """
    whole = next((shape for shape in shapes if shape), ())
    if all(not shape or shape == whole for shape in shapes):  # as for most, beside numbers too
        return tuple(whole)
    rank = max(map(len, shapes), default=0)
    columns = zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True)
    return tuple(agreed(size for size in column if size != 1) for column in columns)


def agreed(sizes: Iterable[Dim]) -> Dim:
    """The one size that all of these are assumed to be, a number if there is one; one, if there are none."""
    different = list(dict.fromkeys(sizes))
    fixed = [size for size in different if isinstance(size, int)]
    if len(fixed) > 1:
        raise Refused(f"sizes {' and '.join(map(str, fixed))} that are not equal")
    return fixed[0] if fixed else different[0] if different else 1


def assume_shape(x: Tensor, shape: Sizes) -> Tensor:
    """`x` as a tensor of sizes that are assumed to be its own; Refused where they cannot be."""
    if x.shape == shape:
        return x
    if x.rank != len(shape) or any(a != b and isinstance(a - b, int) for a, b in zip(x.shape, shape, strict=True)):
        raise Refused(f"sizes {list(map(str, x.shape))} that are not {list(map(str, shape))}")
    return AssumeShape(x.dtype, shape, x)


def expand(x: Tensor, shape: Sizes) -> Tensor:
    """`x` with axes in front and sizes of one repeated, to make up `shape`; Refused where it has more axes."""
    if x.shape == shape:
        return x
    if x.rank > len(shape):
        raise Refused(f"an expansion of {list(map(str, x.shape))} to {list(map(str, shape))}")
    front = (1,) * (len(shape) - x.rank)
    fits = all(size in (1, whole) for size, whole in zip(front + x.shape, shape, strict=True))
    if isinstance(x, Expand) and fits:  # else its sizes are assumed to be these
        x = x.x
    lifted = x if not front else Reshape(x.dtype, front + x.shape, x)
    lifted = assume_shape(
        lifted, tuple(1 if size == 1 else whole for size, whole in zip(lifted.shape, shape, strict=True))
    )
    return lifted if lifted.shape == shape else Expand(x.dtype, shape, lifted)
