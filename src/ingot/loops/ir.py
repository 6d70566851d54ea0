"""The loop IR: kernels as loops over stores of scalar expressions, plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.prim.code_meaning import HalfBits, Levels
from ingot.prim.functions import NARROW_FLOATS
from ingot.prim.guard import Guards
from ingot.prim.tensor import HostStep

LABEL = "label"
"""Marks a field that is for people alone, `field(metadata={LABEL: True})`: what is computed depends on the others."""


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """Memory that a kernel reads or writes: `elements` of one type."""

    name: str = field(metadata={LABEL: True})
    dtype: DType
    elements: Dim


@dataclass(frozen=True, eq=False, slots=True)
class Var:
    """A loop variable: 0 to `extent` - 1."""

    name: str = field(metadata={LABEL: True})
    extent: Dim


@dataclass(frozen=True, slots=True)
class Index:
    """An integer: `offset` plus each term times its factor. A term that is no variable is an int64 scalar."""

    terms: tuple[tuple[Var | Scalar, Dim], ...] = ()
    offset: Dim = 0

    def __add__(self, other: Index) -> Index:
        factors: dict[Var | Scalar, Dim] = dict(self.terms)
        for term, factor in other.terms:
            factors[term] = factors.get(term, 0) + factor
        return Index(tuple(item for item in factors.items() if item[1] != 0), self.offset + other.offset)

    def times(self, factor: Dim) -> Index:
        if factor == 0:
            return Index()
        return Index(tuple((term, own * factor) for term, own in self.terms), self.offset * factor)

    def plus(self, offset: Dim) -> Index:
        return Index(self.terms, self.offset + offset)

    def factor(self, var: Var) -> Dim:
        """How far the index moves when `var` grows by one, other terms left alone."""
        for term, factor in self.terms:
            if term is var:
                return factor
        return 0


@dataclass(frozen=True, slots=True)
class Inside:
    """The condition that an index is at least zero and less than `size`."""

    index: Index
    size: Dim


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    dtype: DType
    value: float | int | bool


@dataclass(frozen=True, eq=False, slots=True)
class RuntimeScalar:
    """A number that is an argument of the kernel: its bits are a size, those of 8 bytes two, the lower half first."""

    dtype: DType
    bits: tuple[Dim, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Local:
    """The value of a local."""

    dtype: DType
    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Position:
    """An index as an int64 value, or as an int32 where it is known to be one."""

    index: Index
    dtype: DType = DType.INT64


@dataclass(frozen=True, eq=False, slots=True)
class Load:
    """An element of a buffer; `fill` where a condition does not hold, and then nothing is read."""

    dtype: DType
    buffer: Buffer
    index: Index
    where: tuple[Inside, ...] = ()
    fill: float | int | bool = 0


@dataclass(frozen=True, eq=False, slots=True)
class Apply:
    """A function of `prim.functions`, or `cast`."""

    dtype: DType
    function: str
    arguments: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Select:
    """`value` where all conditions hold, else `fill`."""

    dtype: DType
    value: Scalar
    where: tuple[Inside, ...]
    fill: float | int | bool


@dataclass(frozen=True, eq=False, slots=True)
class CheckedIndex:
    """An index into `size` elements; one that is out of range is reported, and is zero instead."""

    value: Scalar
    size: Dim
    dtype: DType = DType.INT64


Scalar: TypeAlias = Literal | RuntimeScalar | Local | Position | Load | Apply | Select | CheckedIndex


LONGEST_JAMMED = 2048
"""Elements of the longest loop in vectors around a jammed one: so many zeros are there to be read."""


LANES_APART = 4
"""The largest stride at which the lanes of a vector are picked out of contiguous vectors, instead of gathered."""


LANES = range(1, LANES_APART + 1)
"""The strides at which lanes are loaded in contiguous vectors."""


class Kind(Enum):
    """How a loop runs: one iteration after another, by several threads, in vectors or strings, or unrolled and jammed.

    One in strings copies a row: strings of bytes, which one instruction moves, and what is left of it in vectors.

    In a loop that is jammed (unroll-and-jam), each statement runs for all values of the variable before the next one
    does, and each value has locals of its own. What several of them read is then read once.
    """

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTOR = "vector"
    STRINGS = "strings"
    JAM = "jam"

    @property
    def has_lanes(self) -> bool:
        """Whether iterations run in the lanes of vectors."""
        return self in (Kind.VECTOR, Kind.STRINGS)


@dataclass(frozen=True, slots=True)
class For:
    var: Var
    body: tuple[Statement, ...]
    kind: Kind = Kind.SERIAL


@dataclass(frozen=True, slots=True)
class Let:
    """`local = value`."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Update:
    """`local = function(local, value)`."""

    name: str
    function: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Store:
    buffer: Buffer
    index: Index
    value: Scalar


