"""Scores of attention from their sums: scaled, masked, and hidden past the last key.

Where no key of a tile is hidden by its place, scores of neighbouring keys are computed together, so that what masks
them is loaded as vectors; and it is loaded before the sums are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import F32, I32, I64, stack_slot, stored, vector, width
from ingot.codegen.nvptx.attention_rows import LOW, SUM, AttentionRows
from ingot.codegen.nvptx.hidden_keys import parts_of, value_where_seen
from ingot.dataclass import dataclass
from ingot.loops.ir import Apply, Literal, Load, Local, RuntimeScalar, Scalar, Var
from ingot.loops.rewrite import parts

_MOST_EARLY = 32
"""Registers of a thread for what is loaded before sums are there."""

_REGISTER = 4
"""Bytes of a register."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What scores of a tile read beside their sums: whether no key is hidden, and cells of what was loaded by then.

    The cells are by load, row and first key. A load that no row matters to has those of the first row alone.
    """

    whole: ir.Value
    loads: tuple[Load, ...]
    cells: Mapping[tuple[int, int, int], ir.Value]


class AttentionScores(AttentionRows):
    """Rows of attention whose scores are more than sums."""

    most_early = _MOST_EARLY

    def beside(self, key: ir.Value, placed: Sequence[dict[Var, ir.Value]]) -> Beside:
        """What is known of the scores of a tile of keys without their sums, and loads of it that are under way."""
        b, nest = self.b, self.nest
        conditions = parts_of(nest.score).conditions
        whole = b.icmp_signed("<=", b.add(key, I64(self.step)), self.keys)
        if conditions:
            span = self.span(self.span_of_rows(), b.sdiv(key, I64(self.step)))
            whole = b.and_(whole, span.always(conditions))
        loads = [part for part in parts([value_where_seen(self.score)]) if isinstance(part, Load)]
        along = [load.index for load in loads if load.index.factor(nest.t) == 1]
        if along and self.neighbours > 1:
            whole = b.and_(whole, self.are_aligned(along, nest.t, self.neighbours))
        early = tuple(load for load in loads if not load.where and all(isinstance(v, Var) for v, _ in load.index.terms))
        places = self.key_places()
        rows = {id(load): len(placed) if self._reads_row(load) else 1 for load in early}
        registers = sum(rows[id(load)] * len(places) * width(load.dtype) for load in early) / _REGISTER
        cells: dict[tuple[int, int, int], ir.Value] = {}
        if not early or self.neighbours == 1 or registers > self.most_early:
            return Beside(whole, (), cells)
        with b.if_then(whole):
            for load in early:
                for row in range(rows[id(load)]):
                    self.variables.update(placed[row])
                    for first in range(0, len(places), self.neighbours):
                        loaded = self._stored(self._of_keys(load, b.add(key, places[first]), {}), load.dtype)
                        cell = cells[id(load), row, first] = stack_slot(b, loaded.type)
                        b.store(loaded, cell)
        return Beside(whole, early, cells)

    def _reads_row(self, load: Load) -> bool:
        return any(load.index.factor(var) != 0 for var in self.nest.m)

    def scored(
        self,
        sums: Sequence[Sequence[ir.Value]],
        key: ir.Value,
        placed: Sequence[dict[Var, ir.Value]],
        beside: Beside,
    ) -> list[list[ir.Value]]:
        """The scores of sums; minus infinity past the last key. Where no key is hidden, conditions are not asked."""
        b = self.b
        cells = [[stack_slot(b, F32) for _ in line] for line in sums]
        keys = [b.add(key, place) for place in self.key_places()]
        with b.if_else(beside.whole) as (plain, careful):
            with plain:
                score = value_where_seen(self.score)
                for row, (line, own, at) in enumerate(zip(sums, cells, placed, strict=True)):
                    self.variables.update(at)
                    self._score_together(score, line, own, keys, row, beside)
            with careful:
                for line, own, at in zip(sums, cells, placed, strict=True):
                    self.variables.update(at)
                    for value, cell, number in zip(line, own, keys, strict=True):
                        b.store(self._score_alone(value, number), cell)
        return [[b.load(cell, F32) for cell in line] for line in cells]

    def _score_together(
        self,
        score: Scalar,
        sums: Sequence[ir.Value],
        cells: Sequence[ir.Value],
        keys: Sequence[ir.Value],
        row: int,
        beside: Beside,
    ) -> None:
        """Store the scores of a row, of as many neighbours at once as a thread has."""
        b, count = self.b, self.neighbours
        if isinstance(score, Local):
            for value, cell in zip(sums, cells, strict=True):
                b.store(value, cell)
            return
        for first in range(0, len(sums), count):
            own = sums[first : first + count]
            together = own[0]
            if count > 1:
                together = ir.Constant(vector(F32, count), ir.Undefined)
                for lane, value in enumerate(own):
                    together = b.insert_element(together, value, I32(lane))
            loaded: dict[int, tuple[Scalar, ir.Value]] = {}
            for load in beside.loads:
                cell = beside.cells[id(load), row if self._reads_row(load) else 0, first]
                loaded[id(load)] = load, self._computed(b.load(cell, vector(stored(load.dtype), count)), load.dtype)
            scored = self._of_keys(score, keys[first], loaded, together)
            for lane in range(count):
                b.store(scored if count == 1 else b.extract_element(scored, I32(lane)), cells[first + lane])

    def _score_alone(self, value: ir.Value, key: ir.Value) -> ir.Value:
        """The score of a key where some are hidden; what is read past the last key is that of the last."""
        b = self.b
        scored = value
        if not isinstance(self.score, Local):
            self.variables[self.nest.t] = smaller(b, key, b.sub(self.keys, I64(1)))
            scored = self._evaluated(self.score, {}, value)
        return b.select(b.icmp_signed("<", key, self.keys), scored, F32(LOW))

    def _of_keys(
        self,
        value: Scalar,
        key: ir.Value,
        known: Mapping[int, tuple[Scalar, ir.Value]],
        sums: ir.Value | None = None,
    ) -> ir.Value:
        """A part of a score for a key and its neighbours."""
        self.variables[self.nest.t] = key
        self._lane = Lane(self.nest.t, self.neighbours, None) if self.neighbours > 1 else None
        result = self._in_lanes(self._evaluated(value, known, sums))
        self._lane = None
        return result

    def _evaluated(
        self, value: Scalar, known: Mapping[int, tuple[Scalar, ir.Value]], sums: ir.Value | None
    ) -> ir.Value:
        if sums is not None:
            self.locals = {SUM: sums}
        self._known = dict(known)
        parts_of_sum = _scaled_and_more(value)
        if parts_of_sum is None or sums is None:
            result = self.scalar(value)
        else:
            factor, more = (self._in_lanes(self.scalar(part)) for part in parts_of_sum)
            result = scalars.multiply_add(self.b, sums, factor, more)
        self._known = {}
        return result


def _scaled_and_more(score: Scalar) -> tuple[Scalar, Scalar] | None:
    """The number that a sum is multiplied by and what is added to that, where a score is of this form."""
    if not isinstance(score, Apply) or score.function != "add":
        return None
    for scaled, more in (score.arguments, score.arguments[::-1]):
        if isinstance(scaled, Apply) and scaled.function == "multiply":
            for own, factor in (scaled.arguments, scaled.arguments[::-1]):
                if isinstance(own, Local) and isinstance(factor, Literal | RuntimeScalar):
                    return factor, more
    return None
