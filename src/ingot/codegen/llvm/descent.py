"""Decision trees in LLVM: rows in lanes, or trees side by side for a few rows; small trees by the bits of their leaves.

A step to the next node depends on the one before, so that as many chains of steps run side by side as hide the latency
of memory. Where trees are small, no row steps at all: every test is one comparison of a vector of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import Share, Sharing, part_of, smaller, up
from ingot.codegen.llvm.types import F32, F64, I1, I8, I32, I64, element, vector, width
from ingot.dtypes import DType
from ingot.loops.ir import VOTES, Descent, Load
from ingot.prim.descent import TOGETHER, UNIT
from ingot.schedule.work import LOOP_GRAIN

_STEPS = 2
"""Steps between two questions whether all rows are at a leaf."""

_FEW = 4
"""Rows up to which each goes down several trees at once, instead of a block of them down one."""

_BLOCKS = 4
"""Blocks of rows that a test is compared with at once."""

_KEYS, _VOTES = 0, 1
"""Which of the scratch buffers."""

_STARTS = {"add": 0.0, "minimum": float("inf"), "maximum": float("-inf")}


def _emit(b: Builder, frame: Frame, nest: Descent) -> None:
    """Trees, parallel over blocks of rows; a row's votes are reduced in the order of trees, however rows are shared."""
    _Emitter(b, frame, nest).emit()


def _share(b: Builder, sharing: Sharing, nest: Descent) -> Share:
    size = sharing.size
    work = b.mul(size(nest.row.extent), size(nest.trees))
    return Share(b.sdiv(work, I64(LOOP_GRAIN >> 5)), up(b, size(nest.row.extent), I64(nest.lanes)))


