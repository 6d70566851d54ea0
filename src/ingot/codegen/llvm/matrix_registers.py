"""Registers of matrices and the instructions on them: the tiles of AMX, 8 of 16 rows of 64 bytes.

LLVM has instructions on registers by their numbers, which nothing else of a kernel uses. Which rows and columns a
register has is configured once for a piece of a kernel: all of them have all.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I8, stack_slot, vector
from ingot.loops.ir import MATRIX_ROWS, ByteDot, Contraction, Kernel, PairDot, nests_in

REGISTERS = 8
ROW = 64
"""The bytes of a row."""

_LAYOUT = struct.pack("<BB14x16H16B", 1, 0, *[ROW] * REGISTERS, *[0] * 8, *[MATRIX_ROWS] * REGISTERS, *[0] * 8)
"""What configures the registers: palette 1, then the bytes in a row of each register, and its rows."""


def uses_matrices(kernel: Kernel) -> bool:
    """Whether a kernel multiplies matrices."""
    return any(
        isinstance(nest, Contraction) and nest.panels is None and nest.tile is not None and nest.tile.of_matrices
        for nest in nests_in(kernel)
    )


def configure(b: Builder) -> None:
    """Give all registers all rows and columns; they hold zeros."""
    bytes_ = vector(I8, len(_LAYOUT))
    place = stack_slot(b, bytes_, ROW)
    b.store(ir.Constant(bytes_, list(_LAYOUT)), place, align=ROW)
    _call(b, "ldtilecfg", [place])


def release(b: Builder) -> None:
    """Leave all registers, so that the system need not save them."""
    _call(b, "tilerelease", [])


def zero(b: Builder, register: int) -> None:
    _call(b, "tilezero", [I8(register)])


def load(b: Builder, register: int, place: ir.Value, apart: ir.Value) -> None:
    """Load all rows of a register, `apart` bytes from each other."""
    _call(b, "tileloadd64", [I8(register), place, apart])


def store(b: Builder, register: int, place: ir.Value, apart: ir.Value) -> None:
    _call(b, "tilestored64", [I8(register), place, apart])


def multiply(b: Builder, dot: ByteDot | PairDot, sums: int, left: int, right: int) -> None:
    """Add the products of two registers to the sums of a third."""
    name = "tdpbf16ps" if isinstance(dot, PairDot) else "tdpbusd" if dot.unsigned else "tdpbssd"
    _call(b, name, [I8(register) for register in (sums, left, right)])


def _call(b: Builder, name: str, arguments: Sequence[ir.Value]) -> None:
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    function = b.module.declared(f"llvm.x86.{name}", kind)
    b.call(function, arguments)
