"""How the work of a kernel is divided into pieces that threads take: large enough to pay, small enough to balance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I64
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.schedule.target import Target
from ingot.schedule.work import LARGEST_PIECE, PIECES_PER_THREAD


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the number of pieces may depend on: sizes, the number of threads, and the target."""

    size: Callable[[Dim], ir.Value]
    threads: ir.Value
    target: Target


@dataclass(frozen=True, slots=True)
class Share:
    """The work of one nest, in units that are worth a thread, and the most parts it can be divided into."""

    work: ir.Value
    parts: ir.Value


def pieces_of(b: Builder, shares: Sequence[Share], threads: ir.Value) -> ir.Value:
    """The best number of pieces for nests that are divided alike: at least one."""
    work: ir.Value = I64(0)
    parts: ir.Value = I64(0)
    for share in shares:
        work, parts = b.add(work, share.work), b.add(parts, share.parts)
    few = smaller(b, b.add(work, I64(1)), b.mul(threads, I64(PIECES_PER_THREAD)))
    few = b.select(b.icmp_signed("==", threads, I64(1)), I64(1), few)
    wanted = larger(b, few, b.sdiv(work, I64(LARGEST_PIECE)))
    even = b.mul(up(b, wanted, threads), threads)
    wanted = b.select(b.icmp_signed(">", wanted, threads), even, wanted)
    return larger(b, smaller(b, wanted, parts), I64(1))


def part_of(b: Builder, total: ir.Value, piece: ir.Value, pieces: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The begin and end of a piece, of `total` divided as evenly as possible."""
    quotient, rest = b.sdiv(total, pieces), b.srem(total, pieces)
    low = b.add(b.mul(quotient, piece), smaller(b, piece, rest))
    more = b.zext(b.icmp_signed("<", piece, rest), I64)
    return low, b.add(low, b.add(quotient, more))


def smaller(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed("<", x, y), x, y)


def larger(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    return b.select(b.icmp_signed(">", x, y), x, y)


def up(b: Builder, value: ir.Value, by: ir.Value) -> ir.Value:
    """A quotient, rounded up."""
    return b.sdiv(b.add(value, b.sub(by, I64(1))), by)
