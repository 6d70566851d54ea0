"""The operators that exporters, optimisers and quantisers write most, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ops.contrib.peer import agrees

RNG = np.random.default_rng(23)
B, L, N, H = 2, 3, 2, 4
D = N * H
FLOATS = [np.float32, np.float16]


def floats(*shape: int, dtype: Any = np.float32, by: float = 1.0) -> Any:
    return (RNG.standard_normal(shape) * by).astype(dtype)


def codes(*shape: int, dtype: Any = np.uint8) -> Any:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def near(dtype: Any) -> dict[str, Any]:
    return {"rtol": 1e-4, "atol": 1e-5} if dtype is np.float32 else {"rtol": 2e-3, "atol": 2e-3}


def one(number: float, dtype: Any = np.float32) -> Any:
    return np.asarray(number, dtype)


def stripped(*args: Any) -> list[Any]:
    found = list(args)
    while found[-1] is None:
        found.pop()
    return found


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["Gelu", "QuickGelu", "FastGelu", "BiasGelu"])
def test_gelus(name: str, dtype: Any) -> None:
    more = [floats(8, dtype=dtype)] if name in ("FastGelu", "BiasGelu") else []
    agrees(name, floats(3, 8, dtype=dtype, by=3), *more, **near(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bias", [False, True])
def test_normalised_sums(dtype: Any, bias: bool) -> None:
    vectors = [floats(8, dtype=dtype) for _ in range(3)]
    pair = [floats(B, L, 8, dtype=dtype, by=100) for _ in range(2)]
    options: dict[str, Any] = {"outputs": 4, **near(dtype)}
    agrees("SkipLayerNormalization", *pair, *vectors[: 3 if bias else 2], **options)
    agrees("SkipSimplifiedLayerNormalization", *pair, vectors[0], *vectors[1 : 2 if bias else 1], **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("mask", "unidirectional", "past"),
    [(None, 0, 0), (None, 1, 2), ("lengths", 1, 0), ("ends", 0, 0), ("keys", 0, 2), ("queries", 1, 2)],
)
def test_projected_attention(dtype: Any, mask: Any, unidirectional: int, past: int) -> None:
    keys = past + L
    masks = {
        None: None,
        "lengths": np.array([2, 3], np.int32),
        "ends": np.array([3, 3, 1, 0], np.int32),
        "keys": RNG.integers(0, 2, (B, keys)).astype(np.int32),
        "queries": RNG.integers(0, 2, (B, L, keys)).astype(np.int32),
    }
    # large enough that scores and projections are beyond what 16 bits hold: they are computed in 32
    by = 20 if dtype is np.float16 else 1
    args = [floats(B, L, 6, dtype=dtype, by=by), floats(6, 3 * D, dtype=dtype, by=by), floats(3 * D, dtype=dtype)]
    args += [masks[mask], floats(2, B, N, past, H, dtype=dtype) if past else None]
    options: dict[str, Any] = {"num_heads": N, "unidirectional": unidirectional}
    agrees("Attention", *stripped(*args), outputs=2, **near(dtype), **options)


def test_lengths_in_a_mask_may_be_followed_by_their_sums() -> None:
    mask = np.array([2, 3, 0, 2, 5, 0, 2, 5], np.int32)
    sequences = [floats(B, L, D) for _ in range(3)]
    agrees("MultiHeadAttention", *sequences, None, mask, num_heads=N, **near(np.float32))
    agrees("Attention", sequences[0], floats(D, 3 * D), floats(3 * D), mask, num_heads=N, **near(np.float32))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("by_head", "bias", "scale"), [(False, True, 0.0), (False, False, 0.3), (True, False, 0.0)])
def test_attention_of_many_heads(dtype: Any, by_head: bool, bias: bool, scale: float) -> None:
    by = 60 if dtype is np.float16 else 1
    shape = (B, N, 5, H) if by_head else (B, 5, D)
    args = [floats(B, L, D, dtype=dtype, by=by), *(floats(*shape, dtype=dtype, by=by) for _ in range(2))]
    args += [floats(3 * D, dtype=dtype)] if bias else []
    options: dict[str, Any] = {"scale": scale} if scale else {}
    agrees("MultiHeadAttention", *args, num_heads=N, **options, **near(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("past", "options"),
    [(0, {"do_rotary": 1}), (0, {"softcap": 3.0, "scale": 0.2}), (4, {"do_rotary": 1}), (4, {"local_window_size": 2})],
)
def test_attention_in_groups(dtype: Any, past: int, options: dict[str, Any]) -> None:
    heads, length = 4, 1 if past else L
    size = 8 * (2 if options.get("do_rotary") else 1)
    by = 100 if dtype is np.float16 else 1
    args = [floats(B, length, n * size, dtype=dtype, by=by) for n in (heads, N, N)]
    args += [floats(B, N, past, size, dtype=dtype) for _ in range(2)] if past else [None, None]
    args += [np.full(B, past + length - 1, np.int32), np.array([past + length], np.int32)]
    args += [floats(9, size // 2, dtype=dtype) for _ in range(2)] if options.get("do_rotary") else []
    agrees(
        "GroupQueryAttention",
        *args,
        outputs=3,
        constant=(6,),
        compiled=False,
        num_heads=heads,
        kv_num_heads=N,
        **options,
        **near(dtype),
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("kind", "bits", "past"), [("PER_TENSOR", 8, 0), ("PER_CHANNEL", 8, 4), ("PER_TENSOR", 4, 4), ("PER_CHANNEL", 4, 0)]
)
def test_attention_with_a_cache_of_integers(dtype: Any, kind: str, bits: int, past: int) -> None:
    heads, size, length = 4, 16, 1 if past else L
    args = [floats(B, length, n * size, dtype=dtype) for n in (heads, N, N)]
    held = codes(B, N, past, size, dtype=np.int8) if bits == 8 else codes(B, N, past, size // 2)
    args += [held, held[::-1].copy()]
    args += [np.full(B, past + length - 1, np.int32), np.array([past + length], np.int32), *[None] * 5]
    count = N * size if kind == "PER_CHANNEL" else 1
    args += [RNG.uniform(0.02, 0.04, count).astype(np.float32) * 2 ** (8 - bits) for _ in range(2)]
    options: dict[str, Any] = {"num_heads": heads, "kv_num_heads": N, "kv_cache_bit_width": bits}
    options |= {"k_quant_type": kind, "v_quant_type": kind}
    # onnxruntime multiplies bytes with the queries rounded to 8 bits on processors that have an instruction for it
    agrees("GroupQueryAttention", *args, outputs=3, compiled=False, steps=1, rtol=1e-2, atol=1e-2, **options)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("interleaved", [0, 1])
def test_turned_pairs(dtype: Any, interleaved: int) -> None:
    args = [
        floats(B, L, 4 * 8, dtype=dtype),
        RNG.integers(0, 9, (B, L)),
        *(floats(9, 4, dtype=dtype) for _ in range(2)),
    ]
    agrees("RotaryEmbedding", *args, interleaved=interleaved, **near(dtype))
    args[1] = np.array([3])
    agrees("RotaryEmbedding", *args, interleaved=interleaved, **near(dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("name", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((3, 1), (1, 4))])
def test_sums_and_products_of_bytes(name: str, dtype: Any, shapes: Any) -> None:
    a, b = (codes(*shape, dtype=dtype) for shape in shapes)
    zero = one(5, dtype)
    agrees(name, a, one(0.05), zero, b, one(0.04), zero, one(0.1), zero, steps=1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_functions_of_bytes(dtype: Any) -> None:
    x, zero = codes(3, 8, dtype=dtype), one(3, dtype)
    given = [x, one(0.05), zero]
    agrees("QLinearSigmoid", *given, one(1 / 128), zero, constant=(1, 2, 3, 4), steps=1)
    agrees("QLinearLeakyRelu", *given, one(0.05), zero, constant=(1, 2, 3, 4), alpha=0.2, steps=1)
    agrees("QLinearSoftmax", *given, one(1 / 256), one(0, dtype), constant=(1, 2, 3, 4), opset=13, axis=-1, steps=1)
    chosen = RNG.random((3, 8)) > 0.5
    agrees("QLinearWhere", chosen, *given, x[::-1].copy(), one(0.02), zero, one(0.05), zero, steps=1)
    agrees(
        "QLinearConcat", one(0.1), zero, *given, x[:2], one(0.02), zero, constant=(0, 1, 3, 4, 6, 7), axis=0, steps=1
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("last", [0, 1])
def test_pools_of_bytes(dtype: Any, last: int) -> None:
    x, zero = codes(2, 6, 7, 4, dtype=dtype) if last else codes(2, 4, 6, 7, dtype=dtype), one(3, dtype)
    args = [x, one(0.05), zero, one(0.04), zero]
    agrees("QLinearGlobalAveragePool", *args, channels_last=last, steps=1)
    options: dict[str, Any] = {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1], "strides": [2, 1], "count_include_pad": 1}
    agrees("QLinearAveragePool", *args, channels_last=last, steps=1, **options)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_products_of_bytes(dtype: Any, by_column: bool, bias: bool) -> None:
    b = codes(8, 5, dtype=dtype)
    scale = RNG.uniform(0.01, 0.02, 5 if by_column else ()).astype(np.float32)
    zero = np.full(5 if by_column else (), 0 if dtype is np.int8 else 120, dtype)
    extra = floats(5) if bias else None
    a = codes(B, L, 8)
    args = [a, b, one(0.05), scale, one(100, np.uint8), zero, extra]
    agrees("MatMulIntegerToFloat", *stripped(*args), constant=(1, 5), rtol=1e-5, atol=1e-5)
    agrees(
        "DynamicQuantizeMatMul",
        *stripped(floats(B, L, 8), b, scale, zero, extra),
        constant=(1, 3),
        rtol=1e-5,
        atol=1e-5,
    )
    whole = RNG.integers(-99, 99, 5).astype(np.int32) if bias else None
    flat = [a[0], one(0.05), one(100, np.uint8), b, scale, zero, whole]
    agrees("QGemm", *stripped(*flat), constant=(3, 5), rtol=1e-5, atol=1e-5)
    agrees("QGemm", *flat, one(0.3), one(10, np.uint8), constant=(3, 5), steps=1)


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("mask", [False, True])
def test_attention_of_bytes(unidirectional: int, mask: bool) -> None:
    weights = codes(8, 3 * D, dtype=np.int8)
    shown = np.array([2, 3], np.int32) if mask else None
    args = [codes(B, L, 8), weights, floats(3 * D), one(0.02), one(0.01), shown, one(128, np.uint8), one(0, np.int8)]
    agrees(
        "QAttention", *args, constant=(1, 3, 4, 6, 7), num_heads=N, unidirectional=unidirectional, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16])
def test_codes_of_numbers(dtype: Any) -> None:
    x, scale = floats(3, 4, by=9), RNG.uniform(0.05, 0.1, 4).astype(np.float32)
    zero = np.full(4, 7, dtype)
    agrees("QuantizeLinear", x, scale, zero, axis=1)
    agrees("QuantizeLinear", x, one(0.1), one(7, dtype))
    agrees("DequantizeLinear", codes(3, 4, dtype=dtype), scale, zero, axis=1)


@pytest.mark.parametrize("activation", ["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid", "HardSwish"])
def test_convolutions_with_an_activation(activation: str) -> None:
    params = {"LeakyRelu": [0.1], "Clip": [-0.5, 0.5], "HardSigmoid": [0.3, 0.4]}.get(activation)
    options: dict[str, Any] = {"activation": activation} | ({"activation_params": params} if params else {})
    args = [floats(2, 3, 6, 7), floats(4, 3, 3, 3), floats(4), *([] if params else [floats(2, 4, 6, 7)])]
    agrees("FusedConv", *args, pads=[1] * 4, rtol=1e-4, atol=1e-5, **options)


def test_products_with_something_done_to_them() -> None:
    a, b, c = floats(3, 4), floats(5, 4), floats(5)
    agrees("FusedGemm", a, b, c, transB=1, alpha=0.5, beta=2.0, activation="LeakyRelu", activation_alpha=0.1)
    for activation in ("ParametricSoftplus", "ScaledTanh", "Softplus", "Elu"):  # the two last take fewer parameters
        agrees("FusedGemm", a, b, c, transB=1, activation=activation, activation_alpha=0.5, activation_beta=0.7)
    agrees("FusedMatMul", floats(2, 3, 4), floats(2, 5, 4), transB=1, alpha=0.25)
    agrees("FusedMatMul", floats(3, 2, 4), floats(2, 4, 5), transBatchA=1)


@pytest.mark.parametrize("segments", [False, True])
def test_embeddings(segments: bool) -> None:
    ids = RNG.integers(0, 9, (B, L)).astype(np.int32)
    args = [ids, ids % 2 if segments else None, floats(9, 8), floats(7, 8), floats(2, 8) if segments else None]
    args += [floats(8), floats(8), RNG.integers(0, 2, (B, L)).astype(np.int32)]
    agrees("EmbedLayerNormalization", *args, outputs=3, epsilon=1e-5, rtol=1e-4, atol=1e-5)


def test_small_tools() -> None:
    agrees("CDist", floats(4, 3), floats(5, 3), metric="euclidean", rtol=1e-4, atol=1e-5)
    agrees("CDist", floats(4, 3), floats(5, 3), metric="sqeuclidean", rtol=1e-4, atol=1e-5)
    agrees("Inverse", floats(2, 3, 3) + 3 * np.eye(3, dtype=np.float32), compiled=False, rtol=1e-3, atol=1e-4)
    agrees("Trilu", floats(3, 4), np.array(1), constant=(1,), upper=0)
    agrees("Unique", np.array([2, 1, 1, 3, 2], np.float32), outputs=3, compiled=False)
    agrees("Pad", floats(2, 3), np.array([1, 0, 0, 2]), np.array([7], np.float32), constant=(1,))
    agrees("MurmurHash3", RNG.integers(0, 2**31, 5).astype(np.int32), compiled=False, seed=3)
    agrees("NGramRepeatBlock", RNG.integers(0, 3, (2, 6)), floats(2, 4), compiled=False, ngram_size=2)
