"""A block of attention whose threads all copy and multiply.

Keys and values are copied into shared memory: keys of the next tile while values of this one are weighted, values of
this tile while its scores are summed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.types import F32, I64, stack_slot
from ingot.codegen.nvptx.async_copy import commit_copies, wait_for_copies
from ingot.codegen.nvptx.attention_rows import LOW
from ingot.codegen.nvptx.attention_scores import AttentionScores
from ingot.codegen.nvptx.grid import barrier, register


class AttentionBlock(AttentionScores):
    """How its tiles are copied and multiplied, a subclass says."""

    @abstractmethod
    def copy_queries(self) -> None:
        """Begin to copy queries."""

    def fetch_queries(self) -> None:
        """Put queries that were copied into registers, where they are to be there."""

    @abstractmethod
    def copy_keys(self, key: ir.Value) -> None:
        """Begin to copy keys, from one on."""

    @abstractmethod
    def copy_values(self, key: ir.Value) -> None:
        """Begin to copy values, from those of a key on."""

    @abstractmethod
    def scores(self) -> list[list[ir.Value]]:
        """The sums of queries times the keys that were copied, for each row of the thread and each of its keys."""

    @abstractmethod
    def weigh(self, weights: Sequence[Sequence[ir.Value]], read: Sequence[Sequence[ir.Value]]) -> None:
        """Add the values that were copied, times weights, to the sums in `read`: cells, by row and column."""

    def emit(self) -> None:
        b, nest = self.b, self.nest
        split = register(b, "ctaid.z")
        rows, columns = self.row_places(), self.column_places()
        read = [[stack_slot(b, F32) for _ in range(len(columns) * self.together)] for _ in rows]
        greatest, total = ([stack_slot(b, F32) for _ in rows] for _ in range(2))
        placed = self.placed_rows()
        with self.loop(register(b, "ctaid.y"), self.batch, register(b, "nctaid.y")) as place:
            self.unflatten(nest.batch, place)
            begin, end = self.tiles_seen(split)
            for cell in (*(cell for line in read for cell in line), *total):
                b.store(F32(0.0), cell)
            for cell in greatest:
                b.store(F32(LOW), cell)
            self.copy_queries()
            self.copy_keys(b.mul(begin, I64(self.step)))
            commit_copies(b)
            wait_for_copies(b, 0)
            barrier(b)
            self.fetch_queries()
            with self.loop(begin, end, I64(1)) as tile:
                key = b.mul(tile, I64(self.step))
                wait_for_copies(b, 0)
                barrier(b)
                self.copy_values(key)
                commit_copies(b)
                beside = self.beside(key, placed)
                scores = self.scored(self.scores(), key, placed, beside)
                wait_for_copies(b, 0)
                barrier(b)
                self.copy_keys(b.add(key, I64(self.step)))
                commit_copies(b)
                weights = []
                for own, line, most, sums in zip(scores, read, greatest, total, strict=True):
                    row_weights, shrink = self.weights(own, most, sums)
                    weights.append(row_weights)
                    for cell in line:
                        b.store(b.fmul(b.load(cell, F32), shrink), cell)
                self.weigh(weights, read)
            wait_for_copies(b, 0)
            barrier(b)
            self.finish_rows(placed, read, greatest, total, place)
