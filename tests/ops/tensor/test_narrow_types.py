"""Elements of a byte or less in machine code: converted, moved, and read as other bits, as the reference does."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.dtypes import DType, from_codes
from ingot.prim.functions import CODES
from lower.machine import HEADER

NARROW = sorted(CODES)
FLOATS = [dtype for dtype in NARROW if dtype.is_float]
EVERY_HALF = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def outputs(graph: str, *feeds: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """What machine code and the reference give, pair by pair, as bits; AssertionError unless it is compiled whole."""
    model = ingot.parse_model(f"{HEADER} {graph}")
    compiled = ingot.Session(model, providers=("cpu", "reference"), threads=1, fallback=False)
    assert compiled.compiled is not None
    assert not compiled.compiled.program.calls
    named = dict(zip(compiled.inputs, feeds, strict=True))
    results = compiled.run(None, named), ingot.Session(model, providers=("reference",)).run(None, named)
    return list(zip(*results, strict=True))


def require_same(graph: str, *feeds: np.ndarray) -> None:
    for one, other in outputs(graph, *feeds):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        width = f"u{one.dtype.itemsize}"
        left, right = (np.ascontiguousarray(x).reshape(-1).view(width) for x in (one, other))
        is_same = (one != one) & (other != other)
        if DType.of(one.dtype).is_integer:  # of which the unused bits of a byte do not matter
            is_same = one == other
        wrong = (left != right) & ~is_same.reshape(-1)
        assert not wrong.any(), (np.flatnonzero(wrong)[:5], one.reshape(-1)[wrong][:5], other.reshape(-1)[wrong][:5])


def codes(dtype: DType) -> np.ndarray:
    every = np.arange(1 << dtype.bits, dtype=np.uint8)
    return from_codes(every, dtype) if dtype.bits < 8 else every.view(dtype.numpy)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_codes_become_the_numbers_that_they_stand_for(dtype: DType) -> None:
    targets = [DType.FLOAT32, DType.FLOAT16, DType.FLOAT64, DType.BFLOAT16, DType.INT8, DType.UINT64, DType.BOOL]
    casts = " ".join(f"y{to} = Cast <to = {int(to)}> (x)" for to in targets)
    names = ", ".join(f"y{to}" for to in targets)
    require_same(f"g ({dtype.onnx_name}[n] x) => ({names}) {{ {casts} }}", codes(dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("saturate", [0, 1])
def test_numbers_become_the_nearest_code(dtype: DType, saturate: int) -> None:
    wide = EVERY_HALF[np.isfinite(EVERY_HALF)].astype(np.float32)
    between = np.concatenate([wide, wide * np.float32(1 + 2**-23), wide * np.float32(2.0**-12), wide * 4096])
    odd = np.array([1.0625 + 2**-40, 1.0625 - 2**-40, 1e300, -1e-300, 464.0, 464.00000001, -np.inf, np.nan], np.float64)
    whole = np.array([0, 1, -1, 17, 2**53 + 1, 2**62, -(2**63), 2**63 - 1, 465, -465, 240, 248], np.int64)
    cast = f"Cast <to = {int(dtype)}, saturate = {saturate}>"
    graph = f"{{ a = {cast} (h) b = {cast} (f) c = {cast} (d) e = {cast} (i) }}"
    require_same(
        f"g (float16[n] h, float[m] f, double[k] d, int64[l] i) => (a, b, c, e) {graph}",
        EVERY_HALF,
        between,
        odd,
        whole,
    )


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_numbers_become_powers_of_two(mode: str, saturate: int) -> None:
    powers = np.float32(2.0) ** np.arange(-149, 128, dtype=np.float32)
    x = np.concatenate([factor * powers for factor in np.array([1, 1.25, 1.5, 1.75, -1, 0], np.float32)])
    x = np.concatenate([x, np.array([np.inf, -np.inf, np.nan], np.float32)])
    cast = f'Cast <to = 24, saturate = {saturate}, round_mode = "{mode}">'
    require_same(
        f"g (float[n] x, double[m] d) => (y, z) {{ y = {cast} (x) z = {cast} (d) }}",
        x,
        np.array([1e308, 1e-308], np.float64),
    )


@pytest.mark.parametrize("dtype", [dtype for dtype in NARROW if dtype.is_integer], ids=str)
def test_integers_keep_their_low_bits(dtype: DType) -> None:
    x = np.array([0, 1.9, -1.9, 7.5, 8, -9, 255, 1e20, -1e20, np.nan, np.inf], np.float32)
    i = np.array([0, -1, 5, 200, -129, 2**31 - 1], np.int32)
    cast = f"Cast <to = {int(dtype)}>"
    require_same(f"g (float[n] x, int32[m] i) => (y, z) {{ y = {cast} (x) z = {cast} (i) }}", x, i)


@pytest.mark.parametrize("dtype", [dtype for dtype in NARROW if dtype.bits != 6], ids=str)
def test_codes_are_moved_about(dtype: DType) -> None:
    x = np.resize(codes(dtype), (3, 4))
    constants = "<int64[2] shape = {2, -1}, int64[4] pads = {0, 1, 2, 0}>"
    graph = "{ t = Transpose (x) r = Reshape (t, shape) y = Pad (r, pads) }"
    require_same(f"g ({dtype.onnx_name}[n, 4] x) => (t, y) {constants} {graph}", x)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("FLOAT32", "INT32"),
        ("INT64", "FLOAT64"),
        ("FLOAT16", "BFLOAT16"),
        ("UINT8", "FLOAT8E5M2"),
        ("INT4", "UINT4"),
        ("BOOL", "INT8"),
        ("UINT8", "BOOL"),
    ],
)
def test_bits_are_read_as_another_type(source: str, target: str) -> None:
    one, other = DType[source], DType[target]
    patterns = np.arange(256 * one.numpy.itemsize, dtype=np.uint8)
    x = codes(one) if one in CODES else np.resize(patterns, 256 * one.numpy.itemsize).view(one.numpy)
    x = np.array([False, True]) if one is DType.BOOL else x
    require_same(f"g ({one.onnx_name}[n] x) => (y) {{ y = BitCast <to = {int(other)}> (x) }}", x)


@pytest.mark.parametrize("dtype", [dtype for dtype in NARROW if dtype is not DType.FLOAT8E8M0], ids=str)
def test_quantised_numbers_of_a_narrow_type(dtype: DType) -> None:
    x = np.concatenate([np.linspace(-9, 9, 400), [1e9, -1e9, np.nan, 0.1875]]).astype(np.float32)
    zero = codes(dtype)[1:2].reshape(())
    name = dtype.onnx_name
    graph = "{ q = QuantizeLinear (x, s, z) r = DequantizeLinear (q, s, z) y = DequantizeLinear (q, s) }"
    require_same(f"g (float[n] x, float s, {name} z) => (q, r, y) {graph}", x, np.array(0.5, np.float32), zero)


def test_truth_values_are_written_as_digits() -> None:
    model = ingot.parse_model(f"{HEADER} g (bool[n] x) => (y) {{ y = Cast <to = 8> (x) }}")
    assert ingot.Session(model).run(None, {"x": np.array([True, False])})[0].tolist() == ["1", "0"]
