"""A kernel as a function in LLVM: `i64 kernel(slots, which, sizes, state, thread, piece, pieces)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.compact import compacted
from ingot.codegen.llvm.emitter import Frame, NestEmitter, unless_empty
from ingot.codegen.llvm.half import define_half_conversions
from ingot.codegen.llvm.matrix_registers import configure, release, uses_matrices
from ingot.codegen.llvm.share import Sharing, pieces_of
from ingot.codegen.llvm.types import I32, I64, PTR
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import (
    Attention,
    Buffer,
    Contraction,
    Descent,
    Kernel,
    Recurrence,
    RoundedRows,
    Sort,
    Staged,
    Suppress,
    Winograd,
)
from ingot.loops.rewrite import sizes_indexed
from ingot.schedule.target import Target

ENTRY = "kernel"

EMITTERS: Mapping[type, str] = {
    tuple: "loops",
    Contraction: "product",
    RoundedRows: "rounded_rows",
    Staged: "staged",
    Winograd: "winograd",
    Attention: "attention",
    Descent: "descent",
    Sort: "sort",
    Suppress: "suppress",
    Recurrence: "recurrence",
}
"""The module of the code generator of each kind of nest: few models have nests of all kinds."""


def emitter_of(kind: type) -> NestEmitter[Any]:
    """The code generator of a kind of nest."""
    assert kind in EMITTERS, "a kernel is scheduled before it is emitted"
    emitter: NestEmitter[Any] = import_module(f"ingot.codegen.llvm.{EMITTERS[kind]}").EMITTER
    return emitter


@dataclass(frozen=True, slots=True)
class Emitted:
    """The text of a module with one kernel, the buffers it takes in order, and the sizes in its table."""

    text: str
    buffers: tuple[Buffer, ...]
    sizes: tuple[Dim, ...]


def emit(kernel: Kernel, target: Target, compact: bool = False) -> Emitted:
    """A kernel as LLVM IR.

    It finds its buffers in the table `slots`, at the indices in `which`, and computes one of the pieces that its work
    is divided into. The results of a piece depend neither on the number of pieces nor on the thread. Called with piece
    -1, it only returns the best number of pieces, for as many threads as `pieces` says.
    """
    module = ir.Module(ENTRY)
    module.triple, module.fma, module.half, module.vector = target.triple, target.fma, target.half, target.vector
    buffers = kernel.buffers
    sizes: dict[Dim, int] = {}
    if compact:
        kernel = compacted(kernel)
    body = _body(module, kernel, buffers, target, sizes, compact)
    count = _count(module, kernel, target, sizes)
    _entry(module, body, count, len(buffers), target)
    text = str(module)
    if not target.half and "half" in text:
        define_half_conversions(module, target)
        text = str(module)
    return Emitted(text, buffers, tuple(sizes))


def _body(
    module: ir.Module, kernel: Kernel, buffers: tuple[Buffer, ...], target: Target, sizes: dict[Dim, int], compact: bool
) -> ir.Function:
    """The work of a kernel; buffers are `noalias` parameters, so that LLVM may reorder loads and stores."""
    kind = ir.FunctionType(ir.VoidType(), [*(PTR for _ in buffers), PTR, PTR, I64, I64, I64])
    function = ir.Function(module, kind, "body")
    function.linkage = "internal"
    *pointers, table, state, thread, piece, pieces = function.args
    for argument in (*pointers, table, state):
        argument.add_attribute("noalias")
    b = _opened(function)
    size = _size_table(b, table, sizes)
    frame = Frame(dict(zip(buffers, pointers, strict=True)), size, state, thread, piece, pieces, target, compact)
    matrices = uses_matrices(kernel)
    if matrices:
        configure(b)
    for nest in kernel.nests:
        emitter = emitter_of(type(nest))
        if isinstance(nest, Recurrence):  # of which an empty one reads nothing
            emitter.emit(b, frame, nest)
            continue
        with unless_empty(b, frame, sizes_indexed(nest)):
            emitter.emit(b, frame, nest)
    if matrices:
        release(b)
    b.ret_void()
    return function


def _count(module: ir.Module, kernel: Kernel, target: Target, sizes: dict[Dim, int]) -> ir.Function:
    """The number of pieces of a kernel for a number of threads."""
    function = ir.Function(module, ir.FunctionType(I64, [PTR, I64]), "pieces")
    function.linkage = "internal"
    table, threads = function.args
    b = _opened(function)
    sharing = Sharing(_size_table(b, table, sizes), threads, target)
    shares = [emitter_of(type(nest)).share(b, sharing, nest) for nest in kernel.nests]
    b.ret(pieces_of(b, shares, threads))
    return function


def _opened(function: ir.Function) -> Builder:
    """A builder after the entry block of a function, to which stack slots and sizes are added later."""
    b = Builder(function.append_basic_block("entry"))
    begin = b.append_basic_block("begin")
    b.branch(begin)
    b.position_at_end(begin)
    return b


def _size_table(b: Builder, table: ir.Value, places: dict[Dim, int]) -> Callable[[Dim], ir.Value]:
    """A function that loads a runtime scalar from the table of a kernel; `places` gets an index for each one used."""
    known: dict[Dim, ir.Value] = {}

    def size(dim: Dim) -> ir.Value:
        if isinstance(dim, int):
            return I64(dim)
        if dim not in known:
            place = places.setdefault(dim, len(places))
            with b.goto_entry_block():
                known[dim] = b.load(b.gep(table, [I64(place)], source_etype=I64), typ=I64)
        return known[dim]

    return size


def _entry(module: ir.Module, body: ir.Function, count: ir.Function, buffers: int, target: Target) -> None:
    """The entry point that the thread pool calls: it looks the buffers up, in a table with 64 bits for each address."""
    address = PTR if target.pointer == 64 else I64  # of a shorter one the low bits, which come first
    function = ir.Function(module, ir.FunctionType(I64, [PTR, PTR, PTR, PTR, I64, I64, I64]), ENTRY)
    slots, which, sizes, state, thread, piece, pieces = function.args
    b = Builder(function.append_basic_block("entry"))
    with b.if_then(b.icmp_signed("<", piece, I64(0)), likely=False):
        b.ret(b.call(count, [sizes, pieces]))
    pointers = []
    for place in range(buffers):
        slot = b.load(b.gep(which, [I64(place)], source_etype=I32), typ=I32)
        pointers.append(b.load(b.gep(slots, [b.zext(slot, I64)], source_etype=address), typ=PTR))
    b.call(body, [*pointers, sizes, state, thread, piece, pieces])
    b.ret(I64(0))
