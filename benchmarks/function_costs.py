"""What functions of elements take, in elementwise operations: the numbers in `ingot.loops.function_costs`.

    python -m benchmarks.function_costs [ROUNDS]

Each is measured in a vectorised loop over arrays in the first-level cache, less a loop that only copies them. An
elementwise operation is a multiplication or an addition, of which a chain is measured in the same way.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

from ingot.codegen.llvm.host import host
from ingot.dtypes import DType
from ingot.loops.function_costs import COSTS
from ingot.loops.ir import Apply, Buffer, For, Index, Kernel, Kind, Literal, Load, Scalar, Store, Var
from ingot.prim.functions import FUNCTIONS
from ingot.providers.cpu.code import emit_kernel, link_kernel

FLOAT = DType.FLOAT32
LENGTH, STEPS, REPEATED = 1024, 64, 16
"""Elements that are computed at a time, from one of so many places on, so often: 8 KiB are read, and 4 written."""
CHAIN = 32
"""Multiplications, each with an addition after it, that are measured together."""
LIMITED = {"asin": (-1, 1), "acos": (-1, 1), "atanh": (-0.9, 0.9), "acosh": (1, 9), "log": (0.1, 9), "log1p": (0, 9)}
"""Where functions are measured that are not defined everywhere; others between -4 and 4."""
FLOATS = [name for name in FUNCTIONS if name not in ("and", "or", "xor", "not", "invert", "shift_left", "shift_right")]


def main(rounds: int) -> None:
    loops = {name: _loop(_applied(name), *LIMITED.get(name, (-4, 4))) for name in FLOATS}
    copy, chain = _loop(lambda x: x), _loop(_chain)
    best = {run: float("inf") for run in (copy, chain, *loops.values())}
    for _ in range(rounds):
        for run in best:
            best[run] = min(best[run], run())
    operation = (best[chain] - best[copy]) / (2 * CHAIN)
    elements = LENGTH * STEPS * REPEATED
    print(f"{host().cpu}, {host().vector} bytes: a copy {best[copy] / elements * 1e9:.3f} ns an element,", end=" ")
    print(f"an operation {operation / elements * 1e9:.4f} ns")
    for name, run in loops.items():
        print(f"{name:14} {(best[run] - best[copy]) / operation:6.1f}   in the table {COSTS.get(name, 1)}")


def _applied(name: str) -> Callable[[Scalar], Scalar]:
    function = FUNCTIONS[name]

    def value(x: Scalar) -> Scalar:
        if name == "where":
            return Apply(FLOAT, name, (Apply(DType.BOOL, "less", (x, Literal(FLOAT, 0.0))), x, Literal(FLOAT, 1.3)))
        if function.result == "bool":
            truth = Apply(DType.BOOL, name, (x, Literal(FLOAT, 1.3))[: function.arity])
            return Apply(FLOAT, "cast", (truth,))
        return Apply(FLOAT, name, (x, Literal(FLOAT, 1.3))[: function.arity])

    return value


def _chain(x: Scalar) -> Scalar:
    value = x
    for _ in range(CHAIN):
        value = Apply(FLOAT, "add", (Apply(FLOAT, "multiply", (value, x)), Literal(FLOAT, 0.3)))
    return value


def _loop(function: Callable[[Scalar], Scalar], low: float = -4, high: float = 4) -> Callable[[], float]:
    """A function that runs a loop over a function once, and returns the seconds that it took."""
    x, y = Buffer("x", FLOAT, LENGTH + 16 * STEPS), Buffer("y", FLOAT, LENGTH)
    again, step, element = Var("again", REPEATED), Var("step", STEPS), Var("element", LENGTH)
    value = function(Load(FLOAT, x, Index(((step, 16), (element, 1)))))
    inner = For(element, (Store(y, Index(((element, 1),)), value),), Kind.VECTOR)
    code = link_kernel(emit_kernel(Kernel("measured", ((For(again, (For(step, (inner,)),)),),), (x,), (y,)), host()))
    arrays = {
        x: np.random.default_rng(0).uniform(low, high, LENGTH + 16 * STEPS).astype(np.float32),
        y: np.zeros(LENGTH, np.float32),
    }
    slots = np.array([arrays[buffer].ctypes.data for buffer in code.buffers])
    which = np.arange(len(slots), dtype=np.int32)
    sizes = np.array([int(size) for size in code.scalars if isinstance(size, int)], np.int64)
    state = np.zeros(16, np.int32)
    native = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4, *[ctypes.c_int64] * 3)(code.code.address)
    tables = (slots, which, sizes, state)
    kept = (arrays, code)  # what `slots` and `native` point into

    def run(_: object = kept) -> float:
        pointers = [table.ctypes.data for table in tables]
        start = perf_counter()
        native(*pointers, 0, 0, 1)
        return perf_counter() - start

    return run


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 50)
