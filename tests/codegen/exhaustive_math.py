"""By hand: the worst error of functions over all 2^32 float32, and many float64, with the time they take.

`python tests/codegen/exhaustive_math.py exp tanh` prints rows of the table in docs/vector-math.md; without names, for
every function; with `--sample` in seconds, of some million float32. The true float32 results are those of the float64
functions, which are compared with long double arithmetic, of 64 bits, or with mpmath.
"""

from __future__ import annotations

import ctypes
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from codegen.jitted import Real, filler, jitted, looped
from codegen.references import exact, wide
from codegen.samples import arguments
from codegen.ulps import errors, exact_error
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.compile import assembly_of, code_of, load
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import ENTRY
from ingot.codegen.llvm.math import FUNCTIONS, Function
from ingot.codegen.llvm.math.lanes import Floats, Ints, splat
from ingot.codegen.llvm.types import PTR

Array = NDArray[Any]
LANES, CHUNK = 8, 1 << 26
I64, F64 = ir.IntType(64), ir.DoubleType()
RANGES = {
    "log": (0.01, 10.0),
    "rsqrt": (0.01, 10.0),
    "sqrt": (0.01, 10.0),
    "asin": (-1, 1),
    "exp_nonpositive": (-10, 0),
}
RANGES |= {
    "acos": (-1, 1),
    "atanh": (-1, 1),
    "acosh": (1, 10),
    "log2": (0.01, 10),
    "log1p": (-0.9, 10),
    "pow": (0.1, 5),
}


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--sample"]
    for name in names or FUNCTIONS:
        function = FUNCTIONS[name]
        if function.arity == 1 and "--sample" not in sys.argv:
            _print(name, np.float32, function.ulp_32, _over_all(name))
        else:
            _print(name, np.float32, function.ulp_32, _over_sample(name, np.float32, np.float64))
        _print(name, np.float64, function.ulp_64, _over_sample(name, np.float64, np.longdouble))


def _print(name: str, dtype: Real, stated: float, found: tuple[float, str]) -> None:
    cells = [name, dtype.__name__, f"{stated:g}", f"{found[0]:.2f}", found[1], f"{_time(name, dtype):.2f}"]
    sys.stdout.write(f"| {' | '.join(cells)} | {_instructions(name, dtype)} |\n")
    sys.stdout.flush()


def _over_all(name: str) -> tuple[float, str]:
    """The worst error over all float32 in the domain, and where it is."""
    code = load(code_of(str(_search(name)), host()), host())
    native = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code.address)
    worst, at = np.zeros(LANES), np.zeros(LANES, np.int64)
    for start in range(1 << 31 if name == "exp_nonpositive" else 0, 1 << 32, CHUNK):
        native(worst.ctypes.data, at.ctypes.data, start, start + CHUNK)
    x = np.array(at[worst.argmax()], np.uint32).view(np.float32)
    return float(worst.max()), f"{x!s}"


def _search(name: str) -> ir.Module:
    """A module that looks through bit patterns from `start` to `end`, and keeps the worst error of each lane."""
    function = FUNCTIONS[name]
    vector, words = ir.VectorType(F64, LANES), ir.VectorType(I64, LANES)
    module = ir.Module()
    module.triple = host().triple
    signature = ir.FunctionType(ir.VoidType(), [PTR, PTR, I64, I64])
    entry = ir.Function(module, signature, ENTRY)
    worst_at, where_at, start, end = entry.args
    b = Builder(entry.append_basic_block())
    old, old_where = b.load(worst_at, vector, align=8), b.load(where_at, words, align=8)
    before, body, after = b.block, entry.append_basic_block(), entry.append_basic_block()
    b.branch(body)
    b.position_at_end(body)
    i, worst, where = b.phi(I64), b.phi(vector), b.phi(words)
    first = b.insert_element(splat(words, 0), i, ir.IntType(32)(0))
    index = b.add(
        b.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)),
        ir.Constant(words, list(range(LANES))),
    )
    x = Ints(b, index).resized(32).floats()
    got = Floats(b, function.emit(b, x.value)).widened()
    true = Floats(b, function.emit(b, x.widened().value))
    error = _error(function, x.widened(), got, true)
    worse = error > Floats(b, worst)
    new, new_where = error.select(worse, Floats(b, worst)), Ints(b, index).select(worse, Ints(b, where))
    following = b.add(i, I64(LANES))
    for phi, initial, later in ((i, start, following), (worst, old, new.value), (where, old_where, new_where.value)):
        phi.add_incoming(initial, before)
        phi.add_incoming(later, b.block)
    b.cbranch(b.icmp_signed("<", following, end), body, after)
    b.position_at_end(after)
    b.store(new.value, worst_at, align=8)
    b.store(new_where.value, where_at, align=8)
    b.ret_void()
    return module