class _Emitter:
    def __init__(self, b: Builder, frame: Frame, nest: Descent) -> None:
        self.b = b
        self.frame = frame
        self.nest = nest
        self.loops = Loops(b, frame)
        self.lanes = nest.lanes
        self.key = element(nest.key)
        self.real = element(nest.x.dtype)
        self.features, self.targets = frame.size(nest.feature.extent), frame.size(nest.column.extent)
        self.block = b.mul(self.features, I64(64 * len(nest.missing)))
        self.shift = frame.size(nest.shift)
        self.mask = b.sub(b.shl(I64(1), self.shift), I64(1))
        self.keys, self.votes = (self._own(which) for which in (_KEYS, _VOTES))
        self.in_rows = nest.targets is not None and nest.by_leaf
        self.dense = nest.targets is None and nest.column.extent != 1
        self.vertical = not self.in_rows and not self.dense

    def emit(self) -> None:
        b, nest, size, loop = self.b, self.nest, self.frame.size, self.loops.loop
        rows = size(nest.row.extent)
        low, high = part_of(b, up(b, rows, I64(self.lanes)), self.frame.piece, self.frame.pieces)
        chunk = b.sdiv(size(nest.chunk), I64(self.lanes))
        with loop(I64(0), up(b, b.sub(high, low), chunk), 1, watched=True) as number:
            first = b.add(low, b.mul(number, chunk))
            begin = b.mul(first, I64(self.lanes))
            last = b.mul(smaller(b, b.add(first, chunk), high), I64(self.lanes))
            self._chunk(begin, b.sub(smaller(b, last, rows), begin))

    def _chunk(self, begin: ir.Value, count: ir.Value) -> None:
        """The rows from `begin` on: whole blocks of lanes, and few that are left one by one."""
        b, loop = self.b, self.loops.loop
        whole = b.sdiv(count, I64(self.lanes))
        rest = b.srem(count, I64(self.lanes))
        many = b.zext(b.icmp_signed(">", rest, I64(_FEW)), I64)
        blocks = b.add(whole, many)
        with loop(I64(0), b.mul(up(b, count, I64(self.lanes)), b.mul(self.targets, I64(self.lanes))), self.lanes) as at:
            start = scalars.number(DType.FLOAT64, _STARTS[self.nest.function], self.lanes)
            b.store(start, self._vote(at), align=64)
        with b.if_then(b.icmp_signed(">", blocks, I64(0))):
            with loop(I64(0), blocks, 1) as number:
                self._pack(begin, b.mul(number, I64(self.lanes)), count, b.mul(number, self.block))
            with loop(I64(0), self.frame.size(self.nest.trees), 1) as tree:
                self._tree(tree, blocks)
        with loop(b.mul(blocks, I64(self.lanes)), count, 1) as row:
            self._row(begin, row)
        self._finish(begin, count)

    # --- keys

    def _pack(self, begin: ir.Value, first: ir.Value, count: ir.Value, place: ir.Value) -> None:
        """Store the keys of a block of rows, of each feature 64 bytes; past the last row that row again."""
        b, nest, loop = self.b, self.nest, self.loops.loop
        last = b.sub(count, I64(1))
        rows = [self._row_start(b.add(begin, smaller(b, b.add(first, I64(i)), last))) for i in range(self.lanes)]
        step = self.frame.size(nest.x.index.factor(nest.feature))
        kind = vector(self.real, self.lanes)
        with loop(I64(0), self.features, 1) as feature:
            away = b.mul(feature, step)
            value: ir.Value = ir.Constant(kind, ir.Undefined)
            for lane, row in enumerate(rows):
                one = b.load(b.gep(row, [away], source_etype=self.real), typ=self.real)
                value = b.insert_element(value, one, I32(lane))
            for copy, key in enumerate(self._keys_of(value)):
                slot = b.add(feature, b.mul(self.features, I64(copy)))
                b.store(key, self._byte(self.keys, b.add(place, b.mul(slot, I64(64)))), align=64)

    def _row_start(self, row: ir.Value) -> ir.Value:
        """Where the features of a row begin."""
        self.loops.variables[self.nest.row] = row
        self.loops.variables[self.nest.feature] = I64(0)
        place = self.loops.index(self.nest.x.index)
        return self.b.gep(self.frame.buffers[self.nest.x.buffer], [place], source_etype=self.real)

    def _keys_of(self, value: ir.Value) -> list[ir.Value]:
        """Floats as integers in the same order: negative ones turned round, zeros alike, NaN as each copy has it."""
        b = self.b
        lanes = value.type.count if isinstance(value.type, ir.VectorType) else 1
        bits = 8 * width(self.nest.key)
        real, key = vector(F32 if bits == 32 else F64, lanes), vector(self.key, lanes)
        most = (1 << (bits - 1)) - 1

        def number(n: int) -> ir.Constant:
            return ir.Constant(key, [n] * lanes if lanes > 1 else n)

        near = value if value.type == real else b.fptrunc(value, real)
        zero = ir.Constant(real, None if lanes > 1 else 0.0)
        own = b.bitcast(b.fadd(near, zero), key)
        own = b.xor(own, b.and_(b.ashr(own, number(bits - 1)), number(most)))
        if near is not value:  # rounded up
            below = b.fcmp_ordered("<", b.fpext(near, value.type), value)
            own = b.add(own, b.zext(below, key))
        unknown = b.fcmp_unordered("uno", value, value)
        return [b.select(unknown, number(-most if missing else most), own) for missing in self.nest.missing]

    # --- blocks of rows

    def _tree(self, tree: ir.Value, blocks: ir.Value) -> None:
        """One tree, for all blocks."""
        b, loop = self.b, self.loops.loop
        if self.nest.tests is None:
            root = b.zext(self._load(self.nest.roots, tree, I32), I64)
            with loop(I64(0), blocks, 1) as block:
                self._count_rows(tree, block, self._steps_of_rows(root, b.mul(block, self.block)))
            return
        whole = b.mul(b.sdiv(blocks, I64(_BLOCKS)), I64(_BLOCKS))
        with loop(I64(0), whole, _BLOCKS) as block:
            self._bits(tree, block, _BLOCKS)
        with loop(whole, blocks, 1) as block:
            self._bits(tree, block, 1)

    def _steps_of_rows(self, root: ir.Value, start: ir.Value) -> list[ir.Value]:
        b = self.b
        keys = self._byte(self.keys, start)

        def place(slot: ir.Value, lane: int) -> ir.Value:
            row = b.gep(keys, [I64(lane)], source_etype=self.key)
            return self._byte(row, b.mul(slot, I64(64 // UNIT)))

        return self._descend([root] * self.lanes, place)

    def _descend(self, starts: Sequence[ir.Value], place: Callable[[ir.Value, int], ir.Value]) -> list[ir.Value]:
        """The leaves that chains of steps from nodes come to; `place` is where a chain has the key of a slot."""
        b = self.b
        before, body, end = b.block, b.append_basic_block("steps"), b.append_basic_block("leaves")
        b.branch(body)
        b.position_at_end(body)
        phis = [b.phi(I64) for _ in starts]
        nodes: list[ir.Value] = list(phis)
        moved: ir.Value = I64(0)
        for step in range(_STEPS):
            after = [self._step(node, place, chain) for chain, node in enumerate(nodes)]
            if step + 1 == _STEPS:
                for node, next_ in zip(nodes, after, strict=True):
                    moved = b.or_(moved, b.xor(node, next_))
            nodes = after
        for phi, start, node in zip(phis, starts, nodes, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(node, b.block)
        b.cbranch(b.icmp_signed("!=", moved, I64(0)), body, end)
        b.position_at_end(end)
        return nodes

    def _step(self, node: ir.Value, place: Callable[[ir.Value, int], ir.Value], chain: int) -> ir.Value:
        b, nest = self.b, self.nest
        table = self.frame.buffers[nest.nodes.buffer]
        if nest.wide:
            record = b.gep(table, [b.mul(node, I64(2))], source_etype=I64)
            own: ir.Value = b.trunc(b.load(record, typ=I64), self.key)
            link: ir.Value = b.load(b.gep(record, [I64(1)], source_etype=I64), typ=I64)
            behind = b.lshr(link, self.shift)
        else:
            both = b.load(b.gep(table, [node], source_etype=I64), typ=I64)
            own, link = b.trunc(both, I32), b.lshr(both, I64(32))
            behind = b.lshr(both, b.add(self.shift, I64(32)))
        key = b.load(place(b.and_(link, self.mask), chain), typ=self.key)
        return b.add(behind, b.zext(b.icmp_signed("<=", key, own), I64))

    def _count_rows(self, tree: ir.Value, block: ir.Value, leaves: Sequence[ir.Value]) -> None:
        """Reduce the votes of a leaf of each row of a block."""
        b = self.b
        first = b.mul(block, I64(self.lanes))
        target = self._target(tree)
        for lane, leaf in enumerate(leaves):
            self._count(b.add(first, I64(lane)), leaf, target)

    # --- bits of leaves

    def _bits(self, tree: ir.Value, block: ir.Value, blocks: int) -> None:
        """The tests of a tree for several blocks, and the votes of the leaves that are left."""
        b, nest = self.b, self.nest
        assert nest.spans is not None
        assert nest.tests is not None
        bits = ir.IntType(nest.leaves)
        kind = vector(bits, self.lanes)
        low, high = (b.zext(self._load(nest.spans, b.add(tree, I64(i)), I32), I64) for i in (0, 1))
        keys = [self._byte(self.keys, b.mul(b.add(block, I64(i)), self.block)) for i in range(blocks)]
        all_ = ir.Constant(kind, [-1] * self.lanes)
        before, head, body, end = b.block, *(b.append_basic_block(name) for name in ("tests", "test", "left"))
        b.branch(head)
        b.position_at_end(head)
        test = b.phi(I64)
        left = [b.phi(kind) for _ in range(blocks)]
        b.cbranch(b.icmp_signed("<", test, high), body, end)
        b.position_at_end(body)
        own, slot, mask, span = self._test(test, bits)
        after = []
        for phi, start in zip(left, keys, strict=True):
            place = self._byte(start, b.mul(slot, I64(64 // UNIT)))
            key = b.load(place, typ=vector(self.key, self.lanes), align=64)
            ends = self.loops.splat(own, self.lanes)
            if span is None:
                holds = b.icmp_signed("<=", key, ends)
            else:
                holds = b.icmp_unsigned("<=", b.sub(key, ends), self.loops.splat(span, self.lanes))
            masked = b.and_(phi, self.loops.splat(mask, self.lanes))
            after.append(b.select(holds, masked, phi))
        test.add_incoming(low, before)
        test.add_incoming(b.add(test, I64(1)), b.block)
        for phi, value in zip(left, after, strict=True):
            phi.add_incoming(all_, before)
            phi.add_incoming(value, b.block)
        b.branch(head)
        b.position_at_end(end)
        target = self._target(tree)
        for number, phi in enumerate(left):
            exit_ = scalars.intrinsic(b, "ctlz", kind, [phi, ir.Constant(I1, 1)])
            self._count_exits(tree, b.add(block, I64(number)), exit_, target)

    def _test(self, test: ir.Value, bits: ir.IntType) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value | None]:
        """The key, the slot and the bits left by a test, and the length of its interval, if it has one."""
        b, nest = self.b, self.nest
        assert nest.tests is not None
        words = (3 if nest.key is DType.INT64 else 2) + nest.between
        record = b.gep(self.frame.buffers[nest.tests.buffer], [b.mul(test, I64(words))], source_etype=I64)

        def word(place: int, kind: ir.Type) -> ir.Value:
            return b.load(b.gep(record, [I64(place)], source_etype=I64), typ=kind)

        span = word(words - 1, self.key) if nest.between else None
        if nest.key is DType.INT64:
            return word(0, I64), word(1, I64), b.trunc(word(2, I64), bits), span
        slot = b.load(b.gep(record, [I64(1)], source_etype=I32), typ=I32)
        return word(0, I32), b.zext(slot, I64), b.trunc(word(1, I64), bits), span

    def _count_exits(self, tree: ir.Value, block: ir.Value, exits: ir.Value, target: ir.Value) -> None:
        """Reduce the votes of the leaf of each row of a block, which `exits` counts in a tree."""
        b, nest = self.b, self.nest
        assert nest.exits is not None
        start = b.mul(tree, I64(nest.leaves))
        dtype = nest.exits.dtype
        places = b.gep(
            b.gep(self.frame.buffers[nest.exits.buffer], [start], source_etype=element(dtype)),
            [exits],
            source_etype=element(dtype),
        )
        kind = vector(element(dtype), self.lanes)
        all_ = ir.Constant(vector(I1, self.lanes), [1] * self.lanes)
        arguments = [places, I32(width(dtype)), all_, ir.Constant(kind, None)]
        values = scalars.intrinsic(b, "masked.gather", kind, arguments, kind, places.type)
        if not self.vertical:
            leaves = [b.zext(b.extract_element(values, I32(lane)), I64) for lane in range(self.lanes)]
            self._count_rows(tree, block, leaves)
            return
        wide = b.fpext(values, vector(F64, self.lanes))
        place = self._vote(b.mul(b.add(b.mul(block, self.targets), target), I64(self.lanes)))
        so_far = b.load(place, typ=vector(F64, self.lanes), align=64)
        b.store(self._reduced(so_far, wide), place, align=64)

    # --- single rows

    def _row(self, begin: ir.Value, row: ir.Value) -> None:
        """One row down all trees, some at once; its keys lie `UNIT` bytes apart."""
        b, nest, loop = self.b, self.nest, self.loops.loop
        start = self._row_start(b.add(begin, row))
        step = self.frame.size(nest.x.index.factor(nest.feature))
        with loop(I64(0), self.features, 1) as feature:
            value = b.load(b.gep(start, [b.mul(feature, step)], source_etype=self.real), typ=self.real)
            for copy, key in enumerate(self._keys_of(value)):
                slot = b.add(feature, b.mul(self.features, I64(copy)))
                b.store(key, self._byte(self.keys, b.mul(slot, I64(UNIT))))
        with loop(I64(0), self.frame.size(nest.trees), TOGETHER) as tree:
            trees = [b.add(tree, I64(i)) for i in range(TOGETHER)]
            roots = [b.zext(self._load(nest.roots, each, I32), I64) for each in trees]
            leaves = self._descend(roots, lambda slot, _: self._byte(self.keys, slot))
            for each, leaf in zip(trees, leaves, strict=True):
                self._count(row, leaf, self._target(each))

    # --- votes

    def _target(self, tree: ir.Value) -> ir.Value:
        """The target that a tree votes for: the only one, or that of the tree."""
        if self.nest.targets is None or self.nest.by_leaf:
            return I64(0)
        return self.b.zext(self._load(self.nest.targets, tree, I32), I64)

    def _count(self, row: ir.Value, leaf: ir.Value, target: ir.Value) -> None:
        """Reduce the votes of a leaf for a row."""
        b, nest = self.b, self.nest
        if self.dense:
            with self.loops.loop(I64(0), self.targets, 1) as column:
                weight = self._load(nest.votes, b.add(b.mul(leaf, self.targets), column), element(nest.votes.dtype))
                self._add(b.add(b.mul(row, self.targets), column), weight)
            return
        if self.in_rows:
            assert nest.targets is not None
            own = b.zext(self._load(nest.targets, leaf, I32), I64)
            place = b.add(b.mul(row, self.targets), own)
        else:
            block, lane = b.sdiv(row, I64(self.lanes)), b.srem(row, I64(self.lanes))
            place = b.add(b.mul(b.add(b.mul(block, self.targets), target), I64(self.lanes)), lane)
        self._add(place, self._load(nest.votes, leaf, element(nest.votes.dtype)))

    def _add(self, place: ir.Value, weight: ir.Value) -> None:
        at = self._vote(place)
        self.b.store(self._reduced(self.b.load(at, typ=F64), self.b.fpext(weight, F64)), at)

    def _reduced(self, so_far: ir.Value, votes: ir.Value) -> ir.Value:
        b = self.b
        if self.nest.function == "add":
            return b.fadd(so_far, votes)
        sign = "<" if self.nest.function == "minimum" else ">"
        return b.select(b.fcmp_ordered(sign, votes, so_far), votes, so_far)

    def _finish(self, begin: ir.Value, count: ir.Value) -> None:
        """The epilogue, for each row and target."""
        b, loops, nest, loop = self.b, self.loops, self.nest, self.loops.loop
        kind = vector(F64, self.lanes)
        outer, inner = (self.targets, count) if self.vertical else (count, self.targets)
        with loop(I64(0), inner, self.lanes) as first, loop(I64(0), outer, 1) as other:
            if self.vertical:
                block = b.sdiv(first, I64(self.lanes))
                place = b.mul(b.add(b.mul(block, self.targets), other), I64(self.lanes))
                loops.variables[nest.column] = other
                along, start = nest.row, b.add(begin, first)
            else:
                place = b.add(b.mul(other, self.targets), first)
                loops.variables[nest.row] = b.add(begin, other)
                along, start = nest.column, first
            loops.locals = {VOTES: b.load(self._vote(place), typ=kind, align=8)}
            left = b.sub(inner, first)
            with b.if_else(b.icmp_signed(">=", left, I64(self.lanes))) as (whole, part):
                with whole:
                    loops.in_lanes(nest.body, Lane(along, self.lanes, None), start)
                with part:
                    loops.in_lanes(nest.body, Lane(along, self.lanes, loops.lanes_below(left, self.lanes)), start)

    # --- places

    def _own(self, which: int) -> ir.Value:
        """The part of a scratch buffer that belongs to this thread."""
        place = self.b.mul(self.frame.thread, self.frame.size(self.nest.lines[which]))
        return self.b.gep(self.frame.buffers[self.nest.scratch[which]], [place], source_etype=I64)

    def _byte(self, start: ir.Value, place: ir.Value) -> ir.Value:
        return self.b.gep(start, [place], source_etype=I8)

    def _vote(self, place: ir.Value) -> ir.Value:
        return self.b.gep(self.votes, [place], source_etype=F64)

    def _load(self, table: Load, place: ir.Value, kind: ir.Type) -> ir.Value:
        return self.b.load(self.b.gep(self.frame.buffers[table.buffer], [place], source_etype=kind), typ=kind)


EMITTER = NestEmitter(_emit, _share)
