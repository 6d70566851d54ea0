"""Sorting in LLVM: keys as integers in the order of elements, and a function that sorts them with their places.

An item is a key above its place, in one integer: no two are equal, and their order is that of a stable sort. Of few
items, vectors count how many are below each, or look for the next one; more are sorted by radix, byte by byte of keys.
"""

from __future__ import annotations

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I8, I32, I64, PTR, element, stack_slot, vector
from ingot.dtypes import DType
from ingot.prim.functions import FLOATING, UNSIGNED
from ingot.schedule.sort import DIGIT
from ingot.schedule.target import Target

_INFINITY = {DType.FLOAT16: 0x7C00, DType.BFLOAT16: 0x7F80, DType.FLOAT32: 0x7F800000, DType.FLOAT64: 0x7FF << 52}
"""The bits of infinity: a NaN has more."""

FEW = 112
"""Items up to which keys are compared in vectors instead of counting their digits."""

_PER_ROUND = 4
"""How many times more items there are of a few than are wanted from which on each round looks for one more of them."""

MOST_ROUNDS = 32
"""Items that are wanted of many up to which each round looks for one more of them; the others stay as they are."""

_MOST = (1 << 63) - 1

_COUNTED = 2
"""Vectors of items that are compared with another at once."""


def bits_of(dtype: DType) -> int:
    """The bits of a key of elements."""
    return 8 * dtype.numpy.itemsize


def item_type(dtype: DType) -> ir.IntType:
    """The type of a key with its place: 64 bits, or 128 where keys have 64."""
    return ir.IntType(128 if bits_of(dtype) == 64 else 64)


def keys_of(b: Builder, x: ir.Value, dtype: DType, *, descending: bool, negated: bool = False) -> ir.Value:
    """Signed integers in the order of elements, whose bits are `x`: both zeros alike, every NaN above all numbers.

    If the order is `descending`, the greatest element has the least key. If floats are `negated`, that is so as well,
    but a NaN still has the greatest.
    """
    bits = bits_of(dtype)
    sign, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    lanes = x.type.count if isinstance(x.type, ir.VectorType) else 1

    def number(value: int) -> ir.Constant:
        return ir.Constant(x.type, [value] * lanes if lanes > 1 else value)

    if dtype in FLOATING:
        nan = b.icmp_signed(">", b.and_(x, number(most)), number(_INFINITY[dtype]))
        if negated:
            x = b.xor(x, number(sign))
        x = b.select(b.icmp_signed("==", x, number(sign)), number(0), x)
        x = b.xor(x, b.and_(b.ashr(x, number(bits - 1)), number(most)))
        x = b.select(nan, number(most), x)
    elif dtype in UNSIGNED:
        x = b.xor(x, number(sign))
    return b.not_(x) if descending else x


def may_be_below(b: Builder, x: ir.Value, limit: ir.Value, dtype: DType, *, descending: bool) -> ir.Value:
    """Whether the key of each of a vector of elements is below a limit, or its element NaN or a zero."""
    bits = bits_of(dtype)
    assert isinstance(x.type, ir.VectorType)
    lanes = x.type.count

    def number(value: int) -> ir.Constant:
        return ir.Constant(x.type, [value] * lanes)

    own = limit if not descending else b.not_(limit)
    sign = ">" if descending else "<"
    if dtype in UNSIGNED:
        return b.icmp_signed(sign, b.xor(x, number(-(1 << (bits - 1)))), own)
    if dtype not in FLOATING:
        return b.icmp_signed(sign, x, own)
    most = number((1 << (bits - 1)) - 1)
    key = b.xor(x, b.and_(b.ashr(x, number(bits - 1)), most))
    below = b.icmp_signed(sign, key, own)
    if dtype in (DType.FLOAT32, DType.FLOAT64):
        real = b.bitcast(x, vector(element(dtype), lanes))
        return b.or_(below, b.fcmp_unordered("uno", real, real))
    return b.or_(below, b.icmp_signed(">", b.and_(x, most), number(_INFINITY[dtype])))