def _error(function: Function, x: Floats, got: Floats, true: Floats) -> Floats:
    """`codegen.ulps.errors` for float32, as code."""
    size = abs(true)
    if function.unit == "half argument":
        size = (abs(x) * 0.5).select(x < 0.0, size)
    if function.unit == "factor":
        least = abs(x) * 2.0**-126
        size = size.select(size > least, least)
    size = size.at_most(float(np.finfo(np.float32).max)).at_least(2.0**-126)
    unit = (size.bits() & (0x7FF << 52)).floats() * 2.0**-23
    limit = 2.0**128
    error = abs(got.at_most(limit).at_least(-limit) - true.at_most(limit).at_least(-limit)) / unit
    error = error.select(~error.is_nan(), np.inf)
    return error.const(0.0).select(got.is_nan() & true.is_nan(), error)


def _over_sample(name: str, dtype: Real, kind: Real) -> tuple[float, str]:
    """The worst error over a sample, and where it is."""
    function = FUNCTIONS[name]
    xs = arguments(name, dtype, 500 if dtype is np.float64 else 4000, 200_000)
    if kind is np.longdouble and (name in ("erf", "gelu") or np.finfo(kind).nmant < 63):
        pick = np.random.default_rng(0).integers(0, xs[0].size, 60_000)
        xs = [x[pick] for x in xs]
        ordinary = np.logical_and.reduce([np.isfinite(x) & (x != 0) for x in xs]) & ~np.isnan(wide(name, *xs))
        xs = [x[ordinary] for x in xs]
        got = jitted(name, dtype, 8)(*xs).tolist()
        points = list(zip(*(x.tolist() for x in xs), strict=True))
        error = np.array([exact_error(function, at[0], y, exact(name, *at)) for at, y in zip(points, got, strict=True)])
    else:
        error = errors(function, xs[0], jitted(name, dtype, 8)(*xs), wide(name, *xs, kind=kind))
    worst = int(error.argmax())
    return float(error[worst]), ", ".join(f"{x[worst]!s}" for x in xs)


def _time(name: str, dtype: Real) -> float:
    """Nanoseconds an element, on arrays that fit the first cache; the time of the call itself is taken off."""
    lanes = host().lanes(np.dtype(dtype).itemsize)
    native, rng = filler(name, dtype, lanes), np.random.default_rng(0)
    count = 16384 // np.dtype(dtype).itemsize // (FUNCTIONS[name].arity + 1) // lanes * lanes
    arrays = [rng.uniform(*RANGES.get(name, (-5, 5)), count).astype(dtype) for _ in range(FUNCTIONS[name].arity)]
    arrays.append(np.empty(count, dtype))
    addresses = [array.ctypes.data for array in arrays]
    best = {count: np.inf, lanes: np.inf}
    for _ in range(3000):
        for size in best:
            begin = time.perf_counter()
            native(*addresses, size)
            best[size] = min(best[size], time.perf_counter() - begin)
    return (best[count] - best[lanes]) / (count - lanes) * 1e9


def _instructions(name: str, dtype: Real) -> int:
    """The vector instructions but loads, stores and moves, of the loop; without the block that reduces huge angles."""
    module = looped(name, dtype, host().lanes(np.dtype(dtype).itemsize))
    _, *blocks = re.split(r"^\.LBB.*:", assembly_of(str(module), host()), flags=re.MULTILINE)
    counts = [len(re.findall(r"^\tv(?!mov|zeroupper|broadcast)", block, re.MULTILINE)) for block in blocks]
    return sum(counts) - (max(counts) if name in ("sin", "cos", "tan") else 0)


if __name__ == "__main__":
    main()
