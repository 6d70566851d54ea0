"""What a warp does together on Ampere and later: matrices from shared memory, and their products.

A *matrix* is one of 8 x 8 halves: each thread of a warp has two of them, a word, of row `lane / 4` at twice `lane % 4`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import BF16, F16, F32, I8, I32, PTR
from ingot.dtypes import DType

COPIED = 16
"""Bytes that one copy moves."""

LINE = 128
"""Bytes of a line of a swizzled tile; of its eight pieces of 16 bytes, a reader finds each in other banks."""

_VOID = ir.VoidType()
_SHARED = ir.Type("ptr addrspace(3)")
_FOUR_WORDS = ir.Type("{i32, i32, i32, i32}")
_FOUR_SUMS = ir.Type("{float, float, float, float}")
_PAIR = ir.VectorType(F16, 2)


class DynamicShared(ir.Value):
    """The dynamic shared memory of a block, as a generic pointer to its beginning: as many bytes as a launch says."""

    __slots__ = ("line",)

    _NAME = "dynamic"

    def __init__(self, module: ir.Module) -> None:
        super().__init__(PTR, f'addrspacecast (ptr addrspace(3) @"{self._NAME}" to ptr)')
        self.line = f'@"{self._NAME}" = external addrspace(3) global [0 x i8], align 1024'
        module.globals[self._NAME] = self  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.line


def warp_barrier(b: Builder) -> None:
    """Wait for the threads of the warp: what they wrote to shared memory before can be read after."""
    _call(b, "bar.warp.sync", _VOID, [I32(-1)])


def four_matrices(b: Builder, row: ir.Value, turned: bool = False) -> list[ir.Value]:
    """Four matrices from shared memory, a word of each; thread `lane` has the address of row `lane % 8` of one.

    Where they are `turned`, rows become columns.
    """
    name = f"ldmatrix.sync.aligned.m8n8.x4{'.trans' if turned else ''}.b16.p3"
    four = _call(b, name, _FOUR_WORDS, [_in_space(b, row, _SHARED)])
    return [b.extract_value(four, number, I32) for number in range(4)]


def multiplied(
    b: Builder, dtype: DType, left: Sequence[ir.Value], right: Sequence[ir.Value], sums: Sequence[ir.Value]
) -> list[ir.Value]:
    """The sums of 16 rows and 8 columns with 16 products more each: four matrices of `left`, two of `right`."""
    words = [*left, *right]
    name = "mma.m16n8k16.row.col.bf16"
    if dtype is DType.FLOAT16:
        name, words = "mma.m16n8k16.row.col.f32.f32", [b.bitcast(word, _PAIR) for word in words]
    four = _call(b, name, _FOUR_SUMS, [*words, *sums])
    return [b.extract_value(four, number, F32) for number in range(4)]


def add_products(
    b: Builder, dtype: DType, cells: Sequence[ir.Value], left: Sequence[ir.Value], right: Sequence[ir.Value]
) -> None:
    """The same for sums in memory."""
    sums = multiplied(b, dtype, left, right, [b.load(cell, F32) for cell in cells])
    for cell, total in zip(cells, sums, strict=True):
        b.store(total, cell)


def pair_of_halves(b: Builder, dtype: DType, low: ir.Value, high: ir.Value) -> ir.Value:
    """Two floats as halves, in one word."""
    kind, name = (F16, "f16") if dtype is DType.FLOAT16 else (BF16, "bf16")
    return b.bitcast(_call(b, f"ff2{name}x2.rn", ir.VectorType(kind, 2), [high, low]), I32)


def power_of_two(b: Builder, x: ir.Value) -> ir.Value:
    """2 to the power of a float, but for two units of the last digit."""
    return _call(b, "ex2.approx.f", F32, [x])


def maximum(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """The greater of two floats, or the one that is a number."""
    return b.call(b.module.declared("llvm.maxnum.f32", ir.FunctionType(F32, [F32, F32])), [x, y])


def swizzled(b: Builder, row: ir.Value, piece: ir.Value) -> ir.Value:
    """Where a piece of a line of a swizzled tile lies in it, in bytes."""
    seven = ir.Constant(row.type, 7)
    return b.mul(b.xor(piece, b.and_(row, seven)), ir.Constant(row.type, COPIED))


def at_byte(b: Builder, memory: ir.Value, place: ir.Value) -> ir.Value:
    return b.gep(memory, [place], source_etype=I8)


def _in_space(b: Builder, pointer: ir.Value, space: ir.Type) -> ir.Value:
    return b.addrspacecast(pointer, space)


def _call(b: Builder, name: str, kind: ir.Type, arguments: Sequence[ir.Value]) -> ir.Value:
    types = [argument.type for argument in arguments]
    return b.call(b.module.declared(f"llvm.nvvm.{name}", ir.FunctionType(kind, types)), arguments)
