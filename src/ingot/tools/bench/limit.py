"""The processor's limits on arithmetic, measured: multiply-adds in registers, nothing else."""

# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import perf_counter

import llvmlite.binding as llvm
from llvmlite import ir

WIDTHS = (4, 8, 16)
"""Elements of a vector; the widest that the processor has wins, those it does not have are slower."""
CHAINS = 12
"""Additions that do not wait for each other: more than any processor's latency times its units."""
BURST = 0.02
BURSTS = 8


def fma_limit(cores: Sequence[int]) -> float:
    """Float32 operations a second that a multiply-add loop reaches on each of `cores` at once, two for each one."""
    return max(2.0 * width * _instructions(_loop(width), cores) for width in WIDTHS)


def byte_limit(cores: Sequence[int]) -> float | None:
    """Operations a second of a loop of multiply-adds of bytes, on each of `cores` at once: two for each of four terms.

    None for a processor without `vpdpbusd`.
    """
    if not llvm.get_host_cpu_features().get("avx512vnni", False):
        return None
    return 2.0 * 4 * 16 * _instructions(_loop(16, of_bytes=True), cores)


def _instructions(module: ir.Module, cores: Sequence[int]) -> float:
    """How many instructions a second a loop runs, on each of `cores` at once."""
    engine, loop = _compiled(module)
    steps = _calibrated(loop)
    best = max(CHAINS * steps * len(cores) / max(_together(loop, steps, cores)) for _ in range(BURSTS))
    del engine
    return best


def _together(loop: Callable[[int, float, float], float], steps: int, cores: Sequence[int]) -> list[float]:
    """The seconds of a loop on each core, all started together."""
    barrier = Barrier(len(cores))

    def timed(core: int) -> float:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, [core])  # of this thread
        barrier.wait()
        started = perf_counter()
        loop(steps, 0.5, 0.25)
        return perf_counter() - started

    with ThreadPoolExecutor(len(cores)) as pool:
        return list(pool.map(timed, cores))


def _calibrated(loop: Callable[[int, float, float], float]) -> int:
    """The steps that take about a burst."""
    steps = 1 << 12
    while True:
        started = perf_counter()
        loop(steps, 0.5, 0.25)
        if (seconds := perf_counter() - started) > BURST / 8:
            return max(int(steps * BURST / seconds), 1)
        steps *= 4


def _compiled(source: ir.Module) -> tuple[llvm.ExecutionEngine, Callable[[int, float, float], float]]:
    """The loop as machine code of this processor, and the engine that must outlive it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=f"{features},-prefer-256-bit" if "+avx512f" in features else features,
        opt=2,
    )
    module = llvm.parse_assembly(str(source))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float, ctypes.c_float)
    return engine, kind(engine.get_function_address("loop"))


def _loop(width: int, of_bytes: bool = False) -> ir.Module:
    """`for each step: every sum = sum · a + b`, or `sum + a · b` of bytes.

    The total is returned, so that nothing can be left out.
    """
    number, vector, count = ir.FloatType(), ir.VectorType(ir.FloatType(), width), ir.IntType(64)
    kind = ir.VectorType(ir.IntType(32), width) if of_bytes else vector
    module = ir.Module("limit")
    name = f"llvm.x86.avx512.vpdpbusd.{32 * width}" if of_bytes else f"llvm.fma.v{width}f32"
    instruction = ir.Function(module, ir.FunctionType(kind, [kind] * 3), name)
    function = ir.Function(module, ir.FunctionType(number, [count, number, number]), "loop")
    steps, a, b = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    factors = [_splat(builder, x, vector) for x in (a, b)]
    factor, addend = (builder.bitcast(x, kind) for x in factors) if of_bytes else factors
    entry, body, end = builder.block, function.append_basic_block("body"), function.append_basic_block("end")
    builder.branch(body)
    builder.position_at_end(body)
    step = builder.phi(count)
    sums = [builder.phi(kind) for _ in range(CHAINS)]
    new = [builder.call(instruction, [total, factor, addend]) for total in sums]
    following = builder.add(step, count(1))
    step.add_incoming(count(0), entry)
    step.add_incoming(following, body)
    for index, (total, updated) in enumerate(zip(sums, new, strict=True)):
        total.add_incoming(ir.Constant(kind, [ir.Constant(kind.element, index)] * width), entry)
        total.add_incoming(updated, body)
    builder.cbranch(builder.icmp_signed("<", following, steps), body, end)
    builder.position_at_end(end)
    whole = new[0]
    for total in new[1:]:
        whole = builder.add(whole, total) if of_bytes else builder.fadd(whole, total)
    first = builder.extract_element(whole, ir.IntType(32)(0))
    builder.ret(builder.bitcast(first, number) if of_bytes else first)
    return module


def _splat(builder: ir.IRBuilder, x: ir.Value, vector: ir.VectorType) -> ir.Value:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, x, ir.IntType(32)(0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, lanes)
