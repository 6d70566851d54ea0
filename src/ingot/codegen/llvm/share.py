"""How work is divided into pieces that threads take one by one: worth taking, and not too long to wait for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I64
from ingot.dims import Dim
from ingot.schedule.target import Target

_PER_THREAD = 4
"""Pieces for each thread, where there is little: what one thread is late with, others do."""

_LARGEST = 8
"""Times the least work that is worth a thread, in a piece: what others wait for in the end, or who wants to stop."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the division of a nest may depend on: its sizes, the number of threads, and the target."""

    size: Callable[[Dim], ir.Value]
    threads: ir.Value
    target: Target


@dataclass(frozen=True, slots=True)
class Share:
    """Of one nest: its work, in what is worth a thread of its own, and the parts it can be divided into at most."""

    work: ir.Value
    parts: ir.Value


def pieces_of(b: Builder, shares: Sequence[Share], threads: ir.Value) -> ir.Value:
    """How many pieces nests that are divided alike have best: at least one."""
    work: ir.Value = I64(0)
    parts: ir.Value = I64(0)
    for share in shares:
        work, parts = b.add(work, share.work), b.add(parts, share.parts)
    few = smaller(b, b.add(work, I64(1)), b.mul(threads, I64(_PER_THREAD)))
    few = b.select(b.icmp_signed("==", threads, I64(1)), I64(1), few)
    wanted = larger(b, few, b.sdiv(work, I64(_LARGEST)))
    even = b.mul(up(b, wanted, threads), threads)
    wanted = b.select(b.icmp_signed(">", wanted, threads), even, wanted)
    return larger(b, smaller(b, wanted, parts), I64(1))


def part_of(b: Builder, total: ir.Value, piece: ir.Value, pieces: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Where a piece begins and ends, of `total` divided as evenly as can be."""
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
