"""Attention of one new token, embeddings of bytes, and other parts of decoders, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ops.contrib.peer import agrees
from ops.ml.one_node import evaluate

RNG = np.random.default_rng(18)
B, N, H, MOST = 4, 2, 4, 6


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def run(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    return evaluate(op_type, *inputs, domain="com.microsoft", version=1, **attributes)


def inputs(past: int, beams: bool, bias: bool, mask: bool) -> list[Any]:
    q, k, v = (floats(B, 1, N * H) for _ in range(3))
    shown = RNG.integers(0, 2, (B, past + 1)).astype(np.int32) if mask else None
    buffers = [floats(B, N, MOST, H) for _ in range(2)]
    more = [np.array([2], np.int32), RNG.integers(0, 2, (B // 2, 2, MOST)).astype(np.int32)] if beams else [None, None]
    return [q, k, v, shown, None, *buffers, np.array([past], np.int32), *more, floats(3 * N * H) if bias else None]


@pytest.mark.parametrize("beams", [False, True])
@pytest.mark.parametrize(("past", "bias", "mask"), [(1, False, False), (4, True, False), (4, False, True)])
def test_a_token_reads_what_a_buffer_holds(past: int, beams: bool, bias: bool, mask: bool) -> None:
    args = inputs(past, beams, bias, mask)
    while args[-1] is None:
        args.pop()
    options: dict[str, Any] = {"num_heads": N, "past_present_share_buffer": 1}
    agrees("DecoderMaskedMultiHeadAttention", *args, outputs=3, compiled=False, **options)


def test_a_token_reads_another_sequence() -> None:
    args = [floats(B, 1, N * H), floats(B, N, 5, H), floats(B, N, 5, H)]
    agrees("DecoderMaskedMultiHeadAttention", *args, num_heads=N)


def test_what_does_not_go_together_is_refused() -> None:
    args = inputs(2, True, False, False)[:-1]
    name = "DecoderMaskedMultiHeadAttention"
    with pytest.raises(CheckError, match="past_present_share_buffer is 0"):
        run(name, *args, num_heads=N)
    with pytest.raises(InputError, match="no cache_indirection"):
        run(name, *args[:-1], num_heads=N, past_present_share_buffer=1)
    with pytest.raises(ShapeError, match="expected one token"):
        run(name, floats(B, 2, N * H), num_heads=N)
    args[-1][0, 0, 0] = 2
    with pytest.raises(InputError, match="cache_indirection goes from"):
        run(name, *args, num_heads=N, past_present_share_buffer=1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("mask", [False, True])
def test_embeddings_of_bytes(dtype: Any, segments: bool, mask: bool) -> None:
    limits = np.iinfo(dtype)

    def codes(*shape: int) -> Any:
        return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)

    ids = RNG.integers(0, 9, (2, 5)).astype(np.int32)
    tables = [codes(9, 8), codes(7, 8), codes(2, 8) if segments else None, codes(8), codes(8)]
    scales: list[Any] = [RNG.uniform(0.01, 0.1, ()).astype(np.float32) for _ in tables]
    points: list[Any] = [codes() for _ in tables]
    if not segments:
        scales[2] = points[2] = None
    shown = RNG.integers(0, 2, (2, 5)).astype(np.int32) if mask else None
    args = [
        ids,
        ids % 2 if segments else None,
        *tables,
        shown,
        *scales,
        *(None if p is None else np.asarray(p) for p in points),
    ]
    agrees("QEmbedLayerNormalization", *args, outputs=2, rtol=1e-4, atol=1e-5)
