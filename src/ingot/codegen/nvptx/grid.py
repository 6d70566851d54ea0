"""What a GPU has beside arithmetic: numbers of threads and blocks, barriers, shuffles, shared memory; and kernels."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32, I64, PTR
from ingot.codegen.nvptx.variant import Function

WARP = 32

_VOID = ir.VoidType()


class KernelFunction(ir.Function):
    """A kernel: a function that the host launches, whose parameters are known once its body is."""

    __slots__ = ("parameters",)

    def __init__(self, module: ir.Module, name: str) -> None:
        super().__init__(module, ir.FunctionType(_VOID, ()), name)
        self.parameters: Sequence[str] = ()

    def __str__(self) -> str:
        return (
            super()
            .__str__()
            .replace(
                f"define void {self.text}()", f"define ptx_kernel void {self.text}({', '.join(self.parameters)})", 1
            )
        )


def module_text(module: ir.Module, kernel: KernelFunction, function: Function) -> str:
    """The text of a module of one kernel, with the bounds of its blocks."""
    bounds = {"reqntidx" if function.exact else "maxntidx": function.threads, "minctasm": function.blocks}
    if function.cluster > 1:
        bounds["cluster_dim_x"] = function.cluster
    bounded = ", ".join(f'!"{name}", i32 {value}' for name, value in bounds.items())
    notes = [f"!1000 = !{{ptr {kernel.text}, {bounded}}}"]
    if function.maps:  # or LLVM copies them to the stack, where the copy engine cannot read them
        last = len(kernel.parameters)
        places = ", ".join(f"i32 {place + 1}" for place in range(last - len(function.maps), last))
        notes += [f'!1001 = !{{ptr {kernel.text}, !"grid_constant", !1002}}', f"!1002 = !{{{places}}}"]
    numbers = ", ".join(f"!{1000 + number}" for number in range(min(2, len(notes))))
    return "\n".join([str(module), f"!nvvm.annotations = !{{{numbers}}}", *notes, ""])


def register(b: Builder, name: str) -> ir.Value:
    """A special register, such as `tid.x`, as an int64."""
    callee = b.module.declared(f"llvm.nvvm.read.ptx.sreg.{name}", ir.FunctionType(I32, []))
    return b.zext(b.call(callee, []), I64)


def barrier(b: Builder) -> None:
    """Wait for all threads of the block: what they wrote to shared memory before can be read after."""
    b.call(b.module.declared("llvm.nvvm.barrier0", ir.FunctionType(_VOID, [])), [])


def exchanged(b: Builder, value: ir.Value, distance: ir.Value) -> ir.Value:
    """The value of the thread of the warp whose number differs in the bits of `distance`, an int32."""
    kind = value.type
    width = _bits(kind)
    whole = ir.IntType(width)
    bits = value if isinstance(kind, ir.IntType) else b.bitcast(value, whole)
    if width <= 32:
        moved = _moved(b, bits if width == 32 else b.zext(bits, I32), distance)
        moved = moved if width == 32 else b.trunc(moved, whole)
    else:
        low = _moved(b, b.trunc(bits, I32), distance)
        high = _moved(b, b.trunc(b.lshr(bits, I64(32)), I32), distance)
        moved = b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), I64(32)))
    return moved if isinstance(kind, ir.IntType) else b.bitcast(moved, kind)


def _moved(b: Builder, value: ir.Value, distance: ir.Value) -> ir.Value:
    callee = b.module.declared("llvm.nvvm.shfl.sync.bfly.i32", ir.FunctionType(I32, [I32, I32, I32, I32]))
    return b.call(callee, [I32(-1), value, distance, I32(WARP - 1)])


def _bits(kind: ir.Type) -> int:
    return kind.width if isinstance(kind, ir.IntType) else {"half": 16, "float": 32, "double": 64}[kind.text]


class SharedArray(ir.Value):
    """An array in the shared memory of a block, as a generic pointer to its beginning."""

    __slots__ = ("line",)

    def __init__(self, module: ir.Module, name: str, element: ir.Type, count: int, align: int = 16) -> None:
        super().__init__(PTR, f'addrspacecast (ptr addrspace(3) @"{name}" to ptr)')
        kind = ir.ArrayType(element, count)
        self.line = f'@"{name}" = internal addrspace(3) global {kind.text} undef, align {align}'
        module.globals[name] = self  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.line
