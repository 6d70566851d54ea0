"""A kernel as a function in LLVM: `void kernel(slots, which, sizes, state, thread, threads)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from llvmlite import ir

from ingot.codegen.llvm.loops import Frame, Loops
from ingot.codegen.llvm.product import emit_product
from ingot.codegen.llvm.target import Target
from ingot.codegen.llvm.types import I1, I32, I64, PTR
from ingot.codegen.llvm.winograd import emit_winograd
from ingot.dims import Dim
from ingot.lower.loops import Buffer, Kernel, Product, Winograd
from ingot.lower.rewrite import sizes_indexed

ENTRY = "kernel"


@dataclass(frozen=True, slots=True)
class Emitted:
    """The text of a module with one kernel, the buffers it takes in order, and the sizes it has to be told."""

    text: str
    buffers: tuple[Buffer, ...]
    sizes: tuple[Dim, ...]


def emit(kernel: Kernel, target: Target) -> Emitted:
    """A kernel in LLVM's own language.

    It finds its buffers in the table `slots`, at the places `which` tells; it works on its share of `threads`.
    """
    module = ir.Module(ENTRY)
    module.triple = target.triple
    buffers = buffers_of(kernel)
    body, sizes = _body(module, kernel, buffers, target)
    _entry(module, body, len(buffers))
    return Emitted(str(module), buffers, sizes)


def buffers_of(kernel: Kernel) -> tuple[Buffer, ...]:
    """The buffers that a kernel takes, in order."""
    return tuple(dict.fromkeys((*kernel.reads, *kernel.writes, *kernel.scratch)))


def _body(
    module: ir.Module, kernel: Kernel, buffers: tuple[Buffer, ...], target: Target
) -> tuple[ir.Function, tuple[Dim, ...]]:
    """The work of a kernel, for buffers that are parameters, so that LLVM knows them to be apart."""
    kind = ir.FunctionType(ir.VoidType(), [*(PTR for _ in buffers), PTR, PTR, I64, I64])
    function = ir.Function(module, kind, "body")
    function.linkage = "internal"
    *pointers, sizes, state, thread, threads = function.args
    for argument in (*pointers, sizes, state):
        argument.add_attribute("noalias")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    begin = b.append_basic_block("begin")
    b.branch(begin)
    b.position_at_end(begin)
    asked: dict[Dim, ir.Value] = {}

    def size(dim: Dim) -> ir.Value:
        if isinstance(dim, int):
            return I64(dim)
        if dim not in asked:
            with b.goto_entry_block():
                place = b.gep(sizes, [I64(len(asked))], source_etype=I64)
                asked[dim] = b.load(place, typ=I64)
        return asked[dim]

    frame = Frame(dict(zip(buffers, pointers, strict=True)), size, state, thread, threads, target)
    for nest in kernel.nests:
        with _unless_empty(b, frame, sizes_indexed(nest)):
            if isinstance(nest, Product):
                emit_product(b, frame, nest)
            elif isinstance(nest, Winograd):
                emit_winograd(b, frame, nest)
            else:
                Loops(b, frame).nest(nest)
    b.ret_void()
    return function, tuple(asked)


@contextmanager
def _unless_empty(b: ir.IRBuilder, frame: Frame, sizes: Sequence[Dim]) -> Iterator[None]:
    """What is emitted while it is open runs unless a size is zero: there no index is valid, and that is reported."""
    unknown = [size for size in sizes if not isinstance(size, int) or size == 0]
    if not unknown:
        yield
        return
    empty = ir.Constant(I1, 0)
    for size in unknown:
        empty = b.or_(empty, b.icmp_signed("==", frame.size(size), I64(0)))
    with b.if_else(empty, likely=False) as (then, otherwise):
        with then:
            b.store(I32(1), frame.state)
        with otherwise:
            yield


def _entry(module: ir.Module, body: ir.Function, buffers: int) -> None:
    """The function that a plan calls: it looks its buffers up."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [PTR, PTR, PTR, PTR, I64, I64]), ENTRY)
    slots, which, sizes, state, thread, threads = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    pointers = []
    for place in range(buffers):
        slot = b.load(b.gep(which, [I64(place)], source_etype=I32), typ=I32)
        pointers.append(b.load(b.gep(slots, [b.zext(slot, I64)], source_etype=PTR), typ=PTR))
    b.call(body, [*pointers, sizes, state, thread, threads])
    b.ret_void()
