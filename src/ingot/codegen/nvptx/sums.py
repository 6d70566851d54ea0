"""What products on a GPU share: their axes, the epilogue of a sum, and partial sums, which a function of its own adds.

Where there are few tiles, blocks divide the summed axis and store partial sums. `finish` adds these, in order.
"""

from __future__ import annotations

from collections.abc import Callable

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import I64, element, is_float, stack_slot, vector
from ingot.codegen.nvptx.grid import register
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.variant import Function, Sized, Step
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, Index, Load, Var, extent
from ingot.schedule.gpu import SPLIT_ELEMENTS, line_of

FINISH = "finish"
"""The function that adds partial sums."""

SPLITS = ir.Value(I64, "%splits")
"""The parameter that has the number of blocks that divide the summed axis."""

_THREADS = 256
_MOST_BLOCKS = 64
"""Blocks of `finish` for each multiprocessor, at most."""

_ADDING = 1e-6
"""Seconds of `finish` for no sums at all."""

_ADDED = 0.5
"""Of the memory's bandwidth, what adding partial sums reaches: they lie in the L2 cache, and are read once."""


def sum_type(dtype: DType) -> DType:
    """The type of sums: halves are summed as float32."""
    return DType.FLOAT32 if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype


def finish_function(product: Contraction) -> Function:
    """The function `finish`: an element for each thread, with its epilogue."""
    return Function(lambda b, frame: Sums(b, frame, product).finish(), _THREADS, 2, ("splits",))


