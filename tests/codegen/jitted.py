"""Functions of the vector mathematics, jitted for the host as loops over arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.compile import code_of, load
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import ENTRY
from ingot.codegen.llvm.math import FUNCTIONS
from ingot.codegen.llvm.types import PTR

Array = NDArray[Any]
Real: TypeAlias = type[np.floating[Any]]
COUNT = ir.IntType(64)
LANES: dict[Real, ir.Type] = {np.float16: ir.HalfType(), np.float32: ir.FloatType(), np.float64: ir.DoubleType()}


_CALLS: dict[tuple[str, Real, int, bool], Callable[..., Array]] = {}


def jitted(name: str, dtype: Real, lanes: int, fma: bool = True) -> Callable[..., Array]:
    """The function of as many arrays as it takes, `lanes` elements at a time; 0 stands for scalars.

    Without `fma` it is made for machines that have no instruction which multiplies and adds at once.
    """
    key = name, dtype, lanes, fma
    if key not in _CALLS:
        _CALLS[key] = _call(*key)
    return _CALLS[key]


def filler(name: str, dtype: Real, lanes: int, fma: bool = True) -> Any:
    """A function of the addresses of input arrays and of an output array, and their count, a multiple of `lanes`."""
    code = load(code_of(str(looped(name, dtype, lanes, fma)), host()), host())
    arity = FUNCTIONS[name].arity
    native: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)(code.address)
    native.owner = code.owner
    return native


def looped(name: str, dtype: Real, lanes: int, fma: bool = True) -> ir.Module:
    """A module with an entry of input arrays, an output array and a count."""
    function, lane = FUNCTIONS[name], LANES[dtype]
    size = np.dtype(dtype).itemsize
    kind = ir.VectorType(lane, lanes) if lanes else lane
    module = ir.Module(ENTRY)
    module.triple, module.fma, module.vector = host().triple, fma, host().vector
    signature = ir.FunctionType(ir.VoidType(), [PTR] * (function.arity + 1) + [COUNT])
    entry = ir.Function(module, signature, ENTRY)
    *inputs, output, count = entry.args
    b = Builder(entry.append_basic_block("entry"))
    before, body, end = b.block, entry.append_basic_block("body"), entry.append_basic_block("end")
    b.branch(body)
    b.position_at_end(body)
    i = b.phi(COUNT)
    values = [b.load(b.gep(x, [i], source_etype=lane), typ=kind, align=size) for x in inputs]
    b.store(function.emit(b, *values), b.gep(output, [i], source_etype=lane), align=size)
    following = b.add(i, COUNT(max(lanes, 1)))
    i.add_incoming(COUNT(0), before)
    i.add_incoming(following, b.block)
    b.cbranch(b.icmp_signed("<", following, count), body, end)
    b.position_at_end(end)
    b.ret_void()
    return module


def _call(name: str, dtype: Real, lanes: int, fma: bool) -> Callable[..., Array]:
    native, step = filler(name, dtype, lanes, fma), max(lanes, 1)

    def call(*arrays: Array) -> Array:
        count = arrays[0].size
        padding: Array = np.ones(-count % step, dtype)
        inputs = [np.concatenate([array, padding]) for array in arrays]
        output: Array = np.empty(inputs[0].size, dtype)
        native(*(array.ctypes.data for array in (*inputs, output)), output.size)
        return output[:count]

    return call
