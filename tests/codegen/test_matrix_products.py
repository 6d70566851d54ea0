"""Products of matrices by AMX: equal to the reference bit by bit for bytes, within the rounding of sums for bfloat16.

On a processor without AMX its instructions are emulated, by functions that kernels are compiled with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from codegen import emulated_matrices
from codegen import test_byte_products as of_bytes
from codegen import test_narrow_products as of_pairs
from ingot import Session, parse_model
from ingot.cache import fingerprint
from ingot.codegen.llvm import host as llvm_host
from ingot.codegen.llvm.compile import assembly_of
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.deploy.compiled import compiled_for
from ingot.deploy.start import start_text
from ingot.ir.model import Model
from ingot.loops.ir import Contraction, Kernel, kernels_in, nests_in
from ingot.loops.parametrise import parametrise
from ingot.providers.cpu import Cpu, code
from ingot.schedule import matrix_units
from ingot.schedule.target import MATRICES, Dot, Target, named

AMX = named("x86-64-v4+amx")
HAS_AMX = set(MATRICES) <= set(host().dots)
needs_vectors = pytest.mark.skipif(host().vector != 64, reason="panels and epilogues take vectors of 512 bits")
SIZES = ((1, 1, 1), (3, 5, 7), (16, 4, 16), (17, 31, 33), (30, 64, 80), (1, 197, 130), (65, 3, 1), (49, 256, 40))


@pytest.fixture(autouse=True)
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    """This machine, with AMX that is its own or emulated."""
    monkeypatch.setenv("INGOT_DEBUG", "1")
    if not HAS_AMX:

        def emit_emulated(kernel: Kernel, target: Target) -> Any:
            emitted = emit(kernel, target)
            return replace(emitted, text=emulated_matrices.emulated(emitted.text))

        monkeypatch.setattr(code, "emit", emit_emulated)
    return emulated_matrices.here()


def opened(model: Model, target: Target, threads: int = 2) -> Session:
    session = Session(model, providers=(Cpu(target),), fallback=False, threads=threads)
    assert session.compiled is not None
    assert not session.compiled.program.calls
    return session


def products(session: Session) -> list[Contraction]:
    assert session.compiled is not None
    kernels = kernels_in(session.compiled.scheduled.steps)
    return [nest for kernel in kernels for nest in nests_in(kernel) if isinstance(nest, Contraction)]


def multiplies_matrices(session: Session) -> bool:
    return all(product.tile is not None and product.tile.of_matrices for product in products(session))


@needs_vectors
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("left", of_bytes.SIGNS)
@pytest.mark.parametrize("right", of_bytes.SIGNS)
def test_bytes_of_every_sign_and_size_give_the_sums_of_the_reference(
    left: str, right: str, points: bool, threads: int, target: Target
) -> None:
    session = opened(of_bytes.product(left, right, ("m, k", "k, n")), target, threads)
    assert multiplies_matrices(session)
    for m, k, n in SIZES:
        fed = of_bytes.feeds(left, right, (m, k), (k, n), points)
        np.testing.assert_array_equal(session.run(None, fed)[0], of_bytes.expected(**fed))


@needs_vectors
@pytest.mark.parametrize("left", of_bytes.SIGNS)
@pytest.mark.parametrize("shape", [(4, 5, 7), (16, 66, 50), (20, 66, 10), (70, 130, 100), (33, 64, 16), (130, 12, 5)])
def test_constant_bytes_are_packed_ahead(left: str, shape: tuple[int, int, int], target: Target) -> None:
    m, k, n = shape
    fed = of_bytes.feeds(left, "int8", (m, k), (k, n), points=False)
    model = of_bytes.product(left, "int8", (f"{m}, {k}", f"{k}, {n}"), "y = MatMulInteger (a, b)")
    session = opened(of_pairs.with_constant(model, "b", fed["b"]), target)
    (product,) = products(session)
    assert product.packed
    assert multiplies_matrices(session)
    wanted = of_bytes.expected(**fed)
    del fed["b"]
    np.testing.assert_array_equal(session.run(None, fed)[0], wanted)


@needs_vectors
@pytest.mark.parametrize("left", of_bytes.SIGNS)
def test_stacks_of_matrices_and_transposed_ones_are_multiplied(left: str, target: Target) -> None:
    body = "t = Transpose <perm = [0, 2, 1]> (b) y = MatMulInteger (a, t)"
    session = opened(of_bytes.product(left, "int8", ("s, m, k", "s, n, k"), body), target)
    assert multiplies_matrices(session)
    fed = of_bytes.feeds(left, "int8", (3, 35, 70), (3, 18, 70), points=False)
    fed["q"] = np.zeros(18, np.int8)
    wanted = of_bytes.expected(fed["a"], fed["b"].transpose(0, 2, 1), 0, 0)
    np.testing.assert_array_equal(session.run(None, fed)[0], wanted)


@needs_vectors
@pytest.mark.parametrize("points", of_bytes.POINTS)
@pytest.mark.parametrize("name", of_bytes.CONVOLUTIONS)
def test_convolutions_of_bytes_give_the_sums_of_the_reference(
    name: str, points: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_units, "_FEWEST_TERMS", 1)
    model, arrays = of_bytes.convolution(name, points, computed=False)
    constant = of_pairs.with_constant(model, "w", arrays["w"])
    reference = Session(model, providers=("reference",), fallback=False)
    session = opened(constant, target)
    assert multiplies_matrices(session) is (name != "1 x 1")  # of which channels are no neighbours
    np.testing.assert_array_equal(session.run(None, {"x": arrays["x"]})[0], reference.run(None, arrays)[0])


@needs_vectors
@pytest.mark.parametrize(("rows", "channels", "is_worth_it"), [(1, 64, False), (4, 64, True), (9, 4, False)])
def test_few_rows_and_few_terms_are_left_to_vectors(
    rows: int, channels: int, is_worth_it: bool, target: Target
) -> None:
    text = f"""<ir_version: 9, opset_import: ["" : 21]>
        g (uint8[1, {channels}, {rows + 2}, 3] x, int8[20, {channels}, 3, 3] w) => (y) {{ y = ConvInteger (x, w) }}"""
    w = of_bytes.bytes_of("int8", (20, channels, 3, 3), 2)
    session = opened(of_pairs.with_constant(parse_model(text), "w", w), target)
    assert multiplies_matrices(session) is is_worth_it


@needs_vectors
def test_more_rows_than_are_gathered_at_a_time_are_shared_among_threads(target: Target) -> None:
    text = """<ir_version: 9, opset_import: ["" : 21]> g (uint8[n, 20, h, w] x, int8[70, 20, 3, 3] w) => (y)
        { y = ConvInteger <pads = [1, 1, 1, 1]> (x, w) }"""
    model = parse_model(text)
    x, w = of_bytes.bytes_of("uint8", (2, 20, 19, 17), 1), of_bytes.bytes_of("int8", (70, 20, 3, 3), 2)
    wanted = Session(model, providers=("reference",)).run(None, {"x": x, "w": w})[0]
    for threads in (1, 2, 3):
        session = opened(of_pairs.with_constant(model, "w", w), target, threads)
        assert [product.gathers for product in products(session)] == [True]
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], wanted)


@needs_vectors
def test_bfloat16_of_every_size_is_summed_in_float32(target: Target) -> None:
    session = opened(of_pairs.product("bfloat16", "bfloat16"), target)
    assert multiplies_matrices(session)
    for m, k, n in SIZES:
        a, b = of_pairs.floats("bfloat16", (m, k), 1), of_pairs.floats("bfloat16", (k, n), 2)
        of_pairs.assert_near(session.run(None, {"a": a, "b": b})[0], a, b)


@needs_vectors
@pytest.mark.parametrize("size", SIZES)
def test_constant_bfloat16_is_packed_ahead(size: tuple[int, int, int], target: Target) -> None:
    m, k, n = size
    a, b = of_pairs.floats("bfloat16", (m, k), 1), of_pairs.floats("bfloat16", (k, n), 2)
    model = of_pairs.product("bfloat16", "bfloat16", (f"{m}, {k}", f"{k}, {n}"))
    session = opened(of_pairs.with_constant(model, "b", b), target)
    assert multiplies_matrices(session)
    of_pairs.assert_near(session.run(None, {"a": a})[0], a, b)


@needs_vectors
@pytest.mark.parametrize("m", [9, 40])
def test_infinities_and_nans_reach_the_sums_that_read_them_alone(m: int, target: Target) -> None:
    a, b = of_pairs.floats("bfloat16", (m, 33), 1), of_pairs.floats("bfloat16", (33, 20), 2)
    a[3, 32], a[5, 0], b[7, 4] = np.inf, np.nan, -np.inf
    session = opened(of_pairs.product("bfloat16", "bfloat16"), target)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    y = session.run(None, {"a": a, "b": b})[0]
    for test in (np.isnan, np.isposinf, np.isneginf):
        np.testing.assert_array_equal(test(y), test(expected))


@needs_vectors
@pytest.mark.parametrize("name", of_pairs.CONVOLUTIONS)
def test_convolutions_of_bfloat16_are_within_the_rounding_of_their_sums(name: str, target: Target) -> None:
    x_shape, w_shape, attributes = of_pairs.CONVOLUTIONS[name]
    body = f"a = Cast <to=1> (x) b = Cast <to=1> (w) y = Conv {attributes} (a, b)"
    inputs = f"bfloat16{list(x_shape)} x, bfloat16{list(w_shape)} w"
    model = parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => (y) {{ {body} }}')
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype(of_pairs.NUMPY["bfloat16"]) for shape in (x_shape, w_shape))
    session = opened(of_pairs.with_constant(model, "w", w), target)
    assert multiplies_matrices(session) is (name != "1 x 1")
    reference = Session(model, providers=("reference",))
    magnitudes = reference.run(None, {"x": np.abs(x), "w": np.abs(w)})[0]
    terms = int(np.prod(w_shape[1:]))
    error = np.abs(session.run(None, {"x": x})[0] - reference.run(None, {"x": x, "w": w})[0])
    assert (error <= 2 * terms * 2.0**-24 * magnitudes + terms * 2.0**-126).all()


@pytest.mark.parametrize(
    ("model", "instruction"),
    [
        (of_bytes.product("uint8", "int8", ("m, k", "k, n"), "y = MatMulInteger (a, b)"), "tdpbusd"),
        (of_bytes.product("int8", "int8", ("m, k", "k, n"), "y = MatMulInteger (a, b)"), "tdpbssd"),
        (of_pairs.product("bfloat16", "bfloat16"), "tdpbf16ps"),
    ],
    ids=["unsigned bytes", "bytes", "bfloat16"],
)
def test_the_registers_are_configured_once_and_released(model: Model, instruction: str) -> None:
    kernel = next(kernels_in(compiled_for(model, AMX).scheduled.steps))
    assembly = assembly_of(emit(parametrise(kernel).kernel, AMX).text, AMX)
    assert instruction in assembly
    assert assembly.count("ldtilecfg") == assembly.count("tilerelease") == 1


def test_the_instructions_are_left_alone_where_they_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    has = [dot.value for dot in (Dot.AVX512_VNNI, Dot.AVX512_BF16, *MATRICES)]
    monkeypatch.setattr(llvm_host, "may_use_matrices", lambda: False)
    assert llvm_host._dots(has) == (Dot.AVX512_VNNI,)
    assert llvm_host._dots(has[:2]) == (Dot.AVX512_VNNI, Dot.AVX512_BF16)
    monkeypatch.setattr(llvm_host, "may_use_matrices", lambda: True)
    assert llvm_host._dots(has) == (Dot.AVX512_VNNI, Dot.AVX512_BF16, *MATRICES)


def test_what_was_compiled_with_them_is_not_found_where_they_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    described = tmp_path / "cpuinfo"
    described.write_text("processor\t: 0\nmodel\t: 143\nflags\t: avx512f amx_tile amx_int8\n\nprocessor\t: 1\n")
    monkeypatch.setattr("builtins.open", lambda *_, real=open, **__: real(described, encoding="utf-8"))
    names = []
    for answer in (True, False):
        monkeypatch.setattr(fingerprint, "may_use_matrices", lambda answer=answer: answer)
        names.append(fingerprint.processor.__wrapped__())
    assert names[0] != names[1]
    assert names[1].startswith(names[0])


def test_a_program_asks_for_the_registers_before_it_begins() -> None:
    assert "i64 158" in start_text(AMX, 4096)
    assert "i64 158" not in start_text(named("x86-64-v4"), 4096)