Statement: TypeAlias = For | Let | Update | Store


@dataclass(frozen=True, slots=True)
class ByteDot:
    """How products of bytes are added to sums of int32: `terms` of `k` at once, which are one int32 in a panel.

    Four terms are bytes, two are int16s, one is an int32. Of four, those of the left operand are multiplied as
    `unsigned` or as signed numbers. Where they are the other ones they are `flipped`, by their highest bit, which moves
    them by 128. Every panel begins with a row of what each sum starts with: what that move adds, taken off.
    """

    terms: int
    unsigned: bool
    flipped: bool
    rest: bool
    """Whether terms may be left over at the end of the innermost axis of `k`."""
    units: int = 1
    """The rows of a panel that an instruction multiplies at once: with more than one it is one of matrices, as those of
    AMX. Panels then have a multiple of them, zeros in the last, and begin with no other row."""


@dataclass(frozen=True, slots=True)
class PairDot:
    """How products of bfloat16 are added to sums of float32: two terms of `k` at once, one after the other.

    Two terms of a column, the first in the lower bits, are one float32 of a panel. Numbers below the smallest normal
    one are zeros, operands and sums alike.
    """

    rest: bool
    """Whether a term may be left over at the end of the innermost axis of `k`."""
    units: int = 1
    """The rows of a panel that an instruction multiplies at once, as in `ByteDot`."""


MATRIX_ROWS = 16
"""The rows of a matrix that one instruction multiplies, where there are any of matrices."""

GATHERED_ROWS = 128
"""Rows that are gathered at a time: a panel is read from memory once for all of them."""


_UNPACKED = 512
"""Rows of a panel in codes that are unpacked at a time, at least: with 64 columns 128 KiB, which stay in a core's
cache."""


@dataclass(frozen=True, slots=True)
class Tile:
    """`rows` of `vectors` of `lanes` columns each; `dot` is how several terms are multiplied at once, None if not."""

    rows: int
    vectors: int
    lanes: int
    dot: ByteDot | PairDot | None = None

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def of_matrices(self) -> bool:
        """Whether instructions multiply matrices: many rows by many columns at once."""
        return self.dot is not None and self.dot.units > 1


@dataclass(frozen=True, slots=True)
class CodeBlocks:
    """How panels hold a right operand in codes of `bits` bits: elements are `(code - zero) * scale`, by blocks of `k`.

    For each block of `block` rows, or for all rows if that is 0, a panel has the scales of its columns as FLOAT32,
    their zeros as `zeros`, unless there is one `zero` for all, and rows of words of 32 bits, a word for each column,
    with the codes of as many rows of `k` as it holds, the first in its lowest bits. Codes with a `meaning` stand for
    other numbers than themselves.
    """

    bits: int
    block: int
    zeros: DType | None
    zero: int
    rest: bool
    """Whether the last word of a column may have room for more rows than there are."""
    rounded: bool = False
    """Whether the left operand may be rounded to bytes, scaled for each of its blocks."""
    dot: ByteDot | None = None
    """How bytes are multiplied, where it is: codes times the left operand, which has signs."""
    meaning: Levels | HalfBits | None = None
    half_scales: bool = False
    """Whether scales lie as FLOAT16, where a GPU reads them."""
    has_lines: bool = False
    """Whether a GPU stores rows of the left operand as lines of 16-bit floats first."""

    @property
    def each(self) -> int:
        """The codes in a word."""
        return 32 // self.bits

    def head(self, columns: int) -> int:
        """The bytes of the scales and zeros of a block."""
        return columns * (4 if self.zeros is None else 4 + self.zeros.numpy.itemsize)


