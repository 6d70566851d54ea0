"""Items that may be among the first of a row: appended block by block, those that come too late left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.lanes import Lanes
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.sorting import bits_of, item, item_type
from ingot.codegen.llvm.types import I1, I64, PTR, lane_numbers, stack_slot, vector
from ingot.dtypes import DType

BLOCK = 64
"""Elements that are compared before it is asked whether one is chosen: as many as an integer has bits."""


class Items:
    """A list of items in memory, whose place and length are in stack slots; `keys` maps the bits of elements."""

    def __init__(self, lanes: Lanes, dtype: DType, keys: Callable[[ir.Value], ir.Value], vectors: int) -> None:
        """`vectors` is the bytes of a vector."""
        self.b = lanes.b
        self.lanes = lanes
        self.dtype = dtype
        self.keys = keys
        self.packed = max(1, min(BLOCK, vectors // (item_type(dtype).width // 8)))
        self.start, self.count = stack_slot(self.b, PTR), stack_slot(self.b, I64)

    def reset(self, start: ir.Value) -> None:
        self.b.store(start, self.start)
        self.b.store(I64(0), self.count)

    def key(self, row: ir.Value, place: ir.Value, lanes: int = 1) -> ir.Value:
        """The keys of neighbouring elements of a row."""
        return self.keys(self._elements(row, place, lanes))

    def _elements(self, row: ir.Value, place: ir.Value, lanes: int) -> ir.Value:
        kind = ir.IntType(bits_of(self.dtype))
        start = self.b.gep(row, [place], source_etype=kind)
        return self.b.load(start, typ=vector(kind, lanes), align=bits_of(self.dtype) // 8)

    def append_all(self, row: ir.Value, many: ir.Value) -> None:
        """Append the first elements of a row to an empty list."""
        b, lanes = self.b, self.packed
        whole = b.mul(b.sdiv(many, I64(lanes)), I64(lanes))
        if lanes > 1:
            with b.counted(I64(0), whole, I64(lanes)) as place:
                self._store(row, place, place, lanes)
        with b.counted(whole if lanes > 1 else I64(0), many, I64(1)) as place:
            self._store(row, place, place, 1)
        b.store(many, self.count)

    def _store(self, row: ir.Value, place: ir.Value, at: ir.Value, lanes: int) -> None:
        """Store the items of neighbouring elements of a row from `at` on in the list."""
        b = self.b
        numbers = self.lanes.splat(place, lanes)
        if lanes > 1:
            numbers = b.add(numbers, lane_numbers(I64, lanes))
        packed = item(b, self.key(row, place, lanes), numbers, self.dtype)
        start = b.load(self.start, typ=PTR)
        b.store(packed, b.gep(start, [at], source_etype=item_type(self.dtype)), align=8)

    @contextmanager
    def append_chosen(
        self,
        row: ir.Value,
        low: ir.Value,
        many: ir.Value,
        may_be: Callable[[ir.Value], ir.Value],
        is_chosen: Callable[[ir.Value], ir.Value],
        *,
        is_exact: bool = False,
    ) -> Iterator[None]:
        """Append those elements of a row from `low` on whose keys are chosen; `may_be` holds for vectors of them first.

        Where that `is_exact`, it holds for those that are chosen alone, and whole blocks of them are stored as vectors.
        What is emitted while it is open runs after a block of which one is: at most `BLOCK` are appended in between.
        """
        b = self.b
        next_, at, bits = (stack_slot(b, I64) for _ in range(3))
        b.store(low, next_)
        head, inside, body, short, hit, after, done, end = (
            b.append_basic_block(name) for name in ("blocks", "inside", "block", "short", "hit", "after", "next", "end")
        )
        b.branch(head)
        b.position_at_end(head)
        place = b.load(next_, typ=I64)
        b.cbranch(b.icmp_signed("<", place, many), inside, end)
        b.position_at_end(inside)
        begin = smaller(b, place, b.sub(many, I64(BLOCK)))  # the last block begins among those before it
        b.cbranch(b.icmp_signed(">=", begin, I64(0)), body, short, likely=True)
        b.position_at_end(body)
        mask = b.bitcast(may_be(self._elements(row, begin, BLOCK)), I64)
        mask = b.and_(mask, b.shl(I64(-1), b.sub(place, begin)))
        b.store(mask, bits)
        b.store(begin, at)
        if is_exact:
            whole, mixed = b.append_basic_block("whole"), b.append_basic_block("mixed")
            b.cbranch(b.icmp_signed("==", mask, I64(-1)), whole, mixed)
            b.position_at_end(whole)
            count = b.load(self.count, typ=I64)
            with b.counted(I64(0), I64(BLOCK), I64(self.packed)) as offset:
                self._store(row, b.add(begin, offset), b.add(count, offset), self.packed)
            b.store(b.add(count, I64(BLOCK)), self.count)
            b.branch(after)
            b.position_at_end(mixed)
        b.cbranch(b.icmp_signed("!=", mask, I64(0)), hit, done, likely=False)
        b.position_at_end(short)
        b.store(place, at)
        b.store(b.lshr(I64(-1), b.sub(I64(BLOCK), b.sub(many, place))), bits)
        b.branch(hit)
        b.position_at_end(hit)
        self._append_bits(row, b.load(at, typ=I64), bits, is_chosen)
        b.branch(after)
        b.position_at_end(after)
        yield
        b.branch(done)
        b.position_at_end(done)
        b.store(b.add(place, I64(BLOCK)), next_)
        b.branch(head)
        b.position_at_end(end)

    def _append_bits(
        self, row: ir.Value, place: ir.Value, bits: ir.Value, is_chosen: Callable[[ir.Value], ir.Value]
    ) -> None:
        """Append the elements of a block whose bits are set, and which are chosen."""
        b, kind = self.b, item_type(self.dtype)
        start = b.load(self.start, typ=PTR)
        body, done = b.append_basic_block("append"), b.append_basic_block("appended")
        b.branch(body)
        b.position_at_end(body)
        left = b.load(bits, typ=I64)
        one = b.add(place, scalars.intrinsic(b, "cttz", I64, [left, ir.Constant(I1, 1)], I64))
        key, count = self.key(row, one), b.load(self.count, typ=I64)
        b.store(item(b, key, one, self.dtype), b.gep(start, [count], source_etype=kind), align=8)
        b.store(b.add(count, b.zext(is_chosen(key), I64)), self.count)
        fewer = b.and_(left, b.sub(left, I64(1)))
        b.store(fewer, bits)
        b.cbranch(b.icmp_signed("!=", fewer, I64(0)), body, done)
        b.position_at_end(done)
