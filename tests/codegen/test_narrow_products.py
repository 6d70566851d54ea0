"""Products of 16-bit floats: within the rounding of float32 sums, whatever the types, the sizes and the machine.

Products of two 16-bit floats are exact in float32, so that a sum of k of them is off by the rounding of k additions
alone, in whatever order: by k / 2**24 of the sum of their magnitudes. `vdpbf16ps` rounds each addition like any other,
but takes numbers below 2**-126 for zeros, operands and sums alike: k of these at most.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.codegen.llvm.compile import assembly_of
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.deploy.compiled import compiled_for
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model
from ingot.loops.ir import Attention, Contraction, Kernel, PairDot, Winograd, kernels_in, nests_in
from ingot.loops.parametrise import parametrise
from ingot.providers.cpu import Cpu
from ingot.schedule.target import Dot, named

NUMPY: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float": np.float32}
PAIRS = (("bfloat16", "bfloat16"), ("float16", "float16"), ("float", "float16"), ("bfloat16", "float"))
HERE = [name for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4") if host().machine == "x86_64"]
"""Targets without an instruction for pairs, whose code this machine runs where its vectors are long enough."""
SIZES = ((1, 1, 1), (3, 5, 7), (13, 4, 16), (17, 31, 33), (30, 64, 80), (1, 197, 130), (65, 3, 2), (7, 301, 50))


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_DEBUG", "1")


def product(left: str, right: str, sizes: tuple[str, str] = ("m, k", "k, n")) -> Model:
    """A product of operands of two types, which the standard sums in float32."""
    inputs = f"{left}[{sizes[0]}] a, {right}[{sizes[1]}] b"
    body = "x = Cast <to=1> (a) w = Cast <to=1> (b) y = MatMul (x, w)"
    return parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => (float[?, ?] y) {{ {body} }}')


def with_constant(model: Model, name: str, array: Any) -> Model:
    """The model with a constant in the place of an input."""
    changed = model.copy()
    inputs_to_initializers(changed, {name: array})
    return changed


def floats(kind: str, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)).astype(NUMPY[kind])


def assert_near(y: Any, a: Any, b: Any) -> None:
    wide, other = a.astype(np.float64), b.astype(np.float64)
    terms = a.shape[-1]
    error = np.abs(y.astype(np.float64) - wide @ other)
    bound = terms * 2.0**-24 * (np.abs(wide) @ np.abs(other)) + terms * 2.0**-126
    assert y.dtype == np.float32
    assert (error <= bound).all(), (error / bound).max()


def scheduled(session: Session) -> list[Kernel]:
    assert session.compiled is not None
    assert not session.compiled.program.calls
    return list(kernels_in(session.compiled.scheduled.steps))


def has_pairs(session: Session) -> bool:
    products = [nest for kernel in scheduled(session) for nest in nests_in(kernel) if isinstance(nest, Contraction)]
    return any(nest.tile is not None and isinstance(nest.tile.dot, PairDot) for nest in products)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_every_pair_of_types_and_every_size_is_summed_in_float32(left: str, right: str, threads: int) -> None:
    session = Session(product(left, right), providers=("cpu",), fallback=False, threads=threads)
    assert has_pairs(session) is (left == right == "bfloat16" and Dot.AVX512_BF16 in host().dots)
    for m, k, n in SIZES:
        a, b = floats(left, (m, k), 1), floats(right, (k, n), 2)
        assert_near(session.run(None, {"a": a, "b": b})[0], a, b)


@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("shape", [(1, 197, 130), (17, 31, 33), (20, 66, 50)])
def test_constant_weights_are_packed_in_16_bits(left: str, right: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = floats(left, (m, k), 1), floats(right, (k, n), 2)
    model = with_constant(product(left, right, (f"{m}, {k}", f"{k}, {n}")), "b", b)
    session = Session(model, providers=("cpu",), fallback=False)
    assert_near(session.run(None, {"a": a})[0], a, b)
    (nest,) = [nest for kernel in scheduled(session) for nest in kernel.nests if isinstance(nest, Contraction)]
    assert nest.packed
    assert session.compiled is not None
    largest = max(array.nbytes for _, array in session.compiled.plan.memory)
    assert nest.tile is not None
    dot = nest.tile.dot
    terms = 2 * dot.units if isinstance(dot, PairDot) else 1
    columns, depth = -(-n // nest.tile.columns) * nest.tile.columns, -(-k // terms) * terms
    assert largest == columns * depth * np.dtype(NUMPY[right]).itemsize


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_products_in_16_bits_round_their_sums_once(kind: str) -> None:
    inputs = f"{kind}[m, k] a, {kind}[k, n] b"
    text = f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => (y) {{ y = MatMul (a, b) }}'
    session = Session(parse_model(text), providers=("cpu",), fallback=False)
    a, b = floats(kind, (17, 33), 1), floats(kind, (33, 40), 2)
    y = session.run(None, {"a": a, "b": b})[0]
    exact = a.astype(np.float64) @ b.astype(np.float64)
    step = {"bfloat16": 2.0**-8, "float16": 2.0**-11}[kind]
    sums = 33 * 2.0**-24 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
    assert (np.abs(y.astype(np.float64) - exact) <= (np.abs(exact) + sums) * step + sums).all()


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_infinities_and_nans_reach_the_sums_that_read_them_alone(kind: str) -> None:
    a, b = floats(kind, (9, 33), 1), floats(kind, (33, 20), 2)
    a[3, 32], a[5, 0], b[7, 4] = np.inf, np.nan, -np.inf  # the last of a row is a pair's half
    session = Session(product(kind, kind), providers=("cpu",), fallback=False)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    y = session.run(None, {"a": a, "b": b})[0]
    for test in (np.isnan, np.isposinf, np.isneginf):
        np.testing.assert_array_equal(test(y), test(expected))


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_matrices_in_stacks_and_transposed_ones_are_multiplied(kind: str) -> None:
    inputs = f"{kind}[s, m, k] a, {kind}[s, n, k] b"
    body = "t = Transpose <perm = [0, 2, 1]> (b) x = Cast <to=1> (a) w = Cast <to=1> (t) y = MatMul (x, w)"
    text = f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => (y) {{ {body} }}'
    session = Session(parse_model(text), providers=("cpu",), fallback=False)
    assert scheduled(session)
    a, b = floats(kind, (3, 9, 21), 1), floats(kind, (3, 18, 21), 2)
    assert_near(session.run(None, {"a": a, "b": b})[0], a, b.transpose(0, 2, 1))


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("target", HERE)
def test_machines_without_an_instruction_for_pairs_widen_them(target: str, kind: str) -> None:
    if named(target).vector > host().vector:
        pytest.skip("its vectors are longer than those of this machine")
    session = Session(product(kind, kind), providers=(Cpu(named(target)),), fallback=False, threads=1)
    assert not has_pairs(session)
    for m, k, n in ((3, 5, 7), (17, 150, 33)):
        a, b = floats(kind, (m, k), 1), floats(kind, (k, n), 2)
        assert_near(session.run(None, {"a": a, "b": b})[0], a, b)


INSTRUCTIONS = {
    ("x86-64-v3", "float16"): "vcvtph2ps",
    ("x86-64-v4", "bfloat16"): "vfmadd",
    ("x86-64-v4+bf16", "bfloat16"): "vdpbf16ps",
    ("x86-64-v4+bf16", "float16"): "vcvtph2ps",
    ("aarch64", "float16"): "fcvtl",
    ("aarch64+i8mm", "bfloat16"): "bfdot",
    ("wasm32", "bfloat16"): "f32x4.mul",
}


@pytest.mark.parametrize(("target", "kind"), INSTRUCTIONS)
def test_the_best_instruction_of_a_target_multiplies(target: str, kind: str) -> None:
    machine = named(target)
    kernel = next(kernels_in(compiled_for(product(kind, kind), machine).scheduled.steps))
    assert INSTRUCTIONS[target, kind] in assembly_of(emit(parametrise(kernel).kernel, machine).text, machine)


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], str]] = {
    "1 x 1": ((2, 24, 5, 6), (20, 24, 1, 1), ""),
    "by Winograd's algorithm": ((1, 32, 40, 40), (32, 32, 3, 3), "<pads = [1, 1, 1, 1]>"),
    "strided": ((2, 3, 15, 14), (9, 3, 5, 3), "<pads = [2, 0, 1, 1], strides = [2, 3]>"),
    "of odd channels": ((1, 33, 9, 8), (17, 33, 3, 3), "<pads = [1, 1, 1, 1], strides = [2, 2]>"),
    "one axis": ((1, 6, 30), (10, 6, 7), "<pads = [3, 3]>"),
    "in groups": ((1, 12, 7, 7), (18, 4, 3, 3), "<group = 3, pads = [1, 1, 1, 1]>"),
    "depthwise": ((1, 18, 8, 9), (18, 1, 3, 3), "<group = 18, pads = [1, 1, 1, 1], strides = [2, 2]>"),
}


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_within_the_rounding_of_their_sums(name: str, kind: str) -> None:
    """Both sums are off by the rounding of their additions; transforms of Winograd's algorithm add as much again.

    Matrices of bfloat16 are multiplied faster directly than what Winograd's algorithm leaves of the products.
    """
    x_shape, w_shape, attributes = CONVOLUTIONS[name]
    inputs = f"{kind}{list(x_shape)} x, {kind}{list(w_shape)} w"
    body = f"a = Cast <to=1> (x) b = Cast <to=1> (w) y = Conv {attributes} (a, b)"
    model = parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => (y) {{ {body} }}')
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype(NUMPY[kind]) for shape in (x_shape, w_shape))
    session = Session(with_constant(model, "w", w), providers=("cpu",), fallback=False)
    nests = [nest for kernel in scheduled(session) for nest in kernel.nests]
    transformed = any(isinstance(nest, Winograd) for nest in nests)
    has_matrices = kind == "bfloat16" and Dot.AMX_BF16 in host().dots
    assert transformed is (name == "by Winograd's algorithm" and not has_matrices)
    reference = Session(model, providers=("reference",))
    expected = reference.run(None, {"x": x, "w": w})[0]
    magnitudes = reference.run(None, {"x": np.abs(x), "w": np.abs(w)})[0]
    terms = int(np.prod(w_shape[1:]))
    error = np.abs(session.run(None, {"x": x})[0] - expected)
    assert (error <= (4 if transformed else 2) * terms * 2.0**-24 * magnitudes).all()


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_attention_reads_16_bit_queries_keys_and_values_as_they_are(kind: str) -> None:
    inputs = ", ".join(f"{kind}[2, 3, 37, 40] {name}" for name in "qkv")
    casts = " ".join(f"{name}f = Cast <to=1> ({name})" for name in "qkv")
    body = f"{casts} t = Transpose <perm = [0, 1, 3, 2]> (kf) s = MatMul (qf, t) w = Softmax (s) y = MatMul (w, vf)"
    text = f'<ir_version: 11, opset_import: ["" : 23]> g ({inputs}) => (y) {{ {body} }}'
    session = Session(parse_model(text), providers=("cpu",), fallback=False)
    (kernel,) = scheduled(session)
    assert isinstance(kernel.nests[0], Attention)
    rng = np.random.default_rng(4)
    feeds = {name: rng.standard_normal((2, 3, 37, 40)).astype(NUMPY[kind]) for name in "qkv"}
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    scores = np.exp(q @ k.swapaxes(-1, -2))
    expected = scores / scores.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(session.run(None, feeds)[0], expected, rtol=1e-5, atol=1e-5)
