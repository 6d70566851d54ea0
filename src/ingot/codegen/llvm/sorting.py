"""Sorting in LLVM: keys as integers in the order of elements, and a function that sorts them with their places.

An item is a key above its place, in one integer: no two are equal, and their order is that of a stable sort. Few items
are put where as many others are below them, which vectors count; more are sorted by radix, byte by byte of the keys.
"""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I8, I32, I64, PTR, stack_slot, vector
from ingot.dtypes import DType
from ingot.prim.functions import FLOATING, UNSIGNED
from ingot.schedule.sort import DIGIT
from ingot.schedule.target import Target

_INFINITY = {DType.FLOAT16: 0x7C00, DType.BFLOAT16: 0x7F80, DType.FLOAT32: 0x7F800000, DType.FLOAT64: 0x7FF << 52}
"""The bits of infinity: a NaN has more."""

_FEW = {64: 112, 128: 40}
"""Items of so many bits up to which each is compared with all others."""

_COUNTED = 2
"""Vectors of items that are compared with another at once."""


def bits_of(dtype: DType) -> int:
    """The bits of a key of elements."""
    return 8 * dtype.numpy.itemsize


def item_type(dtype: DType) -> ir.IntType:
    """The type of a key with its place: 64 bits, or 128 where keys have 64."""
    return ir.IntType(128 if bits_of(dtype) == 64 else 64)


def few_items(dtype: DType) -> int:
    """Up to how many items are sorted without counting the digits of keys."""
    return _FEW[item_type(dtype).width]


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
    """`ptr sort(ptr items, ptr other, ptr counts, i64 many)`: sorts items by the help of as much other memory.

    Returns which of the two has them in the end. A vector of each behind the items is overwritten.
    """
    name = f"sort_{bits_of(dtype)}"
    known = module.globals.get(name)
    if isinstance(known, ir.Function):
        return known
    function = ir.Function(module, ir.FunctionType(PTR, [PTR, PTR, PTR, I64]), name)
    function.linkage = "internal"
    b = Builder(function.append_basic_block("entry"))
    begin = b.append_basic_block("begin")
    b.branch(begin)
    b.position_at_end(begin)
    items, other, counts, many = function.args
    with b.if_then(b.icmp_signed("<=", many, I64(few_items(dtype)))):
        _count_below(b, items, other, many, dtype, target)
        b.ret(other)
    b.ret(_radix(b, items, other, counts, many, dtype))
    return function


def _count_below(b: Builder, items: ir.Value, other: ir.Value, many: ir.Value, dtype: DType, target: Target) -> None:
    """Put every item where as many others are below it; what fills the last vector comes behind all."""
    kind = item_type(dtype)
    lanes = max(1, target.vector // 8) if kind.width == 64 else 1
    step = lanes * _COUNTED
    count = vector(I64, lanes)
    wide = vector(kind, lanes)
    most = (1 << (kind.width - 1)) - 1
    end = ir.Constant(wide, [most] * lanes if lanes > 1 else most)
    for part in range(_COUNTED):
        b.store(end, b.gep(items, [b.add(many, I64(part * lanes))], source_etype=kind), align=8)
    with b.counted(I64(0), many, I64(step)) as first:
        own = [
            b.load(b.gep(items, [b.add(first, I64(part * lanes))], source_etype=kind), typ=wide, align=8)
            for part in range(_COUNTED)
        ]
        before, head, body, done = b.block, *(b.append_basic_block(name) for name in ("below", "count", "counted"))
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        below = [b.phi(count) for _ in own]
        b.cbranch(b.icmp_signed("<", index, many), body, done)
        b.position_at_end(body)
        one = _splat(b, b.load(b.gep(items, [index], source_etype=kind), typ=kind, align=8), lanes)
        for phi, mine in zip(below, own, strict=True):
            phi.add_incoming(ir.Constant(count, None if lanes > 1 else 0), before)
            phi.add_incoming(b.add(phi, b.zext(b.icmp_signed("<", one, mine), count)), b.block)
        index.add_incoming(I64(0), before)
        index.add_incoming(b.add(index, I64(1)), b.block)
        b.branch(head)
        b.position_at_end(done)
        for phi, mine in zip(below, own, strict=True):
            for lane in range(lanes):
                place, value = (b.extract_element(each, I32(lane)) if lanes > 1 else each for each in (phi, mine))
                b.store(value, b.gep(other, [place], source_etype=kind), align=8)


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
