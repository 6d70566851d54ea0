"""Products of bytes: equal to the reference bit by bit, whatever the signs, the zero points, the sizes, the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.codegen.llvm.compile import assembly_of
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.deploy.compiled import compiled_for
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.loops.ir import Contraction, Kernel, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.providers.cpu import Cpu
from ingot.schedule.target import Dot, named

SIGNS = ("uint8", "int8")
HERE = [name for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4") if host().machine == "x86_64"]
"""Targets without an instruction for bytes, whose code this machine runs where its vectors are long enough."""


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_DEBUG", "1")


def product(left: str, right: str, sizes: tuple[str, str], body: str = "y = MatMulInteger (a, b, p, q)") -> Model:
    inputs = f"{left}[{sizes[0]}] a, {right}[{sizes[1]}] b, {left}[1] p, {right}[n] q"
    return parse_model(f'<ir_version: 9, opset_import: ["" : 21]> g ({inputs}) => (y) {{ {body} }}')


def scheduled(session: Session) -> list[Kernel]:
    assert session.compiled is not None
    assert not session.compiled.program.calls
    return list(kernels_in(session.compiled.scheduled.steps))


def bytes_of(kind: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Random bytes, a quarter of them the extremes."""
    rng = np.random.default_rng(seed)
    limits = np.iinfo(kind)
    values = rng.integers(limits.min, limits.max + 1, shape)
    extreme = np.where(rng.random(shape) < 0.5, limits.min, limits.max)
    return np.where(rng.random(shape) < 0.25, extreme, values).astype(kind)


def expected(a: Any, b: Any, p: Any, q: Any) -> Any:
    return ((a.astype(np.int64) - p) @ (b.astype(np.int64) - q)).astype(np.int32)


def feeds(left: str, right: str, a: tuple[int, ...], b: tuple[int, ...], points: bool) -> dict[str, Any]:
    p, q = (
        (bytes_of(left, (1,), 7), bytes_of(right, b[-1:], 8)) if points else (np.zeros(1, left), np.zeros(b[-1], right))
    )
    return {"a": bytes_of(left, a, 1), "b": bytes_of(right, b, 2), "p": p, "q": q}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("left", SIGNS)
