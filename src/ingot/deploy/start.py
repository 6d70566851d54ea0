"""Where a program begins: it reads the inputs, walks the steps of the plan, and writes the outputs.

All it needs to know is in a table of 8-byte words: `WORDS` of them, then the address and the bytes of each input and of
each output.
"""

from __future__ import annotations

import struct

from ingot.cache.matrix_permission import ARCH_PRCTL, REGISTERS, REQUEST
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32, I64, PTR
from ingot.schedule.target import MATRICES, Target

START = "start"
WALK, JOB, STATE, SYSTEM, INPUTS, OUTPUTS, WORDS = range(7)
"""The words of the table: the function that walks a job, the job, its state, the function that calls the system, and
how many inputs and outputs there are."""

WRONG, BROKEN = 1, 2
"""How a program ends that met an index out of range, or whose inputs end early or outputs go nowhere, or that may not
use the registers of matrices of its target."""

_READ = {"x86_64": 0, "aarch64": 63}
_WRITE = {"x86_64": 1, "aarch64": 64}
_EXIT = {"x86_64": 60, "aarch64": 93}
"""Linux's numbers of system calls."""

_SYSTEM = {
    "x86_64": bytes.fromhex("4889c8 0f05 c3"),  # mov rax, rcx; syscall; ret
    "aarch64": struct.pack("<3I", 0xAA0303E8, 0xD4000001, 0xD65F03C0),  # mov x8, x3; svc 0; ret
}


def system_code(machine: str) -> bytes:
    """A function of three arguments and the number of a system call: machine code, which LLVM cannot assemble here."""
    return _SYSTEM[machine]


def entry_code(machine: str, at: int, start: int) -> bytes:
    """What runs first, at an address: a call of `start` that never returns, as the stack is not that of a function."""
    if machine == "x86_64":
        return b"\xe8" + struct.pack("<i", start - at - 5)
    return struct.pack("<I", 0x94000000 | (start - at) // 4 & 0x3FFFFFF)


def start_text(target: Target, table: int) -> str:
    """A module with the function `start`, for a table at an address."""
    module = ir.Module(START)
    module.triple = target.triple
    transfer = _transfer(module, target.machine)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), []), START)
    b = Builder(function.append_basic_block("entry"))
    base = ir.Value(PTR, f"inttoptr (i64 {table} to ptr)")

    def word(place: int) -> ir.Value:
        return b.load(b.gep(base, [I64(place)], source_etype=I64), typ=I64)

    def transferred(number: int, file: int, first: ir.Value, last: ir.Value) -> None:
        with b.counted(first, last, I64(1)) as index:
            pair = b.gep(base, [b.add(b.mul(index, I64(2)), I64(WORDS))], source_etype=I64)
            place = b.load(pair, typ=I64)
            size = b.load(b.gep(pair, [I64(1)], source_etype=I64), typ=I64)
            b.call(transfer, [system, I64(number), I64(file), place, size])

    system = b.load(b.gep(base, [I64(SYSTEM)], source_etype=I64), typ=PTR)
    if any(dot in target.dots for dot in MATRICES):
        refused = b.call(_system(system), [I64(REQUEST), I64(REGISTERS), I64(0), I64(ARCH_PRCTL)])
        with b.if_then(b.icmp_signed("!=", refused, I64(0)), likely=False):
            _end(b, system, target.machine, BROKEN)
    walk = b.load(b.gep(base, [I64(WALK)], source_etype=I64), typ=PTR)
    inputs = word(INPUTS)
    transferred(_READ[target.machine], 0, I64(0), inputs)
    job = b.load(b.gep(base, [I64(JOB)], source_etype=I64), typ=PTR)
    b.call(ir.Callee(ir.FunctionType(ir.VoidType(), [PTR]), walk.text), [job])
    state = b.load(b.gep(base, [I64(STATE)], source_etype=I64), typ=PTR)
    with b.if_then(b.icmp_signed("!=", b.load(state, typ=I32), I32(0))):
        _end(b, system, target.machine, WRONG)
    transferred(_WRITE[target.machine], 1, inputs, b.add(inputs, word(OUTPUTS)))
    _end(b, system, target.machine, 0)
    b.ret_void()
    return str(module)


def _transfer(module: ir.Module, machine: str) -> ir.Function:
    """Read or write all of so many bytes, however few the system does at a time."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [PTR, I64, I64, I64, I64]), "transfer")
    function.linkage = "internal"
    system, number, file, place, size = function.args
    b = Builder(function.append_basic_block("entry"))
    entry = b.block
    head, body, end = (b.append_basic_block(name) for name in ("head", "body", "end"))
    b.branch(head)
    b.position_at_end(head)
    done = b.phi(I64)
    done.add_incoming(I64(0), entry)
    b.cbranch(b.icmp_signed("<", done, size), body, end)
    b.position_at_end(body)
    transferred = b.call(_system(system), [file, b.add(place, done), b.sub(size, done), number])
    with b.if_then(b.icmp_signed("<=", transferred, I64(0)), likely=False):
        _end(b, system, machine, BROKEN)
    done.add_incoming(b.add(done, transferred), b.block)
    b.branch(head)
    b.position_at_end(end)
    b.ret_void()
    return function


def _end(b: Builder, system: ir.Value, machine: str, code: int) -> None:
    b.call(_system(system), [I64(code), I64(0), I64(0), I64(_EXIT[machine])])


def _system(pointer: ir.Value) -> ir.Callee:
    return ir.Callee(ir.FunctionType(I64, [I64, I64, I64, I64]), pointer.text)
