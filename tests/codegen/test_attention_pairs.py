"""Attention of bfloat16: pairs are multiplied where an instruction does that, and results are as near as these allow.

A weight that is rounded is off by 2**-9 of itself at most, and so is the sum of weights: a mean is off by 2**-8 of the
mean of magnitudes. Scores are sums of exact products in float32.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from codegen.programs import outputs
from ingot import Session, parse_model
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.deploy.compiled import compiled_for
from ingot.deploy.program import program
from ingot.ir.model import Model
from ingot.loops.ir import Attention, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.schedule.attention import BLOCK
from ingot.schedule.target import Dot, named

BF16: Any = ml_dtypes.bfloat16
OPERATOR = "y = Attention <scale = 0.125> (q, k, v)"
OPERATORS = (
    "t = Transpose <perm = [0, 1, 3, 2]> (k) a = MatMul (q, t) s = Mul (a, eighth) p = Softmax (s) y = MatMul (p, v)"
)
WIDE = (
    "qf = Cast <to = 1> (q) kf = Cast <to = 1> (k) vf = Cast <to = 1> (v) t = Transpose <perm = [0, 1, 3, 2]> (kf) "
    "a = MatMul (qf, t) e = Cast <to = 1> (eighth) s = Mul (a, e) p = Softmax (s) y = MatMul (p, vf)"
)
BODIES = {"one operator": OPERATOR, "operators": OPERATORS, "weights in float32": WIDE}
SIZES = (
    (2, 2, 5, 1, 8, 16), (1, 2, 12, 31, 7, 5), (1, 3, 13, 50, 40, 33), (2, 1, 30, BLOCK + 1, 33, 20),
    (1, 2, 25, 2 * BLOCK + 33, 64, 64), (1, 1, 14, BLOCK, 1, 1),
)  # fmt: skip
"""Batch, heads, queries, keys, depth and columns: of odd and even numbers, of one block and of several."""


def model(body: str, depth: int, columns: int) -> Model:
    kind = "float" if body is WIDE else "bfloat16"
    inputs = f"bfloat16[b, h, m, {depth}] q, bfloat16[b, h, t, {depth}] k, bfloat16[b, h, t, {columns}] v"
    head = f'<ir_version: 13, opset_import: ["" : 23]> g ({inputs}) => ({kind}[b, h, m, {columns}] y)'
    return parse_model(f"{head} <bfloat16 eighth = {{15872}}> {{ {body} }}")


def feeds(sizes: tuple[int, ...]) -> dict[str, Any]:
    b, h, m, t, d, w = sizes
    rng = np.random.default_rng(m * 1000 + t)
    shapes = {"q": (b, h, m, d), "k": (b, h, t, d), "v": (b, h, t, w)}
    return {name: (rng.standard_normal(shape) * 2).astype(BF16) for name, shape in shapes.items()}


def assert_near(result: Any, given: dict[str, Any], rounds: bool) -> None:
    q, k, v = (given[name].astype(np.float64) for name in "qkv")
    scores = q @ k.swapaxes(-1, -2) / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    shares = weights / weights.sum(-1, keepdims=True)
    expected, magnitudes = shares @ v, shares @ np.abs(v)
    off = np.abs(result.astype(np.float64) - expected)
    bound = 1e-5 * magnitudes + ((2**-8 * magnitudes + 2**-8 * np.abs(expected)) if rounds else 0)
    assert (off <= bound).all(), (off / bound).max()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_any_number_of_queries_keys_and_elements(body: str, threads: int) -> None:
    for sizes in SIZES:
        session = Session(model(body, *sizes[4:]), providers=("cpu",), fallback=False, threads=threads)
        assert session.compiled is not None
        (nest,) = (n for kernel in kernels_in(session.compiled.scheduled.steps) for n in kernel.nests)
        assert isinstance(nest, Attention)
        here = Dot.AVX512_BF16 in host().dots and Dot.AMX_BF16 not in host().dots
        assert [dot is not None for dot in nest.dots] == [here, here and body is not WIDE]
        given = feeds(sizes)
        assert_near(session.run(None, given)[0], given, body is not WIDE)


def test_infinite_scores_and_values_are_what_they_are_in_float32() -> None:
    given = feeds((1, 1, 14, 21, 16, 16))
    given["q"][0, 0, 0, :2] = np.inf, 1
    given["q"][0, 0, 1, 3] = np.nan
    given["v"][0, 0, 20, 5] = np.inf
    given["v"][0, 0, 20, 6] = np.nan
    exact = Session(model(OPERATOR, 16, 16), providers=("reference",)).run(None, given)[0].astype(np.float32)
    result = Session(model(OPERATOR, 16, 16), providers=("cpu",), fallback=False).run(None, given)[0].astype(np.float32)
    assert np.isnan(exact[0, 0, :2]).all()
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    np.testing.assert_array_equal(np.isinf(result), np.isinf(exact))


@pytest.mark.parametrize(
    ("target", "instruction"), [("x86-64-v4+bf16", "vdpbf16ps"), ("aarch64+i8mm", "bfdot"), ("x86-64-v4", None)]
)
def test_the_instruction_of_a_target_multiplies(target: str, instruction: str | None) -> None:
    machine = named(target)
    kernel = next(kernels_in(compiled_for(model(OPERATOR, 64, 64), machine).scheduled.steps))
    (nest,) = kernel.nests
    assert isinstance(nest, Attention)
    assert [dot is not None for dot in nest.dots] == [instruction is not None] * 2
    text = emit(parametrise(kernel).kernel, machine).text
    assert ("dpbf16ps" in text or "bfdot" in text) is (instruction is not None)


@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="qemu-aarch64 is not installed: Debian's qemu-user")
def test_pairs_of_aarch64(tmp_path: Path) -> None:
    given = feeds((1, 2, 13, 31, 7, 21))
    shapes = {name: array.shape for name, array in given.items()}
    made = program(model(OPERATOR, 7, 21), named("aarch64+i8mm"), shapes)
    (found,) = outputs(made, given, tmp_path, [str(shutil.which("qemu-aarch64")), "-cpu", "max"])
    assert_near(found, given, True)