@pytest.mark.parametrize("right", SIGNS)
def test_every_sign_and_size_gives_the_sums_of_the_reference(left: str, right: str, points: bool, threads: int) -> None:
    session = Session(product(left, right, ("m, k", "k, n")), providers=("cpu",), fallback=False, threads=threads)
    assert scheduled(session)
    for m, k, n in ((1, 1, 1), (3, 5, 7), (13, 4, 16), (17, 31, 33), (30, 64, 80), (1, 97, 130), (65, 3, 1)):
        fed = feeds(left, right, (m, k), (k, n), points)
        np.testing.assert_array_equal(session.run(None, fed)[0], expected(**fed))


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("left", SIGNS)
@pytest.mark.parametrize("right", SIGNS)
@pytest.mark.parametrize("shape", [(3, 5, 7), (20, 66, 50)])
def test_constant_weights_are_packed_ahead(left: str, right: str, points: bool, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    fed = feeds(left, right, (m, k), (k, n), points)
    constants = ", ".join(
        f"{right if name != 'p' else left}[{', '.join(map(str, fed[name].shape))}] {name} = "
        f"{{{', '.join(map(str, fed[name].reshape(-1)))}}}"
        for name in ("b", "p", "q")
    )
    text = (
        f'<ir_version: 9, opset_import: ["" : 21]> g ({left}[m, {k}] a) => (y) <{constants}>'
        "{ y = MatMulInteger (a, b, p, q) }"
    )
    session = Session(parse_model(text), providers=("cpu",), fallback=False)
    (contraction,) = (nest for kernel in scheduled(session) for nest in kernel.nests if isinstance(nest, Contraction))
    assert contraction.is_of_bytes
    assert contraction.packed
    np.testing.assert_array_equal(session.run(None, {"a": fed["a"]})[0], expected(**fed))


@pytest.mark.parametrize("left", SIGNS)
def test_sums_that_overflow_wrap_around(left: str) -> None:
    k = 70000
    a, b = np.full((2, k), np.iinfo(left).max, left), np.full((k, 3), -128, np.int8)
    fed = {"a": a, "b": b, "p": np.array([np.iinfo(left).min], left), "q": np.full(3, 127, np.int8)}
    y = Session(product(left, "int8", ("m, k", "k, n")), providers=("cpu",), fallback=False).run(None, fed)[0]
    np.testing.assert_array_equal(y, expected(**fed))


@pytest.mark.parametrize("left", SIGNS)
@pytest.mark.parametrize("right", SIGNS)
def test_matrices_in_stacks_and_transposed_ones_are_multiplied(left: str, right: str) -> None:
    body = "t = Transpose <perm = [0, 2, 1]> (b) y = MatMulInteger (a, t, p, q)"
    session = Session(product(left, right, ("s, m, k", "s, n, k"), body), providers=("cpu",), fallback=False)
    assert scheduled(session)
    fed = feeds(left, right, (3, 9, 21), (3, 18, 21), points=False) | {"q": np.zeros(18, right)}
    wanted = expected(fed["a"], fed["b"].transpose(0, 2, 1), 0, 0)
    np.testing.assert_array_equal(session.run(None, fed)[0], wanted)


@pytest.mark.parametrize("left", SIGNS)
@pytest.mark.parametrize("target", HERE)
def test_machines_without_an_instruction_for_bytes_multiply_exactly(target: str, left: str) -> None:
    if named(target).vector > host().vector:
        pytest.skip("its vectors are longer than those of this machine")
    session = Session(
        product(left, "int8", ("m, k", "k, n")), providers=(Cpu(named(target)),), fallback=False, threads=1
    )
    assert scheduled(session)
    for m, k, n in ((3, 5, 7), (17, 32, 33)):
        fed = feeds(left, "int8", (m, k), (k, n), points=True)
        np.testing.assert_array_equal(session.run(None, fed)[0], expected(**fed))


INSTRUCTIONS = {
    "x86-64-v2": "pmaddwd",
    "x86-64-v3": "vpmaddwd",
    "x86-64-v4": "vpmaddwd",
    "x86-64-v4+vnni": "vpdpbusd",
    "aarch64": "mla",
    "aarch64+dotprod": "sdot",
    "aarch64+i8mm": "usdot",
    "wasm32": "i32x4.dot_i16x8_s",
}


@pytest.mark.parametrize("left", SIGNS)
@pytest.mark.parametrize("target", INSTRUCTIONS)
def test_the_best_instruction_of_a_target_multiplies(target: str, left: str) -> None:
    machine = named(target)
    artifacts = compiled_for(product(left, "int8", ("m, k", "k, n"), "y = MatMulInteger (a, b)"), machine)
    kernel = next(kernels_in(artifacts.scheduled.steps))
    assert INSTRUCTIONS[target] in assembly_of(emit(parametrise(kernel).kernel, machine).text, machine)


@pytest.mark.skipif(Dot.AVX512_VNNI not in host().dots, reason="this machine has no VNNI")
def test_this_machine_multiplies_four_bytes_at_once() -> None:
    session = Session(
        product("uint8", "int8", ("m, k", "k, n"), "y = MatMulInteger (a, b)"), providers=("cpu",), fallback=False
    )
    kernel = scheduled(session)[0]
    instruction = "tdpbusd" if Dot.AMX_INT8 in host().dots else "vpdpbusd"
    assert instruction in emit(parametrise(kernel).kernel, host()).text


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1 x 1": ((2, 24, 5, 6), (20, 24, 1, 1), {}),
    "3 x 3": ((1, 20, 9, 8), (17, 20, 3, 3), {"pads": [1, 1, 1, 1]}),
    "strided": ((2, 3, 15, 14), (9, 3, 5, 3), {"pads": [2, 0, 1, 1], "strides": [2, 3]}),
    "dilated": ((1, 34, 9, 9), (5, 34, 2, 3), {"dilations": [2, 2], "pads": [1, 1, 1, 1]}),
    "one axis": ((1, 6, 30), (10, 6, 7), {"pads": [3, 3]}),
    "in groups": ((1, 12, 7, 7), (18, 4, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    "depthwise": ((1, 18, 8, 9), (18, 1, 3, 3), {"group": 18, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
}


POINTS: dict[str, tuple[str, str, int | None, int | None]] = {
    "none of filters": ("uint8", "int8", 0, 0),
    "signed": ("int8", "int8", 3, -7),
    "in the middle": ("uint8", "uint8", 128, 128),
    "not in the middle": ("uint8", "uint8", 255, 7),
    "none": ("int8", "uint8", None, None),
}


def convolution(name: str, points: str, computed: bool) -> tuple[Model, dict[str, Any]]:
    """A ConvInteger and its inputs; its zero points are constants, or `computed` by who calls it."""
    x_shape, w_shape, attributes = CONVOLUTIONS[name]
    left, right, p, q = POINTS[points]
    arrays: dict[str, Any] = {"x": bytes_of(left, x_shape, 1), "w": bytes_of(right, w_shape, 2)}
    if p is not None:
        arrays |= {"p": np.array(p).astype(left), "q": np.array(q).astype(right)}
    constants = {} if computed else {name: arrays.pop(name) for name in ("p", "q") if name in arrays}
    kinds = ", ".join(f"{array.dtype}{list(array.shape)} {name}" for name, array in arrays.items())
    numbers = ", ".join(f"{array.dtype} {name} = {{{array}}}" for name, array in constants.items())
    written = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    text = (
        f'<ir_version: 9, opset_import: ["" : 21]> g ({kinds.replace("[] ", " ")}) => (y) <{numbers}>'
        f"{{ y = ConvInteger <{written}> ({', '.join(['x', 'w', *(['p', 'q'] if p is not None else [])])}) }}"
    )
    return parse_model(text.replace("<>", "")), arrays


@pytest.mark.parametrize(
    ("name", "computed"),
    [*((name, False) for name in CONVOLUTIONS), *((name, True) for name in ("3 x 3", "in groups", "depthwise"))],
)
@pytest.mark.parametrize("points", POINTS)
def test_convolutions_give_the_sums_of_the_reference(name: str, points: str, computed: bool) -> None:
    model, arrays = convolution(name, points, computed)
    session, reference = (Session(model, providers=(each,), fallback=False) for each in ("cpu", "reference"))
    assert scheduled(session)
    np.testing.assert_array_equal(session.run(None, arrays)[0], reference.run(None, arrays)[0])


@pytest.mark.parametrize("computed", [False, True], ids=["constant", "computed"])
@pytest.mark.parametrize("points", POINTS)
def test_convolutions_multiply_bytes_whatever_the_zero_points(points: str, computed: bool) -> None:
    model, _ = convolution("3 x 3", points, computed)
    kernels = scheduled(Session(model, providers=("cpu",), fallback=False))
    products = [nest for kernel in kernels for nest in kernel.nests if isinstance(nest, Contraction)]
    assert [product.is_of_bytes for product in products] == [True]


LINEAR = """g (uint8[m, {k}] a, {b}) => (uint8[m, 3] y)
    <float s = {{0.001}}, uint8 p = {{3}}, uint8 q = {{1}}, float r = {{100.0}}, uint8 z = {{100}}> {{
    y = QLinearMatMul (a, s, p, b, s, q, r, z) }}"""
DEQUANTISED = """g (uint8[m, k] a, uint8[k, 3] b) => (uint8[m, 3] y)
    <float s = {0.001}, uint8 p = {3}, uint8 q = {1}, float r = {100.0}, uint8 z = {100}> {
    c = DequantizeLinear (a, s, p) d = DequantizeLinear (b, s, q) e = MatMul (c, d) y = QuantizeLinear (e, r, z) }"""


def are_bytes(session: Session) -> bool:
    products = [nest for kernel in scheduled(session) for nest in kernel.nests if isinstance(nest, Contraction)]
    return bool(products) and all(product.lhs.dtype.bits == 8 for product in products)


def long_bytes(k: int, fill: int | None) -> dict[str, Any]:
    sides = {"a": (2, k), "b": (k, 3)}
    if fill is None:
        return {name: bytes_of("uint8", shape, k) for name, shape in sides.items()}
    return {name: np.full(shape, fill, np.uint8) for name, shape in sides.items()}


@pytest.mark.parametrize("text", [LINEAR.format(k="k", b="uint8[k, 3] b"), DEQUANTISED])
def test_as_many_bytes_as_a_run_counts_are_summed_in_32_bits_while_these_hold_the_sum(text: str) -> None:
    model = parse_model(f'<ir_version: 9, opset_import: ["" : 21]> {text}')
    session, reference = (Session(model, providers=own) for own in (("cpu", "reference"), ("reference",)))
    assert are_bytes(session)
    for k in (64, 33_025, 33_026, 60_000, 5):
        for fill in (None, 0, 255):
            fed = long_bytes(k, fill)
            np.testing.assert_array_equal(session.run(None, fed)[0], reference.run(None, fed)[0])


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("fill", [None, 0, 255])
def test_sums_that_32_bits_do_not_hold_are_added_from_parts_of_bytes(fill: int | None, constant: bool) -> None:
    model = parse_model(f'<ir_version: 9, opset_import: ["" : 21]> {LINEAR.format(k=70_000, b="uint8[70000, 3] b")}')
    fed = long_bytes(70_000, fill)
    if constant:
        inputs_to_initializers(model, {"b": Tensor(fed.pop("b"))})
    session, reference = (Session(model, providers=own) for own in (("cpu", "reference"), ("reference",)))
    assert are_bytes(session)
    np.testing.assert_array_equal(session.run(None, fed)[0], reference.run(None, fed)[0])


@pytest.mark.parametrize("text", ["y = QLinearConv (x, s, p, w, s, q, r, z)", "y = QuantizeLinear (e, r, z)"])
def test_convolutions_of_many_products_are_of_bytes_where_32_bits_hold_them(text: str) -> None:
    before = "c = DequantizeLinear (x, s, p) d = DequantizeLinear (w, s, q) e = Conv (c, d)" if "e," in text else ""
    model = parse_model(
        f"""<ir_version: 9, opset_import: ["" : 21]>
        g (uint8[1, 3700, 4, 4] x, int8[5, 3700, 3, 3] w) => (uint8[1, 5, 2, 2] y)
        <float s = {{0.001}}, uint8 p = {{3}}, int8 q = {{1}}, float r = {{10.0}}, uint8 z = {{100}}> {{
        {before} {text} }}"""
    )
    inputs_to_initializers(model, {"w": Tensor(bytes_of("int8", (5, 3700, 3, 3)))})
    fed = {"x": bytes_of("uint8", (1, 3700, 4, 4))}
    session, reference = (Session(model, providers=own) for own in (("cpu", "reference"), ("reference",)))
    assert are_bytes(session)
    np.testing.assert_array_equal(session.run(None, fed)[0], reference.run(None, fed)[0])