@dataclass(frozen=True, slots=True)
class Contraction:
    """A contraction: sums over `k` of lhs times rhs, for every place of `batch`, `m` and `n`.

    `rhs` is packed into panels when the kernel runs, unless that was done at compile time, or by another kernel: one
    that has `panels` stores these there, and sums nothing. `body` is the epilogue, in which a sum is the local
    `sum`. Of several `groups` of columns, as many in each as `n` has, one place of the epilogue reads a sum of each:
    the locals `sum0`, `sum1` and so on. The right operand has the columns of one group after those of another.
    """

    dtype: DType
    batch: tuple[Var, ...]
    m: tuple[Var, ...]
    n: tuple[Var, ...]
    k: tuple[Var, ...]
    lhs: Load
    rhs: Load
    body: tuple[Statement, ...]
    packed: bool = False
    scratch: tuple[Buffer, ...] = ()
    zeros: Buffer | None = None
    """As many zeros as the innermost axis of `k` has elements, where the left side is padded."""
    tile: Tile | None = None
    """The sums that are held in registers at once."""
    panels: Buffer | None = None
    groups: int = 1
    number: Scalar | None = None
    """How often the contraction was run before, in a loop that its right operand is invariant in: in every other run
    panels are read from the last to the first, so that a cache still has what was read last."""
    codes: CodeBlocks | None = None
    """How the right operand, which is packed, holds codes of few bits; None for elements as they are."""
    rounded: tuple[Load, Load] | None = None
    """The scales and the sums of the rows of the left operand, where these are bytes, as `RoundedRows` stores them."""
    from_zeros: bool = False
    """Whether the left operand is zeros in run 0, and the right one finite, so that there is nothing to sum."""
    in_place: bool = False
    """Whether columns of the right operand, a few elements apart, are read where they lie, and no panel is packed."""
    in_line: bool = False
    """Whether the terms of a row of the left operand lie at one distance through all axes of `k`."""

    @property
    def is_of_bytes(self) -> bool:
        """Whether it sums products of bytes: the left ones signed or not, the right ones signed."""
        return self.lhs.dtype in (DType.INT8, DType.UINT8) and self.dtype is DType.INT32

    @property
    def terms(self) -> int:
        """The terms of `k` in a row of a panel, once there is a tile."""
        match self.tile:
            case Tile(dot=ByteDot(terms=terms)):
                return terms
            case Tile(dot=PairDot()):
                return 2
        return 1

    @property
    def panel_dtype(self) -> DType:
        """The type of the elements of a panel, once there is a tile: several terms are one element of the sums' type.

        16-bit floats that were packed when the model was compiled stay as they are, others are widened.
        """
        assert self.tile is not None
        return self.rhs.dtype if self.packed and self.tile.dot is None else self.dtype

    @property
    def depth(self) -> Dim:
        """The rows of a panel, once there is a tile."""
        assert self.tile is not None
        if self.tile.dot is None:
            return extent(self.k)
        if self.tile.of_matrices:
            return -(-self.units // self.tile.dot.units) * self.tile.dot.units
        return self.units + (1 if isinstance(self.tile.dot, ByteDot) else 0)

    @property
    def units(self) -> Dim:
        """The rows of a panel that hold terms of `k`, once there is a tile."""
        return extent(self.k[:-1]) * -(-self.k[-1].extent // self.terms)

    @property
    def gathers(self) -> bool:
        """Whether rows of the left operand are copied to scratch memory, each in line, to be read as matrices."""
        return self.tile is not None and self.tile.of_matrices and self.packed and bool(self.scratch)

    @property
    def gathered_bytes(self) -> Dim:
        """The bytes of a thread's rows that are gathered, and of the lines that some of them are before."""
        return self.depth * 4 * GATHERED_ROWS + self.gathered_line * MATRIX_ROWS

    @property
    def gathered_line(self) -> Dim:
        """The bytes of a line, with room for what the last of its runs is filled up with."""
        return self.depth * 4 + 128

    def has_plain_rows(self, rest: bool) -> bool:
        """Whether all rows of the left operand have one distance, and their terms lie as in a panel.

        `rest` is whether terms may be left over at the end of the innermost axis of `k`.
        """
        return not self.lhs.where and len(self.m) <= 1 and (len(self.k) == 1 or (self.in_line and not rest))

    @property
    def unpacks(self) -> bool:
        """Whether panels in codes are unpacked, for more rows than a tile has, into scratch memory."""
        return self.codes is not None and self.codes.dot is None and bool(self.scratch)

    @property
    def unpacked_rows(self) -> Dim:
        """The rows of a panel in codes that are unpacked at a time: whole blocks."""
        assert self.codes is not None
        return -(-_UNPACKED // self.codes.block) * self.codes.block if self.codes.block else extent(self.k)

    @property
    def sums(self) -> tuple[str, ...]:
        """The names of the locals that hold sums in the epilogue, one for each group."""
        return ("sum",) if self.groups == 1 else tuple(f"sum{group}" for group in range(self.groups))


@dataclass(frozen=True, slots=True)
class RoundedRows:
    """Rows of floats in bytes, scaled block by block so that the largest element of each is 127, for codes of few bits.

    `x` is an element of a row, along `k`, whose neighbours lie side by side. Of each block of `codes`, `scales` gets
    the scale and `totals` the sum of bytes. A row of `rounded` has `line` bytes, in the order in which the codes of a
    word are read, zeros behind the last.
    """

    m: tuple[Var, ...]
    k: Var
    x: Load
    codes: CodeBlocks
    chunk: int
    """The elements that are rounded at once."""
    rounded: Buffer
    scales: Buffer
    totals: Buffer

    @property
    def line(self) -> Dim:
        return -(-self.k.extent // self.chunk) * self.chunk

    @property
    def blocks(self) -> Dim:
        """The blocks of a row."""
        return 1 if self.codes.block == 0 else -(-self.k.extent // self.codes.block)


@dataclass(frozen=True, slots=True)
class Staged:
    """Rows whose windows read scratch memory, to which what they slide over is copied row by row.

    For each of `rows`, which run in parallel, `copied` stores to `scratch` what `body` reads there. Each thread has
    `length` elements of it, and `filled` sets once what `copied` leaves alone: what lies beside an image.
    """

    rows: tuple[Var, ...]
    filled: tuple[Statement, ...]
    copied: tuple[Statement, ...]
    body: tuple[Statement, ...]
    scratch: tuple[Buffer, ...]
    length: int


@dataclass(frozen=True, slots=True)
class Winograd:
    """A convolution by filters of 3 x 3 in tiles of `side` x `side` sums, by Winograd's algorithm.

    It makes what a product with the same `m`, `n`, `k`, `lhs` and `body` does: the last two of `m` are rows and columns
    of sums, along which the first two of `k` slide, and the last of `k` are the channels. `rhs` holds the weights
    transformed and in panels, `plain` the weights themselves, for sums that are no finite numbers when transformed.
    """

    dtype: DType
    m: tuple[Var, ...]
    n: tuple[Var, ...]
    k: tuple[Var, ...]
    lhs: Load
    rhs: Load
    plain: Load
    body: tuple[Statement, ...]
    side: int
    block: Dim
    """The tiles that are transformed before they are multiplied."""
    lines: tuple[Dim, Dim]
    """The elements from one tile to the next in each of the scratch buffers, transformed inputs and sums."""
    scratch: tuple[Buffer, ...]
    zeros: Buffer
    """As many zeros as there are channels."""
    tile: Tile | None = None


@dataclass(frozen=True, slots=True)
class Attention:
    """Attention: for every place of `batch` and `m`, a mean of the rows of `values`, one for each key `t`.

    `score` is an expression of the sum over `k` of queries times keys, the local `sum`; weights are the softmax of the
    scores of a row, not yet divided by their sum. `body` is the epilogue, in which the weighted sum of values is the
    local `read`, and the sum of weights the local `total`.
    """

    dtype: DType
    batch: tuple[Var, ...]
    m: tuple[Var, ...]
    n: Var
    k: Var
    t: Var
    queries: Load
    keys: Scalar
    values: Scalar
    score: Scalar
    body: tuple[Statement, ...]
    weights: DType | None = None
    """The 16-bit type to which weights may be rounded before they are multiplied: the model rounds them there."""
    block: int = 0
    """The scores of a row that are held at a time; this and what follows is left to the schedule."""
    lines: tuple[Dim, Dim, Dim] = (0, 0, 0)
    """The elements of each of the scratch buffers that are a thread's: keys, values, scores with what they read."""
    scratch: tuple[Buffer, ...] = ()
    tile: Tile | None = None
    dots: tuple[PairDot | None, PairDot | None] = (None, None)
    """How queries and keys, and weights and values, are multiplied where that is in pairs of bfloat16."""


VOTES = "votes"
"""The local that has the votes for a target in the epilogue of a descent."""


@dataclass(frozen=True, slots=True)
class Descent:
    """Decision trees: for each `row` and `column`, a target, the votes of leaves reduced by `function`.

    `x` is the feature of a row; `nodes` and the other tables are those of `prim.descent.Trees`, loaded from their
    beginning on. `body` is the epilogue, in which the votes for a target are the local `votes`, a float64.
    """

    function: str
    row: Var
    column: Var
    feature: Var
    x: Load
    key: DType
    missing: tuple[bool, ...]
    nodes: Load
    wide: bool
    shift: Dim
    roots: Load
    votes: Load
    targets: Load | None
    by_leaf: bool
    trees: Dim
    steps: int
    body: tuple[Statement, ...]
    leaves: int = 0
    """The bits of a leaf's place in `tests`; without, what follows is None."""
    between: bool = False
    tests: Load | None = None
    spans: Load | None = None
    exits: Load | None = None
    chunk: Dim = 0
    """The rows that go down a tree before the next tree, a multiple of `lanes`; this and `scratch` are scheduled."""
    lines: tuple[Dim, Dim] = (0, 0)
    """The elements of each of the scratch buffers that are a thread's: keys, as int64, and votes."""
    scratch: tuple[Buffer, ...] = ()

    @property
    def lanes(self) -> int:
        """The rows whose keys of a feature lie together, 64 bytes of them."""
        return 64 // self.key.numpy.itemsize

    @property
    def slots(self) -> Dim:
        return self.feature.extent * len(self.missing)


PLACE = "place"
"""The local that has the place of an element in the epilogue of a sort."""


@dataclass(frozen=True, slots=True)
class Sort:
    """Sorted rows: for each of `rows` and each `rank`, where the element is that comes there, as `prim.order` says.

    `x` is an element of a row; they lie side by side. `body` is the epilogue, in which the place is the local `place`.
    """

    rows: tuple[Var, ...]
    element: Var
    rank: Var
    x: Load
    descending: bool
    body: tuple[Statement, ...]
    line: Dim = 0
    """The words of each of the first two scratch buffers that are a thread's; this and what follows is scheduled."""
    scratch: tuple[Buffer, ...] = ()


COUNT = "count"
"""The local that has how many boxes of a class are selected."""


@dataclass(frozen=True, slots=True)
class Suppress:
    """Non-maximum suppression: for each `batch` and `group`, a class, the boxes that are selected (`prim.suppression`).

    `boxes` is a number of a box, by `corner`, and `scores` those of a class, which lie side by side. `counted` is the
    epilogue of a class, in which the number of boxes is the local `count`, and `selected` that of each, by its `rank`,
    in which the box is the local `place`.
    """

    batch: Var
    group: Var
    box: Var
    corner: Var
    rank: Var
    boxes: Load
    scores: Load
    most: Scalar
    overlap: Scalar
    floor: Scalar | None
    centred: bool
    counted: tuple[Statement, ...]
    selected: tuple[Statement, ...]
    lines: tuple[Dim, Dim] = (0, 0)
    """The words of a thread in what is sorted, and the elements of each number of its selected boxes; scheduled."""
    scratch: tuple[Buffer, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One pass over a row: `starts` once, then `body` for every place of `inner`.

    Reductions of one pass need no other of the same pass.
    """

    inner: tuple[Var, ...]
    starts: tuple[Statement, ...] = ()
    body: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops before they are scheduled: independent `rows`, and in each of them one stage after another."""

    rows: tuple[Var, ...]
    stages: tuple[Stage, ...]


LONGEST_WINDOW = 64
"""Elements of the longest window that slides along a row: code has each of them once, or more often."""


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """Reductions of windows that slide along a row, so that neighbouring windows share most of what they read.

    For every place of `rows`, `row` and `lane`: `starts`, then `body` for every place of `inner` and `along`, then
    `ends`. A load of the body that moves along `row` slides: `step` places of `row` take it, and the conditions on it,
    as far as `stride` places of `along` do. The two have no common divisor. Neighbours along `lane` lie side by side.
    """

    rows: tuple[Var, ...]
    row: Var
    lane: Var
    inner: tuple[Var, ...]
    along: Var
    stride: int
    step: int
    starts: tuple[Statement, ...]
    body: tuple[Statement, ...]
    ends: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Cycle:
    """A loop inside of a kernel: in each of its iterations, numbered by `time`, nests run one after another.

    After each, the buffers of every pair of `swapped` are swapped, as in a `LoopStep`; in the end, what the first of
    the two was swapped for is copied back to it. `lines` are how many elements of each pair belong to a row.
    """

    time: Var
    nests: tuple[tuple[Statement, ...] | Contraction, ...]
    swapped: tuple[tuple[Buffer, Buffer], ...]
    lines: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Cycles that are independent of each other, each over `rows` that are: threads share both, and no iteration.

    Where there are several rows, every nest is a contraction with as many.
    """

    rows: Dim
    cycles: tuple[Cycle, ...]


KernelNest: TypeAlias = (
    Nest
    | tuple[Statement, ...]
    | Contraction
    | RoundedRows
    | Staged
    | Winograd
    | Attention
    | Descent
    | Sort
    | Suppress
    | SlidingWindows
    | Recurrence
)
"""A nest of any kind. Fusion gives nests, statements, contractions, attention, descents, sorts and suppressions; once
scheduled, nests are statements, those over windows may be staged or slide along a row, contractions may be Winograd's
or read rounded rows, and short steps of a loop a recurrence."""


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """One step of a plan: nests, each a product or statements in order, which may run in any order among themselves."""

    name: str = field(metadata={LABEL: True})
    nests: tuple[KernelNest, ...]
    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]
    scratch: tuple[Buffer, ...] = field(default=())

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that the code of the kernel takes, each once, in this order."""
        return tuple(dict.fromkeys((*self.reads, *self.writes, *self.scratch)))


@dataclass(frozen=True, eq=False, slots=True)
class LoopStep:
    """Steps run over and over: at most `trips` times, and while `condition`, and then `going`, holds.

    `number` counts the runs. After each, the buffers of every pair of `swapped` are swapped: the results of a run are
    the states of the next one, and nothing is copied. `collected` gets one row from each run.
    """

    name: str = field(metadata={LABEL: True})
    number: Buffer
    trips: Dim | Buffer | None
    condition: Buffer | None
    going: Buffer | None
    steps: tuple[Step, ...]
    swapped: tuple[tuple[Buffer, Buffer], ...]
    collected: tuple[Buffer, ...]


@dataclass(frozen=True, eq=False, slots=True)
class BranchStep:
    """The steps of `then` where `condition` holds, else those of `otherwise`.

    `guards` are what each of the two assumes of sizes: where one fails, it cannot be run.
    """

    name: str = field(metadata={LABEL: True})
    condition: Buffer
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]
    guards: tuple[Guards, Guards]


Step: TypeAlias = Kernel | HostStep | LoopStep | BranchStep


def kernels_in(steps: Sequence[Step]) -> Iterator[Kernel]:
    """The kernels among steps, those inside of others too, in the order they stand in."""
    for step in steps:
        match step:
            case Kernel():
                yield step
            case LoopStep():
                yield from kernels_in(step.steps)
            case BranchStep():
                yield from kernels_in((*step.then, *step.otherwise))


def read_by_regions(steps: Sequence[Step]) -> Iterator[Buffer]:
    """The buffers that loops and branches among steps read or swap themselves, those inside of others too."""
    for step in steps:
        match step:
            case LoopStep():
                yield from (buffer for pair in step.swapped for buffer in pair)
                yield from (buffer for buffer in (step.trips, step.condition, step.going) if isinstance(buffer, Buffer))
                yield from read_by_regions(step.steps)
            case BranchStep():
                yield step.condition
                yield from read_by_regions((*step.then, *step.otherwise))


def collected_by_loops(steps: Sequence[Step]) -> Iterator[Buffer]:
    """The buffers that loops among steps collect, those inside of others too."""
    for step in steps:
        if isinstance(step, LoopStep):
            yield from step.collected
            yield from collected_by_loops(step.steps)
        elif isinstance(step, BranchStep):
            yield from collected_by_loops((*step.then, *step.otherwise))


def nests_in(kernel: Kernel) -> Iterator[KernelNest]:
    """The nests of a kernel, in the place of a recurrence those of its cycles."""
    for nest in kernel.nests:
        if isinstance(nest, Recurrence):
            for cycle in nest.cycles:
                yield from cycle.nests
        else:
            yield nest


def serial_loops(nest: Nest) -> tuple[Statement, ...]:
    """A nest as plain loops, none of which is scheduled."""
    body = tuple(loop for stage in nest.stages for loop in (*stage.starts, *_around(stage.inner, stage.body)))
    return _around(nest.rows, body)


def _around(variables: Sequence[Var], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    for var in reversed(variables):
        body = (For(var, body),)
    return body


def widened(value: Scalar, dtype: DType) -> Scalar:
    """A scalar as one of a type."""
    return value if value.dtype is dtype else Apply(dtype, "cast", (value,))


def before_widening(value: Scalar) -> Load | None:
    """The load that a scalar is, or is widened from; None for any other."""
    match value:
        case Load():
            return value
        case Apply(function="cast", arguments=(Load(dtype=dtype) as load,)) if dtype in NARROW_FLOATS:
            return load
    return None


def paired_load(value: Scalar) -> Load | None:
    """The load of bfloat16 that a scalar is or is widened from, where panels can hold two of it as one; else None.

    It has zeros where it has nothing.
    """
    load = before_widening(value)
    if load is None or load.dtype is not DType.BFLOAT16 or (load.where and load.fill != 0):
        return None
    return load


def extent(variables: Sequence[Var]) -> Dim:
    """How often the innermost of nested loops over variables runs."""
    total: Dim = 1
    for var in variables:
        total = total * var.extent
    return total
