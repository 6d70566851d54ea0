"""Products with weights in codes of few bits: those of the reference, whatever the bits, blocks, zeros and rows."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot import Model, Session, parse_model
from ingot.codegen.llvm.code_pack import code_panels
from ingot.codegen.llvm.host import host
from ingot.deploy.compiled import compiled_for
from ingot.dtypes import Array, DType, from_codes
from ingot.fuse.coded import code_blocks
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.tensor import Tensor
from ingot.loops.ir import Contraction, Tile, kernels_in
from ingot.prim.coded import coded
from ingot.providers.cpu import Cpu
from ingot.providers.cpu.large_pages import zeros
from ingot.schedule.target import Dot, named

HERE = [name for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4") if host().machine == "x86_64"]
KINDS = ("int2", "uint2", "int4", "uint4", "int8", "uint8")
PROVIDERS = (("cpu", "reference"), ("reference",))
FORMS = {
    "y = MatMul (x, d)": False,
    "y = Gemm <transB = 1> (x, d)": True,
    "t = Transpose <perm = [1, 0]> (d) y = MatMul (x, t)": True,
}
"""Products as they are written, and whether the matrix has its columns as rows."""


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_DEBUG", "1")


def with_constants(text: str, constants: dict[str, Array]) -> Model:
    model = parse_model(f'<ir_version: 13, opset_import: ["" : 25, "com.microsoft" : 1]> {text}')
    inputs_to_initializers(model, {name: Tensor(array) for name, array in constants.items()})
    return model


def packed_model(
    k: int, n: int, bits: int, block: int, zeros: str, seed: int = 0, level: int = 0, groups: Array | None = None
) -> Model:
    """MatMulNBits with random codes, scales, a bias, and zero points of a kind: none, uint8 or float.

    `groups` are the blocks of columns.
    """
    rng = np.random.default_rng(seed)
    blocks = -(-k // block)
    constants: dict[str, Array] = {
        "w": rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8),
        "s": (rng.random((n, blocks)) - 0.5).astype(np.float32),
        "b": rng.standard_normal(n).astype(np.float32),
    }
    point = ""
    if zeros == "uint8":
        constants["p"] = rng.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8)
        point = f", uint8[{n}, {constants['p'].shape[1]}] p"
    elif zeros == "float":
        constants["p"] = (rng.random((n, blocks)) * (1 << bits)).astype(np.float32)
        point = f", float[{n}, {blocks}] p"
    zero = "p" if point else ""
    if groups is not None:
        constants["g"] = groups
        point += f", int32[{k}] g"
    sizes = f"{n}, {blocks}"
    return with_constants(
        f"""g (float[m, {k}] x, uint8[{sizes}, {block * bits // 8}] w, float[{sizes}] s, float[{n}] b{point})
        => (float[m, {n}] y) {{ y = com.microsoft.MatMulNBits <K = {k}, N = {n}, bits = {bits}, block_size = {block},
        accuracy_level = {level}> (x, w, s, {zero}, {"" if groups is None else "g"}, b) }}""",
        constants,
    )


def dequantised_model(kind: str, k: int, n: int, block: int | None, form: str, seed: int = 0) -> Model:
    """A product with DequantizeLinear: by blocks along `k`, by column if `block` is 0, by one scale if it is None."""
    rng = np.random.default_rng(seed)
    dtype = DType[kind.upper()]
    blocks = -(-k // block) if block else 1
    matrix = rng.integers(0, 1 << dtype.bits, (n, k)).astype(np.uint8)
    scale = (rng.random((n, blocks)) - 0.5).astype(np.float32)
    point = rng.integers(0, 1 << dtype.bits, (n, blocks)).astype(np.uint8)
    axis = 1 if block else 0
    if not FORMS[form]:
        matrix, scale, point, axis = matrix.T, scale.T, point.T, 1 - axis
    if block == 0:
        scale, point = scale.reshape(-1), point.reshape(-1)
    elif block is None:
        scale, point = scale.reshape(-1)[0], point.reshape(-1)[0]
    constants = {
        "w": _elements(matrix, dtype),
        "s": np.asarray(scale, np.float32),
        "p": _elements(np.asarray(point), dtype),
    }
    declared = ", ".join(
        f"{type_}{list(constants[name].shape) if constants[name].ndim else ''} {name}"
        for name, type_ in (("w", kind), ("s", "float"), ("p", kind))
    )
    options = f"axis = {axis}" + (f", block_size = {block}" if block else "")
    body = f"d = DequantizeLinear <{options}> (w, s, p) {form}"
    return with_constants(f"g (float[m, {k}] x, {declared}) => (float[m, {n}] y) {{ {body} }}", constants)


def _elements(codes: Array, dtype: DType) -> Array:
    codes = np.ascontiguousarray(codes)
    return from_codes(codes, dtype) if dtype.bits < 8 else codes.view(dtype.numpy)


def products(session: Session, count: int = 1) -> list[Contraction]:
    """The products with codes of a session, which has so many nests."""
    assert session.compiled is not None
    assert not session.compiled.program.calls
    nests = [nest for kernel in kernels_in(session.compiled.scheduled.steps) for nest in kernel.nests]
    contractions = [nest for nest in nests if isinstance(nest, Contraction) and nest.codes is not None]
    assert len(nests) == count
    assert len(contractions) == 1
    return contractions


def check(
    model: Model,
    k: int,
    rows: tuple[int, ...] = (1, 2, 3, 5, 7, 17),
    threads: int = 1,
    nests: int = 1,
    **options: Any,
) -> None:
    session = Session(model, threads=threads, fallback=False, **{"providers": ("cpu", "reference"), **options})
    products(session, nests)
    reference = Session(model, providers=["reference"])
    for count in rows:
        x = np.random.default_rng(count).standard_normal((count, k)).astype(np.float32)
        y, wanted = (own.run(None, {"x": x})[0] for own in (session, reference))
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max(initial=1))


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("zeros", ["none", "uint8", "float"])
@pytest.mark.parametrize(("k", "n", "block"), [(100, 33, 16), (37, 5, 64), (128, 130, 128)])
def test_packed_codes_are_multiplied_as_they_are(bits: int, zeros: str, k: int, n: int, block: int) -> None:
    check(packed_model(k, n, bits, block, zeros), k)


@pytest.mark.parametrize("block", [16, 0, None])
@pytest.mark.parametrize(
    ("kind", "form"), [*zip(KINDS, cycle(FORMS), strict=False), *(("int4", form) for form in FORMS)]
)
def test_dequantised_weights_are_multiplied_as_codes(kind: str, form: str, block: int | None) -> None:
    check(dequantised_model(kind, 72, 40, block, form), 72, (1, 3, 9))


@pytest.mark.parametrize("block", [16, 48, 384, 528, None])
@pytest.mark.parametrize("kind", ["uint2", "uint4", "uint8"])
def test_weights_are_unpacked_by_parts_of_whole_blocks(kind: str, block: int | None) -> None:
    check(dequantised_model(kind, 1061, 33, block, next(iter(FORMS))), 1061, (1, 7, 500))


@settings(max_examples=8, deadline=None)
@given(
    st.integers(2, 8),
    st.sampled_from([16, 32, 64, 128, 256]),
    st.sampled_from(["none", "uint8", "float"]),
    st.integers(1, 300),
    st.integers(1, 150),
    st.integers(1, 20),
    st.sampled_from([1, 2]),
)
def test_any_sizes_and_threads(bits: int, block: int, zeros: str, k: int, n: int, rows: int, threads: int) -> None:
    check(packed_model(k, n, bits, block, zeros, seed=k), k, (rows,), threads)


@pytest.mark.parametrize("target", HERE)
@pytest.mark.parametrize("zeros", ["none", "uint8", "float"])
def test_machines_with_shorter_vectors(target: str, zeros: str) -> None:
    if named(target).vector > host().vector:
        pytest.skip("this machine has shorter vectors")
    check(packed_model(75, 45, 4, 16, zeros), 75, (1, 3, 9), providers=(Cpu(named(target)), "reference"))


def rounded(x: Array, block: int) -> Array:
    """Rows as they are where each block has 8 bits: its largest element is 127 steps from zero."""
    wide = np.zeros((len(x), -(-x.shape[1] // block) * block), np.float32)
    wide[:, : x.shape[1]] = x
    blocks = wide.reshape(len(x), -1, block)
    step = np.abs(blocks).max(axis=2, keepdims=True) / np.float32(127)
    codes = np.divide(blocks, step, out=np.zeros_like(blocks), where=step > 0).round()
    return np.asarray((codes * step).reshape(wide.shape)[:, : x.shape[1]])


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("zeros", ["none", "uint8", "float"])
@pytest.mark.parametrize(("k", "n", "block"), [(100, 33, 16), (37, 5, 64), (128, 130, 128)])
def test_rows_are_rounded_to_bytes_where_a_model_allows_it(bits: int, zeros: str, k: int, n: int, block: int) -> None:
    model = packed_model(k, n, bits, block, zeros, level=4)
    session = Session(model, threads=2, providers=("cpu", "reference"), fallback=False)
    has_bytes = byte_dot_of_host() is not None
    (product,) = products(session, 2 if has_bytes else 1)
    assert product.codes is not None
    assert (product.codes.dot is not None) == has_bytes
    reference = Session(model, providers=["reference"])
    for count in (1, 3, 6, 11):
        x = np.random.default_rng(count).standard_normal((count, k)).astype(np.float32)
        x[0, : min(k, block)] = 0
        y = session.run(None, {"x": x})[0]
        wanted = reference.run(None, {"x": rounded(x, block) if has_bytes else x})[0]
        np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=2e-3 * np.abs(wanted).max())
        np.testing.assert_allclose(np.median(np.abs(y - wanted)), 0, atol=1e-5 * np.abs(wanted).max())


def byte_dot_of_host() -> Dot | None:
    """The instruction of this machine that adds four products of bytes, of any codes."""
    found = [dot for dot in (Dot.AVX512_VNNI, Dot.AVX_VNNI, Dot.NEON_I8MM) if dot in host().dots]
    return found[0] if found else None


def test_not_a_number_stays_one_where_rows_are_rounded() -> None:
    x = np.ones((1, 64), np.float32)
    x[0, 3] = np.nan
    y = Session(packed_model(64, 20, 4, 32, "none", level=4)).run(None, {"x": x})[0]
    assert np.isnan(y).all()


@pytest.mark.parametrize(("target", "bits", "is_dot"), [("x86-64-v4", 4, False), ("aarch64+dotprod", 4, True),
    ("aarch64+dotprod", 8, False), ("x86-64-v4+vnni", 8, True)])  # fmt: skip
def test_rows_are_rounded_only_where_an_instruction_multiplies_bytes(target: str, bits: int, is_dot: bool) -> None:
    model = packed_model(64, 70, bits, 32, "none", level=4)
    kernels = kernels_in(compiled_for(model, named(target)).scheduled.steps)
    (product,) = (nest for kernel in kernels for nest in kernel.nests if isinstance(nest, Contraction))
    assert product.codes is not None
    assert (product.codes.dot is not None) == is_dot


def test_an_infinite_activation_gives_what_the_reference_gives() -> None:
    model = packed_model(64, 20, 4, 32, "none")
    x = np.zeros((1, 64), np.float32)
    x[0, 3] = np.inf
    y, wanted = (Session(model, providers=own).run(None, {"x": x})[0] for own in PROVIDERS)
    np.testing.assert_array_equal(y, wanted)


def test_scales_that_are_not_finite_are_multiplied_as_floats() -> None:
    scale = np.ones((5, 2), np.float32)
    scale[2, 1] = np.inf
    assert coded(np.zeros((5, 16), np.uint8), 4, scale, 8, 16, 32, packed=True) is None


def test_weights_take_the_memory_of_their_codes() -> None:
    rng = np.random.default_rng(0)
    codes, scale = rng.integers(0, 256, (256, 512)).astype(np.uint8), np.ones((256, 32), np.float32)
    matrix = coded(codes, 4, scale, 8, 32, 1024, packed=True)
    assert matrix is not None
    panels = code_panels(matrix, code_blocks(matrix), Tile(1, 4, 16), zeros)
    assert panels.nbytes == matrix.nbytes == 256 * 1024 // 2 + 256 * 32 * 4


def test_weights_that_others_read_too_are_dequantised_for_them() -> None:
    model = parse_model(
        """<ir_version: 13, opset_import: ["" : 25]>
    g (float[m, 16] x) => (float[m, 3] y, float[16, 3] z)
        <int8[16, 3] w = {"""
        + ", ".join(map(str, range(-24, 24)))
        + """}, float s = {0.5}> {
        d = DequantizeLinear (w, s) y = MatMul (x, d) z = Relu (d) }"""
    )
    x = np.random.default_rng(0).standard_normal((2, 16)).astype(np.float32)
    found, wanted = (Session(model, providers=own).run(None, {"x": x}) for own in PROVIDERS)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


FLOATS = ("float4e2m1", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")


def float_model(kind: str, k: int, n: int, block: int, transposed: bool = False) -> Model:
    """A product with DequantizeLinear of floats of few bits, all that are finite and not in float16's last binade."""
    dtype = DType[kind.upper()]
    rng = np.random.default_rng(3)
    numbers = np.arange(1 << dtype.bits, dtype=np.uint8).view(dtype.numpy).astype(np.float32)
    codes = rng.choice(np.flatnonzero(np.abs(numbers) < 30_000).astype(np.uint8), (n, k))
    scale = (rng.random((n, -(-k // block))) - 0.5).astype(np.float32)
    constants = {"w": _elements(codes if transposed else codes.T, dtype), "s": scale if transposed else scale.T}
    form = "y = Gemm <transB = 1> (x, d)" if transposed else "y = MatMul (x, d)"
    declared = f"{kind}{list(constants['w'].shape)} w, float{list(constants['s'].shape)} s"
    body = f"d = DequantizeLinear <axis = {int(transposed)}, block_size = {block}> (w, s) {form}"
    return with_constants(f"g (float[m, {k}] x, {declared}) => (float[m, {n}] y) {{ {body} }}", constants)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(("k", "n", "block"), [(72, 40, 16), (33, 7, 40)])
def test_floats_of_few_bits_are_multiplied_as_codes(kind: str, k: int, n: int, block: int, transposed: bool) -> None:
    check(float_model(kind, k, n, block, transposed), k, (1, 3, 9))


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("name", HERE)
def test_floats_of_few_bits_on_other_processors(kind: str, name: str) -> None:
    check(float_model(kind, 72, 40, 16), 72, (1, 9), providers=(Cpu(named(name)), "reference"))


def test_floats_of_few_bits_that_are_no_numbers_are_read_as_floats() -> None:
    model = float_model("float8e4m3fn", 32, 8, 32)
    codes = np.full((32, 8), 0x38, np.uint8)
    codes[3, 5] = 0x7F
    model.graph.initializers["w"].constant = Tensor(_elements(codes, DType.FLOAT8E4M3FN))
    session = Session(model, providers=("cpu", "reference"), fallback=False)
    y = session.run(None, {"x": np.ones((2, 32), np.float32)})[0]
    assert np.isnan(y[:, 5]).all()
    assert np.isfinite(np.delete(y, 5, 1)).all()


@pytest.mark.parametrize("quant_type", [0, 1])
@pytest.mark.parametrize(("k", "n", "block"), [(96, 40, 32), (64, 7, 64), (100, 9, 20)])
def test_levels_of_four_bits_are_multiplied_as_codes(quant_type: int, k: int, n: int, block: int) -> None:
    rng = np.random.default_rng(k)
    constants: dict[str, Array] = {
        "w": rng.integers(0, 256, n * k // 2).astype(np.uint8),
        "s": (rng.random(n * k // block) + 0.1).astype(np.float32),
    }
    model = with_constants(
        f"""g (float[m, {k}] x, uint8[{n * k // 2}] w, float[{n * k // block}] s) => (float[m, {n}] y) {{
        y = com.microsoft.MatMulBnb4 <K = {k}, N = {n}, block_size = {block}, quant_type = {quant_type}> (x, w, s)
        }}""",
        constants,
    )
    if block % 8:  # blocks that do not end with a word stay floats
        assert Session(model, providers=PROVIDERS[0], fallback=False).compiled is not None
        return
    check(model, k, (1, 3, 9))


@pytest.mark.parametrize("zeros", ["none", "uint8", "float"])
@pytest.mark.parametrize(("k", "block"), [(96, 32), (72, 16)])
@pytest.mark.parametrize("order", ["as it is", "shuffled", "uneven"])
def test_blocks_by_index_are_multiplied_as_codes(zeros: str, k: int, block: int, order: str) -> None:
    groups = np.arange(k, dtype=np.int32) // block
    if order == "shuffled":
        groups = np.random.default_rng(5).permutation(groups)
    elif order == "uneven":
        groups[0] = 1
    model = packed_model(k, 24, 4, block, zeros, groups=groups)
    if order != "uneven":
        check(model, k, (1, 3, 9), nests=1 if order == "as it is" else 2)
    one, other = (Session(model, providers=own) for own in PROVIDERS)
    if order == "uneven":  # weights are dequantised once, when the model is compiled
        assert one.compiled is not None
        [kernel] = kernels_in(one.compiled.scheduled.steps)
        assert [type(nest) for nest in kernel.nests] == [Contraction]
    x = np.random.default_rng(0).standard_normal((3, k)).astype(np.float32)
    np.testing.assert_allclose(one.run(None, {"x": x})[0], other.run(None, {"x": x})[0], rtol=1e-4, atol=1e-4)


NARROW = {"float16": 2e-3, "bfloat16": 1.5e-2}
"""Types of 16 bits, and how far apart results of them are that were rounded from weights rounded before, and not."""


def narrow_model(kind: str, narrow: str, form: str, largest: float = 1.0, activations: str = "") -> Model:
    """A product in 16-bit floats with weights that are dequantised to them, or in float32 with these widened."""
    dtype, real = DType[kind.upper()], DType[narrow.upper()].numpy
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 120, (40, 64)).astype(np.uint8) & ((1 << dtype.bits) - 1)
    scale = ((rng.random((40, 4)) + 1) * largest / 2).astype(real)
    is_turned = form == next(iter(FORMS))
    constants = {
        "w": _elements(codes.T if is_turned else codes, dtype),
        "s": np.ascontiguousarray(scale.T if is_turned else scale),
    }
    declared = f"{kind}{list(constants['w'].shape)} w, {narrow}{list(constants['s'].shape)} s"
    widened = "d = Cast <to = 1> (n)" if activations else ""
    body = (
        f"{'n' if widened else 'd'} = DequantizeLinear <axis = {int(not is_turned)}, block_size = 16> (w, s) {widened}"
    )
    return with_constants(f"g ({activations or narrow}[m, 64] x, {declared}) => (y) {{ {body} {form} }}", constants)


@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize(
    ("kind", "form"),
    [*(("int4", form) for form in FORMS), ("uint2", "y = MatMul (x, d)"), ("float4e2m1", "y = MatMul (x, d)")],
)
def test_weights_beside_floats_of_16_bits_are_multiplied_as_codes(kind: str, form: str, narrow: str) -> None:
    model = narrow_model(kind, narrow, form)
    session, reference = (Session(model, providers=own) for own in PROVIDERS)
    products(session, 2)  # the first one widens rows
    for count in (1, 5, 40):
        x = np.random.default_rng(count).standard_normal((count, 64)).astype(DType[narrow.upper()].numpy)
        y, wanted = (own.run(None, {"x": x})[0].astype(np.float64) for own in (session, reference))
        np.testing.assert_allclose(y, wanted, rtol=0, atol=NARROW[narrow] * np.abs(wanted).max())


def is_in_codes(model: Model) -> bool:
    compiled = Session(model, providers=PROVIDERS[0], fallback=False).compiled
    assert compiled is not None
    nests = [nest for kernel in kernels_in(compiled.scheduled.steps) for nest in kernel.nests]
    return any(isinstance(nest, Contraction) and nest.codes is not None for nest in nests)


def test_weights_that_are_rounded_to_16_bits_for_float32_stay_rounded() -> None:
    model = narrow_model("int4", "float16", "y = MatMul (x, d)", activations="float")
    assert not is_in_codes(model)
    x = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32)
    y, wanted = (Session(model, providers=own).run(None, {"x": x})[0] for own in PROVIDERS)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)


def test_weights_that_16_bits_have_no_room_for_are_dequantised() -> None:
    assert is_in_codes(narrow_model("int4", "float16", "y = MatMul (x, d)", largest=4000.0))
    model = narrow_model("int4", "float16", "y = MatMul (x, d)", largest=20000.0)
    assert not is_in_codes(model)
    x = np.ones((1, 64), np.float16)
    y, wanted = (Session(model, providers=own).run(None, {"x": x})[0] for own in PROVIDERS)
    assert np.isinf(wanted).any() or np.isnan(wanted).any()
    np.testing.assert_array_equal(y, wanted)


def test_bytes_beside_bfloat16_are_multiplied_as_bfloat16() -> None:
    assert not is_in_codes(narrow_model("int8", "bfloat16", "y = MatMul (x, d)"))
    assert is_in_codes(narrow_model("int8", "float16", "y = MatMul (x, d)"))


@pytest.mark.parametrize("kind", ["int4", "float4e2m1", "float8e4m3fn"])
@pytest.mark.parametrize("scales", ["float8e4m3fn", "float8e8m0"])
def test_scales_that_are_codes_themselves_scale_codes(kind: str, scales: str) -> None:
    dtype, rng = DType[kind.upper()], np.random.default_rng(6)
    codes = rng.integers(0, 120, (64, 40)).astype(np.uint8) & ((1 << dtype.bits) - 1)
    steps = rng.integers(40, 60, (2, 40)) if scales == "float8e4m3fn" else rng.integers(125, 130, (2, 40))
    constants = {"w": _elements(codes, dtype), "c": steps.astype(np.uint8).view(DType[scales.upper()].numpy)}
    declared = f"float[m, 64] x, {kind}[64, 40] w, {scales}[2, 40] c"
    if scales == "float8e4m3fn":
        body = "t = Constant <value = float {0.25}> () s = DequantizeLinear (c, t)"
        body += " d = DequantizeLinear <axis = 0, block_size = 32> (w, s)"
    else:
        body = "d = DequantizeLinear <axis = 0, block_size = 32, output_dtype = 1> (w, c)"
    check(
        with_constants(f"g ({declared}) => (float[m, 40] y) {{ {body} y = MatMul (x, d) }}", constants), 64, (1, 3, 9)
    )


@pytest.mark.parametrize("kind", ["int4", "uint2", "float4e2m1", "float8e5m2"])
def test_stacks_of_dequantised_matrices_are_constants(kind: str) -> None:
    dtype = DType[kind.upper()]
    codes = np.random.default_rng(1).integers(0, 120, (2, 32, 8)).astype(np.uint8) & ((1 << dtype.bits) - 1)
    constants = {"w": _elements(codes, dtype), "s": np.full((2, 2, 8), 0.5, np.float32)}
    model = with_constants(
        f"""g (float[2, m, 32] x, {kind}[2, 32, 8] w, float[2, 2, 8] s) => (float[2, m, 8] y) {{
        d = DequantizeLinear <axis = 1, block_size = 16> (w, s) y = MatMul (x, d) }}""",
        constants,
    )
    session, reference = (Session(model, providers=own) for own in PROVIDERS)
    assert session.compiled is not None
    [kernel] = kernels_in(session.compiled.scheduled.steps)
    assert [type(nest) for nest in kernel.nests] == [Contraction]
    x = np.random.default_rng(0).standard_normal((2, 3, 32)).astype(np.float32)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], reference.run(None, {"x": x})[0], rtol=1e-5, atol=1e-5)
