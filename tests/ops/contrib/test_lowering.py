"""onnxruntime's operators in primitives: sizes with names, caches, packed weights, bytes that stand for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.session import Session
from lower.agreement import agree, lowered, refusal

RTOL, ATOL = 1e-4, 1e-5
RNG = np.random.default_rng(8)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def microsoft(inputs: str, text: str, outputs: str = "y", before: str = "") -> str:
    return f"g ({inputs}) => ({outputs}) {{ {before}{outputs} = com.microsoft.{text} }}"


@pytest.mark.parametrize("text", ["Gelu (x)", "BiasGelu (x, b)", "FastGelu (x, b)", "FastGelu (x)", "QuickGelu (x)"])
def test_gelus_agree(text: str) -> None:
    x = np.append(floats(30) * 4, [np.inf, np.nan, 0, -0.0, 90, -90]).astype(np.float32).reshape(6, 6)
    agree(microsoft("float[N, 6] x, float[6] b", text), RTOL, ATOL, x=x, b=floats(6))


ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "Softplus", "Softsign", "LeakyRelu", "ThresholdedRelu", "Elu", "Clip"]


@pytest.mark.parametrize("name", [*ACTIVATIONS, "HardSigmoid", "HardSwish", "Selu"])
def test_products_with_an_activation_agree(name: str) -> None:
    text = f'FusedGemm <activation = "{name}", transB = 1> (a, b, c)'
    agree(
        microsoft("float[M, K] a, float[N, K] b, float[N] c", text),
        RTOL,
        ATOL,
        a=floats(5, 4),
        b=floats(3, 4),
        c=floats(3),
    )


def test_a_convolution_with_something_added_agrees() -> None:
    text = 'FusedConv <activation = "LeakyRelu", activation_params = [0.3], pads = [1, 1, 1, 1]> (x, w, b, z)'
    given = "float[N, 2, H, W] x, float[4, 2, 3, 3] w, float[4] b, float[N, 4, H, W] z"
    feeds = {"x": floats(2, 2, 5, 6), "w": floats(4, 2, 3, 3), "b": floats(4), "z": floats(2, 4, 5, 6)}
    agree(microsoft(given, text), RTOL, ATOL, **feeds)


@pytest.mark.parametrize(("attributes", "axes"), [("alpha = 0.5", "ABMK"), ("transA = 1, transBatchA = 1", "KABM")])
def test_products_of_moved_axes_agree(attributes: str, axes: str) -> None:
    sizes = {"A": 3, "B": 4, "M": 2, "K": 5}
    given = f"float[{', '.join(axes)}] a, float[K, N] b"
    a = floats(*(sizes[axis] for axis in axes))
    agree(microsoft(given, f"FusedMatMul <{attributes}> (a, b)"), RTOL, ATOL, a=a, b=floats(5, 3))


@pytest.mark.parametrize("length", [1, 4])
def test_normalisations_of_sums_agree(length: int) -> None:
    given = "float[B, L, 6] x, float[B, L, 6] s, float[6] g, float[6] h, float[6] i"
    feeds = {"x": floats(2, length, 6), "s": floats(2, length, 6), "g": floats(6), "h": floats(6), "i": floats(6)}
    agree(microsoft(given, "SkipLayerNormalization (x, s, g, h, i)", "y, m, d, t"), RTOL, ATOL, **feeds)
    agree(microsoft(given, "SkipSimplifiedLayerNormalization (x, s, g, i)", "y, m, d, t"), RTOL, ATOL, **feeds)
    graph = "g (float[B, L, 6] x, float[6] g) => (y, d) { y, d = SimplifiedLayerNormalization (x, g) }"
    agree(graph, RTOL, ATOL, x=feeds["x"], g=feeds["g"])


@pytest.mark.parametrize("segments", ["s", ""])
def test_embeddings_agree(segments: str) -> None:
    given = """int32[B, L] i, int32[B, L] s, float[9, 4] w, float[7, 4] p, float[2, 4] q, float[4] g, float[4] h,
    int32[B, L] m"""
    text = f"EmbedLayerNormalization (i, {segments}, w, p, {'q' if segments else ''}, g, h, m)"
    feeds = {"i": RNG.integers(0, 9, (2, 5), np.int32), "s": RNG.integers(0, 2, (2, 5), np.int32)}
    feeds |= {"w": floats(9, 4), "p": floats(7, 4), "q": floats(2, 4), "g": floats(4), "h": floats(4)}
    agree(microsoft(given, text, "y, n, t"), RTOL, ATOL, **feeds, m=RNG.integers(0, 2, (2, 5), np.int32))


@pytest.mark.parametrize("mask", ["int32[B] m", "int32[B, T] m", "int32[B, L, T] m"])
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_heads_with_a_mask_and_a_past_agree(mask: str, unidirectional: int) -> None:
    given = f"""float[B, L, 8] q, float[B, L, 8] k, float[B, L, 12] v, float[28] b, float[B, 2, P, 4] pk,
    float[B, 2, P, 6] pv, {mask}"""
    text = f"MultiHeadAttention <num_heads = 2, unidirectional = {unidirectional}> (q, k, v, b, m, , pk, pv)"
    shape = {"int32[B] m": (2,), "int32[B, T] m": (2, 7), "int32[B, L, T] m": (2, 3, 7)}[mask]
    feeds = {"q": floats(2, 3, 8), "k": floats(2, 3, 8), "v": floats(2, 3, 12), "b": floats(28)}
    feeds |= {"pk": floats(2, 2, 4, 4), "pv": floats(2, 2, 4, 6)}
    most = 7 if mask == "int32[B] m" else 2
    agree(microsoft(given, text, "y, pk1, pv1"), RTOL, ATOL, **feeds, m=RNG.integers(0, most, shape, np.int32))


@pytest.mark.parametrize("past", [0, 5])
def test_projected_heads_agree(past: int) -> None:
    given = "float[B, L, 6] x, float[6, 24] w, float[24] b, float[2, B, 2, P, 4] p"
    text = "Attention <num_heads = 2, unidirectional = 1> (x, w, b, , p)"
    feeds = {"x": floats(2, 3, 6), "w": floats(6, 24), "b": floats(24), "p": floats(2, 2, 2, past, 4)}
    agree(microsoft(given, text, "y, q"), RTOL, ATOL, **feeds)


CACHED = """float[B, L, 32] q, float[B, L, 16] k, float[B, L, 16] v, float[B, 2, P, 8] pk, float[B, 2, P, 8] pv,
int32[B] n, float[B, T] seen, float[20, 4] c, float[20, 4] s"""
LENGTH = "d = Shape <start = 1> (seen) e = Squeeze (d) t = Cast <to = 6> (e) "


def cached(attributes: str = "do_rotary = 1") -> str:
    text = f"GroupQueryAttention <num_heads = 4, kv_num_heads = 2, {attributes}> (q, k, v, pk, pv, n, t, c, s)"
    return microsoft(CACHED, text, "y, a, b", LENGTH)


def of_cache(length: int, past: int, lengths: Any) -> dict[str, Any]:
    heads = {"q": floats(2, length, 32), "k": floats(2, length, 16), "v": floats(2, length, 16)}
    table = {"c": floats(20, 4), "s": floats(20, 4), "seen": floats(2, max(lengths) + 1)}
    return {
        **heads,
        "pk": floats(2, 2, past, 8),
        "pv": floats(2, 2, past, 8),
        "n": np.array(lengths, np.int32),
        **table,
    }


@pytest.mark.parametrize("attributes", ["do_rotary = 1", "local_window_size = 3", "softcap = 3.0, smooth_softmax = 1"])
@pytest.mark.parametrize(
    ("length", "past", "lengths"), [(5, 0, (4, 4)), (5, 0, (4, 2)), (1, 6, (6, 6)), (1, 9, (6, 3)), (2, 6, (7, 5))]
)
def test_a_cache_that_fills_agrees(attributes: str, length: int, past: int, lengths: tuple[int, int]) -> None:
    agree(cached(attributes), RTOL, ATOL, **of_cache(length, past, lengths))


def test_a_length_beyond_the_cache_is_an_error_of_the_run() -> None:
    model, program = lowered(cached())
    assert not program.calls
    session = Session(model, providers=("cpu", "reference"), fallback=False)
    feeds = of_cache(1, 2, (2, 2))
    assert session.run(None, feeds)[0].shape == (2, 1, 32)
    with pytest.raises(InputError, match="lengths of sequences"):
        session.run(None, {**feeds, "n": np.array([2, 3], np.int32)})
    with pytest.raises(InputError, match="past keys are needed"):
        session.run(None, of_cache(1, 2, (5, 2)))


def test_a_statically_unknown_total_is_refused() -> None:
    graph = microsoft(f"{CACHED}, int32 t", "GroupQueryAttention <num_heads = 4, kv_num_heads = 2> (q, k, v, , , n, t)")
    assert refusal(graph) == "GroupQueryAttention: a statically unknown total length"


@pytest.mark.parametrize("bits", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("extra", ["", ", z", ", , g", ", , , h"])
@pytest.mark.parametrize("size", [64, 40])
def test_products_with_packed_weights_agree(bits: int, extra: str, size: int) -> None:
    blocks = -(-size // 32)
    packed = -(-blocks * bits // 8)
    given = f"""float[B, L, {size}] a, uint8[5, {blocks}, {4 * bits}] b, float[{5 * blocks}] s, uint8[{5 * packed}] z,
    int32[{size}] g, float[5] h"""
    text = f"MatMulNBits <K = {size}, N = 5, block_size = 32, bits = {bits}> (a, b, s{extra})"
    feeds = {"a": floats(2, 3, size), "b": RNG.integers(0, 256, (5, blocks, 4 * bits), np.uint8), "h": floats(5)}
    feeds |= {"s": floats(5 * blocks), "z": RNG.integers(0, 256, 5 * packed, np.uint8)}
    # what is summed is in the hundreds, and cancels
    agree(microsoft(given, text), RTOL, 1e-3, **feeds, g=RNG.integers(0, blocks, size, np.int32))


def test_rotations_from_a_first_position_agree() -> None:
    given = "float[B, 2, L, 8] x, int64[1] p, float[T, 3] c, float[T, 3] s"
    feeds = {"x": floats(2, 2, 4, 8), "p": np.array([3]), "c": floats(9, 3), "s": floats(9, 3)}
    agree(microsoft(given, "RotaryEmbedding <interleaved = 1> (x, p, c, s)"), RTOL, ATOL, **feeds)