def item(b: Builder, key: ir.Value, place: ir.Value, dtype: DType) -> ir.Value:
    """Keys with places, which are as many int64."""
    lanes = key.type.count if isinstance(key.type, ir.VectorType) else 1
    kind = item_type(dtype)
    half = ir.Constant(vector(kind, lanes), [kind.width // 2] * lanes if lanes > 1 else kind.width // 2)
    return b.or_(b.shl(b.sext(key, vector(kind, lanes)), half), b.zext(place, vector(kind, lanes)))


def place_of(b: Builder, items: ir.Value, dtype: DType) -> ir.Value:
    """The places in items, as int64."""
    lanes = items.type.count if isinstance(items.type, ir.VectorType) else 1
    if item_type(dtype).width == 128:
        return b.trunc(items, vector(I64, lanes))
    mask = ir.Constant(items.type, [0xFFFFFFFF] * lanes if lanes > 1 else 0xFFFFFFFF)
    return b.and_(items, mask)


def key_of(b: Builder, one: ir.Value, dtype: DType) -> ir.Value:
    """The key in an item."""
    kind = item_type(dtype)
    return b.trunc(b.ashr(one, ir.Constant(kind, kind.width // 2)), ir.IntType(bits_of(dtype)))


def sort_function(module: ir.Module, dtype: DType, target: Target) -> ir.Function:
    """`ptr sort(ptr items, ptr other, ptr counts, i64 many, i64 wanted)`: the first items in order, as many as wanted.

    It takes as much other memory, and returns which of the two has them in the end; the rest of them are anywhere.
    Two vectors behind the items are overwritten. Of equal keys, items must lie in the order of their places.
    """
    name = f"sort_{bits_of(dtype)}"
    known = module.globals.get(name)
    if isinstance(known, ir.Function):
        return known
    function = ir.Function(module, ir.FunctionType(PTR, [PTR, PTR, PTR, I64, I64]), name)
    function.linkage = "internal"
    b = Builder(function.append_basic_block("entry"))
    begin = b.append_basic_block("begin")
    b.branch(begin)
    b.position_at_end(begin)
    items, other, counts, many, wanted = function.args
    few = _Few(b, items, other, many, dtype, target)
    is_short = b.icmp_signed("<=", many, I64(FEW))
    limit = b.select(is_short, b.sdiv(many, I64(_PER_ROUND)), I64(MOST_ROUNDS))
    with b.if_then(b.icmp_signed("<=", wanted, limit)):
        few.end()
        few.select(wanted)
        b.ret(other)
    with b.if_then(is_short):
        few.end()
        few.count_below()
        b.ret(other)
    b.ret(_radix(b, items, other, counts, many, dtype))
    return function


class _Few:
    """Sorts of a few items by comparing all keys with one in vectors; items of 128 bits by their keys and positions."""

    def __init__(
        self, b: Builder, items: ir.Value, other: ir.Value, many: ir.Value, dtype: DType, target: Target
    ) -> None:
        self.b = b
        self.items, self.other, self.many = items, other, many
        self.kind = item_type(dtype)
        self.is_wide = self.kind.width == 128
        self.lanes = max(1, target.vector // 8)
        self.vector = vector(I64, self.lanes)

    def end(self) -> None:
        """Put vectors behind the items that come behind all of them."""
        words = 2 if self.is_wide else 1
        most = ir.Constant(self.vector, [_MOST] * self.lanes if self.lanes > 1 else _MOST)
        for part in range(_COUNTED * words):
            place = self.b.add(self.b.mul(self.many, I64(words)), I64(part * self.lanes))
            self.b.store(most, self.b.gep(self.items, [place], source_etype=I64), align=8)

    def select(self, wanted: ir.Value) -> None:
        """In each round, the least of those behind the last one: above it, or as wide ones equal and behind it.

        Rounds go from the last item to the first, so that of equal keys in a lane the first remains.
        """
        b, lanes = self.b, self.lanes
        last, last_place = stack_slot(b, I64), stack_slot(b, I64)
        b.store(I64(-_MOST - 1), last)
        b.store(I64(-1), last_place)
        final = b.mul(b.sdiv(b.sub(self.many, I64(1)), I64(lanes)), I64(lanes))
        with b.counted(I64(0), wanted, I64(1)) as rank:
            after = _splat(b, b.load(last, typ=I64), lanes)
            behind = _splat(b, b.load(last_place, typ=I64), lanes)
            least = self._number(_MOST)
            before, head, body, done = b.block, *(b.append_basic_block(name) for name in ("least", "round", "found"))
            b.branch(head)
            b.position_at_end(head)
            index = b.phi(I64)
            best, place = b.phi(self.vector), b.phi(self.vector)
            b.cbranch(b.icmp_signed(">=", index, I64(0)), body, done)
            b.position_at_end(body)
            keys, here = self._keys(index), self._places(index)
            is_left = b.icmp_signed(">" if self.is_wide else ">=", keys, after)
            if self.is_wide:
                same = b.and_(b.icmp_signed("==", keys, after), b.icmp_signed(">", here, behind))
                is_left = b.or_(is_left, same)
            better = b.and_(is_left, b.icmp_signed("<=", keys, best))
            for phi, start, new in ((best, least, keys), (place, least, here)):
                phi.add_incoming(start, before)
                phi.add_incoming(b.select(better, new, phi), b.block)
            index.add_incoming(final, before)
            index.add_incoming(b.sub(index, I64(lanes)), b.block)
            b.branch(head)
            b.position_at_end(done)
            first = self._least(best)
            b.store(first if self.is_wide else b.add(first, I64(1)), last)
            target = b.gep(self.other, [rank], source_etype=self.kind)
            if self.is_wide:
                same = b.icmp_signed("==", best, _splat(b, first, self.lanes))
                where = self._least(b.select(same, place, least))
                b.store(where, last_place)
                b.store(self._item(where), target, align=8)
            else:
                b.store(first, target, align=8)

    def count_below(self) -> None:
        """Put every item where as many others come before it; what fills the last vector comes behind all."""
        b, lanes = self.b, self.lanes
        with b.counted(I64(0), self.many, I64(lanes * _COUNTED)) as first:
            starts = [b.add(first, I64(part * lanes)) for part in range(_COUNTED)]
            own, places = [self._keys(start) for start in starts], [self._places(start) for start in starts]
            before, head, body, done = b.block, *(b.append_basic_block(name) for name in ("below", "count", "counted"))
            b.branch(head)
            b.position_at_end(head)
            index = b.phi(I64)
            below = [b.phi(self.vector) for _ in own]
            b.cbranch(b.icmp_signed("<", index, self.many), body, done)
            b.position_at_end(body)
            word = b.add(b.mul(index, I64(2)), I64(1)) if self.is_wide else index
            one = _splat(b, b.load(b.gep(self.items, [word], source_etype=I64), typ=I64), lanes)
            at = _splat(b, index, lanes)
            for phi, mine, here in zip(below, own, places, strict=True):
                is_before = b.icmp_signed("<", one, mine)
                if self.is_wide:
                    same = b.and_(b.icmp_signed("==", one, mine), b.icmp_signed("<", at, here))
                    is_before = b.or_(is_before, same)
                phi.add_incoming(self._number(0), before)
                phi.add_incoming(b.add(phi, b.zext(is_before, self.vector)), b.block)
            index.add_incoming(I64(0), before)
            index.add_incoming(b.add(index, I64(1)), b.block)
            b.branch(head)
            b.position_at_end(done)
            for phi, start in zip(below, starts, strict=True):
                for lane in range(lanes):
                    rank = b.extract_element(phi, I32(lane)) if lanes > 1 else phi
                    value = self._item(b.add(start, I64(lane)))
                    b.store(value, b.gep(self.other, [rank], source_etype=self.kind), align=8)

    def _keys(self, first: ir.Value) -> ir.Value:
        """Items that have all of a key in 64 bits, or the keys of wider ones, from one on."""
        b, lanes = self.b, self.lanes
        start = b.gep(self.items, [first], source_etype=self.kind)
        if not self.is_wide:
            return b.load(start, typ=self.vector, align=8)
        both = b.load(start, typ=vector(I64, 2 * lanes), align=8)
        if lanes == 1:
            return b.extract_element(both, I32(1))
        upper = ir.Constant(ir.VectorType(I32, lanes), [2 * lane + 1 for lane in range(lanes)])
        return b.shuffle_vector(both, both, upper)

    def _places(self, first: ir.Value) -> ir.Value:
        numbers = ir.Constant(self.vector, list(range(self.lanes)) if self.lanes > 1 else 0)
        return self.b.add(_splat(self.b, first, self.lanes), numbers)

    def _item(self, place: ir.Value) -> ir.Value:
        return self.b.load(self.b.gep(self.items, [place], source_etype=self.kind), typ=self.kind, align=8)

    def _number(self, value: int) -> ir.Constant:
        return ir.Constant(self.vector, [value] * self.lanes if self.lanes > 1 else value)

    def _least(self, value: ir.Value) -> ir.Value:
        return value if self.lanes == 1 else scalars.intrinsic(self.b, "vector.reduce.smin", I64, [value], value.type)


def _radix(b: Builder, items: ir.Value, other: ir.Value, counts: ir.Value, many: ir.Value, dtype: DType) -> ir.Value:
    """Sort by one byte of the keys after another, the lowest first; a byte that all have in common is left out."""
    kind = item_type(dtype)
    digits = bits_of(dtype) // 8
    source, target = stack_slot(b, PTR), stack_slot(b, PTR)
    b.store(items, source)
    b.store(other, target)
    eight = vector(I64, 8)
    with b.counted(I64(0), I64(DIGIT * digits), I64(8)) as place:
        b.store(ir.Constant(eight, None), b.gep(counts, [place], source_etype=I64), align=8)

    def counter(one: ir.Value, digit: int) -> ir.Value:
        """Where the count of a digit of an item is."""
        own = b.trunc(b.lshr(one, ir.Constant(kind, kind.width // 2 + 8 * digit)), I8)
        if digit + 1 == digits:  # which has the sign
            own = b.xor(own, I8(-128))
        return b.gep(counts, [b.add(b.zext(own, I64), I64(DIGIT * digit))], source_etype=I64)

    def load(start: ir.Value, place: ir.Value) -> ir.Value:
        return b.load(b.gep(start, [place], source_etype=kind), typ=kind, align=8)

    with b.counted(I64(0), many, I64(1)) as place:
        one = load(items, place)
        for digit in range(digits):
            where = counter(one, digit)
            b.store(b.add(b.load(where, typ=I64), I64(1)), where)
    for digit in range(digits):
        begin = b.load(source, typ=PTR)
        common = b.load(counter(load(begin, I64(0)), digit), typ=I64)
        with b.if_then(b.icmp_signed("!=", common, many)):
            _start_digits(b, b.gep(counts, [I64(DIGIT * digit)], source_etype=I64))
            end = b.load(target, typ=PTR)
            with b.counted(I64(0), many, I64(1)) as place:
                one = load(begin, place)
                where = counter(one, digit)
                next_ = b.load(where, typ=I64)
                b.store(b.add(next_, I64(1)), where)
                b.store(one, b.gep(end, [next_], source_etype=kind), align=8)
            b.store(end, source)
            b.store(begin, target)
    return b.load(source, typ=PTR)


def _start_digits(b: Builder, counts: ir.Value) -> None:
    """Turn counts into where each digit begins."""
    before, body, done = b.block, *(b.append_basic_block(name) for name in ("starts", "started"))
    b.branch(body)
    b.position_at_end(body)
    place, total = b.phi(I64), b.phi(I64)
    where = b.gep(counts, [place], source_etype=I64)
    own = b.load(where, typ=I64)
    b.store(total, where)
    place.add_incoming(I64(0), before)
    total.add_incoming(I64(0), before)
    after = b.add(place, I64(1))
    place.add_incoming(after, b.block)
    total.add_incoming(b.add(total, own), b.block)
    b.cbranch(b.icmp_signed("<", after, I64(DIGIT)), body, done)
    b.position_at_end(done)


def _splat(b: Builder, value: ir.Value, lanes: int) -> ir.Value:
    if lanes == 1:
        return value
    kind = ir.VectorType(value.type, lanes)
    first = b.insert_element(ir.Constant(kind, ir.Undefined), value, I32(0))
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zeros)
