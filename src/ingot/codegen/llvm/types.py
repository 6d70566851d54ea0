"""Element types in LLVM: how an element lies in memory, and how it is computed with."""

from __future__ import annotations

from functools import cache

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.dtypes import DType
from ingot.prim.functions import CODES, UNSIGNED

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I16 = ir.IntType(16)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
F16 = ir.HalfType()
BF16 = ir.BFloatType()
F32 = ir.FloatType()
F64 = ir.DoubleType()
PTR = ir.PointerType()

_IN_REGISTERS: dict[DType, ir.Type] = {
    DType.BOOL: I1,
    DType.INT8: I8,
    DType.UINT8: I8,
    DType.INT16: I16,
    DType.UINT16: I16,
    DType.INT32: I32,
    DType.UINT32: I32,
    DType.INT64: I64,
    DType.UINT64: I64,
    DType.FLOAT16: F16,
    DType.BFLOAT16: I16,  # its bits: there is no arithmetic on it but conversion
    DType.FLOAT32: F32,
    DType.FLOAT64: F64,
    **dict.fromkeys(CODES, I8),  # their bits, as well
}


def element(dtype: DType) -> ir.Type:
    """The type of an element that is computed with."""
    return _IN_REGISTERS[dtype]


def stored(dtype: DType) -> ir.Type:
    """The type of an element in memory."""
    return I8 if dtype is DType.BOOL else _IN_REGISTERS[dtype]


def width(dtype: DType) -> int:
    """The bytes of an element in memory."""
    return dtype.numpy.itemsize


def is_float(dtype: DType) -> bool:
    return dtype in (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)


def is_signed(dtype: DType) -> bool:
    return dtype not in UNSIGNED and dtype is not DType.BOOL


def vector(kind: ir.Type, lanes: int) -> ir.Type:
    return ir.VectorType(kind, lanes) if lanes > 1 else kind


@cache
def lane_numbers(kind: ir.Type, lanes: int) -> ir.Constant:
    """A vector of the number of each lane, of which there are several."""
    return ir.Constant(ir.VectorType(kind, lanes), list(range(lanes)))


def stack_slot(b: Builder, kind: ir.Type, align: int = 0) -> ir.Value:
    """An alloca in the entry block, which LLVM promotes to a register if it can."""
    with b.goto_entry_block():
        pointer = b.alloca(kind)
    pointer.type = PTR
    if align:
        pointer.align = align
    return pointer


def zeros(b: Builder, name: str, kind: ir.Type) -> ir.Value:
    """Constant zeros of a type, one for each name in a module."""
    return _global(b, name, ir.Constant(kind, None))


def global_constant(b: Builder, value: ir.Constant) -> ir.Value:
    """The address of a constant, one for each in a module."""
    return _global(b, str(value).replace('"', ""), value)


def _global(b: Builder, name: str, value: ir.Constant) -> ir.Value:
    constant = b.module.globals.get(name)
    if constant is None:
        constant = ir.GlobalVariable(b.module, value.type, name)
        constant.linkage, constant.global_constant = "internal", True
        constant.initializer, constant.align = value, 64
        constant.type = PTR
    return constant