def finish_steps(sized: Sized, splits: int) -> tuple[tuple[Step, ...], float]:
    """The launch that adds the partial sums of so many blocks, and its time; nothing for one."""
    if splits == 1:
        return (), 0.0
    total = sized.batch * sized.rows * sized.columns
    blocks = min(-(-total // _THREADS), _MOST_BLOCKS * sized.gpu.multiprocessors)
    seconds = sized.gpu.step + _ADDING + 4 * total * (splits + 1) / (_ADDED * sized.gpu.bandwidth)
    return (Step(FINISH, (blocks, 1, 1), (_THREADS, 1), (splits,)),), seconds


def most_splits(sized: Sized) -> int:
    """How many blocks may divide the summed axis: there is memory for the partial sums of so many."""
    return SPLIT_ELEMENTS // max(1, sized.batch * sized.rows * sized.columns)


class Sums(ThreadLoops):
    """What both functions know: the axes, and the epilogue of a sum."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction) -> None:
        super().__init__(b, frame)
        self.product = product
        self.sum_dtype = sum_type(product.dtype)
        self.sum_kind = element(self.sum_dtype)
        (self.n,) = product.n
        self.four_bytes = min(16, 4 * self.sum_dtype.numpy.itemsize)
        size = frame.size
        self.rows, self.columns, self.depth = (size(extent(axes)) for axes in (product.m, product.n, product.k))
        self.batch = size(extent(product.batch))

    def finish(self) -> None:
        """The sums of partial sums, an element for each thread, with their epilogue."""
        b, product = self.b, self.product
        total = self.frame.size(extent((*product.batch, *product.m, *product.n)))
        pointer = self.frame.buffers[product.scratch[0]]
        with self.loop(*self.strided(total)) as number:
            cell = stack_slot(b, self.sum_kind)
            b.store(scalars.number(self.sum_dtype, 0, 1), cell)
            with b.counted(I64(0), SPLITS, I64(1)) as split:
                place = b.gep(pointer, [b.add(b.mul(split, total), number)], source_etype=self.sum_kind)
                b.store(self.added(b.load(cell, self.sum_kind), b.load(place, self.sum_kind)), cell)
            self.unflatten((*product.batch, *product.m, *product.n), number)
            self.end(b.load(cell, self.sum_kind))

    def added(self, one: ir.Value, other: ir.Value) -> ir.Value:
        return (self.b.fadd if is_float(self.sum_dtype) else self.b.add)(one, other)

    def end(self, total: ir.Value) -> None:
        """The epilogue of a sum, or of a vector of them."""
        self._known = {}
        self.locals["sum"] = scalars.cast(self.b, total, self.sum_dtype, self.product.dtype)
        self.statements(self.product.body)
        self._known = {}


class Block(Sums):
    """The sums of one block: `side` rows and `across` columns, and a part of the summed axis in steps of `depth`."""

    def __init__(
        self, b: Builder, frame: Frame, product: Contraction, side: int, depth: int, across: int | None = None
    ) -> None:
        """There are as many columns as rows, unless a number is given."""
        super().__init__(b, frame, product)
        self.thread = self.thread_of_block()
        row_tiles = up(b, self.rows, I64(side))
        block = register(b, "ctaid.x")
        self.top = b.mul(b.srem(block, row_tiles), I64(side))
        self.left = b.mul(b.sdiv(block, row_tiles), I64(side if across is None else across))
        self.split = register(b, "ctaid.y")
        chunk = b.mul(up(b, up(b, self.depth, I64(depth)), SPLITS), I64(depth))
        self.begin = b.mul(self.split, chunk)
        self.end_of_split = smaller(b, b.add(self.begin, chunk), self.depth)

    @property
    def right(self) -> Load:
        """The load of the right operand."""
        return packed_load(self.product) if self.product.packed else self.product.rhs

    def store_sums(
        self,
        memory: ir.Value,
        pieces: int,
        lanes: int,
        place_of: Callable[[ir.Value], tuple[ir.Value, ir.Value]],
        place: ir.Value,
    ) -> None:
        """Store the sums of a thread, which lie in memory in pieces of `lanes` neighbours, at a place of the batch.

        `place_of` is the row and the first column of a piece.
        """
        b, product = self.b, self.product
        aligned = self.is_aligned(product.body, self.n, lanes)
        is_split = b.icmp_signed(">", SPLITS, I64(1))
        align = min(16, lanes * self.sum_dtype.numpy.itemsize)
        with self.loop(I64(0), I64(pieces), I64(1)) as piece:
            row, column = place_of(piece)
            inside = b.and_(b.icmp_signed("<", row, self.rows), b.icmp_signed("<", column, self.columns))
            with b.if_then(inside):
                self.unflatten(product.m, row)
                address = b.gep(memory, [b.mul(piece, I64(lanes))], source_etype=self.sum_kind)
                end = b.add(column, I64(lanes))
                whole = b.and_(b.and_(aligned, b.not_(is_split)), b.icmp_signed("<=", end, self.columns))
                with b.if_else(whole) as (then, otherwise):
                    with then:
                        self.variables[self.n] = column
                        self._lane = Lane(self.n, lanes, None)
                        self.end(b.load(address, vector(self.sum_kind, lanes), align))
                        self._lane = None
                    with otherwise, self.loop(column, smaller(b, end, self.columns), I64(1)) as at:
                        lane = b.gep(address, [b.sub(at, column)], source_etype=self.sum_kind)
                        total = b.load(lane, self.sum_kind)
                        with b.if_else(is_split) as (divided, alone):
                            with divided:
                                b.store(total, self.partial_address(place, row, at))
                            with alone:
                                self.variables[self.n] = at
                                self.end(total)

    def partial_address(self, place: ir.Value, row: ir.Value, column: ir.Value) -> ir.Value:
        """Where a partial sum of this block is stored."""
        b = self.b
        at = b.add(b.mul(self.split, self.batch), place)
        for count, value in ((self.rows, row), (self.columns, column)):
            at = b.add(b.mul(at, count), value)
        return b.gep(self.frame.buffers[self.product.scratch[0]], [at], source_etype=self.sum_kind)


def packed_load(product: Contraction) -> Load:
    """The load of a constant right operand, which lies as [batch, k, n], rows of `n` apart by `line_of`."""
    terms: list[tuple[Var, Dim]] = [(var, 1) for var in product.n]
    step = line_of(extent(product.n), product.rhs.dtype)
    for var in reversed((*product.batch, *product.k)):
        terms.append((var, step))
        step = step * var.extent
    return Load(product.rhs.dtype, product.rhs.buffer, Index(tuple(reversed(terms))))
