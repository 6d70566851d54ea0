"""Attention and positions against a plain attention, head by head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.runtime.limits import LimitError
from ops.ml.one_node import evaluate, inferred

RNG = np.random.default_rng(7)
B, S, N, H = 2, 3, 2, 4
D = N * H


def run(op_type: str, *inputs: Any, **attributes: Any) -> Any:
    return evaluate(op_type, *inputs, domain="com.microsoft", version=1, **attributes)


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def heads(x: Any, count: int = N) -> Any:
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def plain(q: Any, k: Any, v: Any, mask: Any = 0.0) -> Any:
    """Heads of queries, keys and values to hidden states."""
    scores = q @ np.swapaxes(k, 2, 3) / np.sqrt(q.shape[3]) + mask
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    y = e / e.sum(axis=-1, keepdims=True) @ v
    return y.swapaxes(1, 2).reshape(y.shape[0], y.shape[2], -1)


def close(mine: Any, expected: Any) -> None:
    np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-5)


CAUSAL = np.where(np.tri(S, dtype=bool), 0, -1e9)


def test_heads_attend_with_their_biases() -> None:
    q, k, v, bias = floats(B, S, D), floats(B, 5, D), floats(B, 5, D), floats(3 * D)
    y = run("MultiHeadAttention", q, k, v, bias, num_heads=N)
    close(y, plain(*(heads(x + part) for x, part in zip((q, k, v), np.split(bias, 3), strict=True))))


@pytest.mark.parametrize("kind", ["lengths", "keys", "queries"])
def test_masked_keys_are_not_read(kind: str) -> None:
    q, k, v = floats(B, S, D), floats(B, S, D), floats(B, S, D)
    seen = np.array([[1, 1, 0], [1, 0, 0]], np.int32)
    mask = {"lengths": seen.sum(axis=1).astype(np.int32), "keys": seen, "queries": np.repeat(seen[:, None], S, axis=1)}
    y = run("MultiHeadAttention", q, k, v, None, mask[kind], num_heads=N)
    close(y, plain(heads(q), heads(k), heads(v), np.where(seen, 0, -1e9)[:, None, None]))


def test_the_past_is_read_and_kept() -> None:
    q, k, v = floats(B, S, D), floats(B, S, D), floats(B, S, D)
    past_k, past_v = floats(B, N, 5, H), floats(B, N, 5, H)
    y, keys, values = run(
        "MultiHeadAttention", q, k, v, None, None, None, past_k, past_v, outputs=3, num_heads=N, unidirectional=1
    )
    close(keys, np.concatenate([past_k, heads(k)], axis=2))
    close(values, np.concatenate([past_v, heads(v)], axis=2))
    close(y, plain(heads(q), keys, values, np.concatenate([np.zeros((S, 5)), CAUSAL], axis=1)))


def test_a_buffer_takes_new_keys_behind_those_it_holds() -> None:
    q, k, v = floats(B, 1, D), floats(B, 1, D), floats(B, 1, D)
    past_k, past_v = floats(B, N, 6, H), floats(B, N, 6, H)
    held = np.array([2], np.int32)
    y, keys, _ = run("MultiHeadAttention", q, k, v, None, None, None, past_k, past_v, held, outputs=3, num_heads=N)
    assert keys.shape == (B, N, 6, H)
    close(keys[:, :, 2:3], heads(k))
    close(keys[:, :, 3:], past_k[:, :, 3:])
    values = np.concatenate([past_v[:, :, :2], heads(v)], axis=2)
    close(y, plain(heads(q), keys[:, :, :3], values))
    with pytest.raises(InputError, match="1 more do not fit a buffer of 6"):
        run("MultiHeadAttention", q, k, v, None, None, None, past_k, past_v, held * 3, outputs=3, num_heads=N)


def test_queries_keys_and_values_may_be_packed() -> None:
    q, k, v = floats(B, S, D), floats(B, S, D), floats(B, S, D)
    expected = plain(heads(q), heads(k), heads(v))
    split = [x.reshape(B, S, N, H) for x in (q, k, v)]
    close(run("MultiHeadAttention", np.stack(split, axis=3), num_heads=N), expected)
    close(run("MultiHeadAttention", q, np.stack(split[1:], axis=3), num_heads=N), expected)
    close(run("MultiHeadAttention", q, heads(k), heads(v), num_heads=N), expected)


def test_what_attention_cannot_do_is_said() -> None:
    q = floats(B, S, D)
    with pytest.raises(CheckError, match="there is no key"):
        run("MultiHeadAttention", q, num_heads=N)
    with pytest.raises(CheckError, match="num_heads is 0"):
        run("MultiHeadAttention", q, q, q, num_heads=0)
    with pytest.raises(ShapeError, match="no multiple of 3 heads"):
        run("MultiHeadAttention", q, q, q, num_heads=3)
    with pytest.raises(ShapeError, match="the mask has shape"):
        run("MultiHeadAttention", q, q, q, None, np.ones((B, 7), np.int32), num_heads=N)
    with pytest.raises(UnsupportedError, match="do_rotary"):
        run("Attention", q, floats(D, 3 * D), num_heads=N, do_rotary=1)


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_a_hidden_state_is_projected_to_its_queries_keys_and_values(unidirectional: int) -> None:
    x, w, bias, past = floats(B, S, 6), floats(6, 3 * D), floats(3 * D), floats(2, B, N, 5, H)
    q, k, v = (heads(part) for part in np.split(x @ w + bias, 3, axis=2))
    mask = CAUSAL if unidirectional else np.zeros((S, S))
    close(run("Attention", x, w, bias, num_heads=N, unidirectional=unidirectional), plain(q, k, v, mask))
    y, present = run("Attention", x, w, bias, None, past, outputs=2, num_heads=N, unidirectional=unidirectional)
    keys, values = (np.concatenate([p, n], axis=2) for p, n in zip(past, (k, v), strict=True))
    close(present, np.stack([keys, values]))
    close(y, plain(q, keys, values, np.concatenate([np.zeros((S, 5)), mask], axis=1)))


def test_values_may_be_of_another_size() -> None:
    x, w = floats(B, S, 6), floats(6, 2 * D + N)
    y = run("Attention", x, w, num_heads=N, qkv_hidden_sizes=[D, D, N])
    q, k, v = (heads(part) for part in np.split(x @ w, [D, 2 * D], axis=2))
    close(y, plain(q, k, v))
    with pytest.raises(CheckError, match="qkv_hidden_sizes"):
        run("Attention", x, w, num_heads=N, qkv_hidden_sizes=[D, D, D])


def test_the_start_and_end_of_each_sequence_may_mask() -> None:
    x, w = floats(B, S, 6), floats(6, 3 * D)
    y = run("Attention", x, w, None, np.array([3, 2, 1, 0], np.int32), num_heads=N)
    q, k, v = (heads(part) for part in np.split(x @ w, 3, axis=2))
    seen = np.array([[0, 1, 1], [1, 1, 0]])
    close(y, plain(q, k, v, np.where(seen, 0, -1e9)[:, None, None]))


def test_bytes_are_projected() -> None:
    x, w, bias = (RNG.integers(0, 256, s).astype(np.uint8) for s in ((B, S, 6), (6, 3 * D), (3 * D,)))
    point = np.array(128, np.uint8)
    scales = np.array(0.01, np.float32), np.array(0.02, np.float32)
    y = run("QAttention", x, w, bias.astype(np.float32), *scales, None, point, point, num_heads=N)
    real = (x.astype(np.float32) - 128) * scales[0] @ ((w.astype(np.float32) - 128) * scales[1]) + bias
    np.testing.assert_allclose(y, plain(*(heads(p) for p in np.split(real, 3, axis=2))), rtol=1e-3, atol=1e-3)


def lengths(*values: int) -> Any:
    return np.array(values, np.int32)


def grouped(*inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
    return run("GroupQueryAttention", *inputs, outputs=outputs, num_heads=4, kv_num_heads=2, **attributes)


def test_a_prompt_is_read_by_groups_of_heads() -> None:
    q, k, v = floats(B, S, 4 * H), floats(B, S, 2 * H), floats(B, S, 2 * H)
    shared_k, shared_v = (np.repeat(heads(x, 2), 2, axis=1) for x in (k, v))
    y, keys, _ = grouped(q, k, v, None, None, lengths(2, 2), lengths(3), outputs=3)
    close(y, plain(heads(q, 4), shared_k, shared_v, CAUSAL))
    close(keys, heads(k, 2))
    close(grouped(np.concatenate([q, k, v], axis=2), None, None, None, None, lengths(2, 2), lengths(3)), y)
    close(grouped(q, k, v, None, None, lengths(2, 2), lengths(3), causal=0), plain(heads(q, 4), shared_k, shared_v))
    near = np.where(np.tri(S, dtype=bool) & ~np.tri(S, k=-2, dtype=bool), 0, -1e9)
    close(
        grouped(q, k, v, None, None, lengths(2, 2), lengths(3), local_window_size=2),
        plain(heads(q, 4), shared_k, shared_v, near),
    )


def test_sequences_of_different_lengths_put_their_keys_in_different_places() -> None:
    q, k, v = floats(B, 1, 4 * H), floats(B, 1, 2 * H), floats(B, 1, 2 * H)
    past_k, past_v = floats(B, 2, 5, H), floats(B, 2, 5, H)
    y, keys, values = grouped(q, k, v, past_k, past_v, lengths(5, 3), lengths(6), outputs=3)
    assert keys.shape == (B, 2, 6, H)
    close(keys[0, :, 5], heads(k, 2)[0, :, 0])
    close(keys[1, :, 3], heads(k, 2)[1, :, 0])
    close(keys[1, :, 4:], np.zeros((2, 2, H)))
    seen = np.arange(6) < np.array([6, 4])[:, None]
    shared_k, shared_v = (np.repeat(x, 2, axis=1) for x in (keys, values))
    close(y, plain(heads(q, 4), shared_k, shared_v, np.where(seen, 0, -1e9)[:, None, None]))


def test_scores_are_capped_and_a_sink_takes_its_share() -> None:
    q, k, v = floats(1, 1, 4 * H), floats(1, 1, 2 * H), floats(1, 1, 2 * H)
    args = [q, k, v, None, None, lengths(0), lengths(1)]
    spread = np.repeat(heads(v, 2), 2, axis=1)
    score = (heads(q, 4) * np.repeat(heads(k, 2), 2, axis=1)).sum(axis=-1, keepdims=True) / 2
    share = np.exp(score) / (np.exp(score) + 1)
    close(grouped(*args, smooth_softmax=1), (share * spread).swapaxes(1, 2).reshape(1, 1, -1))
    _, _, _, shown = grouped(*args, outputs=4, qk_output=1, softcap=0.5)
    close(shown, 0.5 * np.tanh(score / 0.5))


def test_queries_and_keys_are_turned_by_position() -> None:
    q, k, v = floats(1, S, 4 * H), floats(1, S, 2 * H), floats(1, S, 2 * H)
    cos, sin = floats(8, H // 2), floats(8, H // 2)
    args = [None, None, lengths(2), lengths(3)]
    turned = [run("RotaryEmbedding", x, np.array([0]), cos, sin) for x in (q, k)]
    close(grouped(q, k, v, *args, cos, sin, do_rotary=1), grouped(*turned, v, *args))


def test_what_a_cache_cannot_do_is_said() -> None:
    q, k = floats(1, 1, 4 * H), floats(1, 1, 2 * H)
    with pytest.raises(InputError, match="3 past keys are needed, there are 0"):
        grouped(q, k, k, None, None, lengths(3), lengths(4))
    with pytest.raises(InputError, match="outside 0 to 2"):
        grouped(q, k, k, None, None, lengths(3), lengths(2))
    with pytest.raises(CheckError, match="keys are quantised PER_TENSOR and values NONE"):
        grouped(q, k, k, None, None, lengths(0), lengths(1), k_quant_type="PER_TENSOR")
    both: Any = {"k_quant_type": "PER_TENSOR", "v_quant_type": "PER_TENSOR"}
    with pytest.raises(CheckError, match="kv_cache_bit_width is 0"):
        grouped(q, k, k, None, None, lengths(0), lengths(1), **both)
    with pytest.raises(InputError, match="k_scale is needed"):
        grouped(q, k, k, None, None, lengths(0), lengths(1), **both, kv_cache_bit_width=8)
    with pytest.raises(CheckError, match="takes causal attention"):
        grouped(q, k, k, None, None, lengths(0), lengths(1), causal=0, local_window_size=2)
    with pytest.raises(LimitError, match="bytes"):
        grouped(q, k, k, None, None, lengths(0), lengths(2**31 - 1))


@pytest.mark.parametrize("interleaved", [0, 1])
def test_pairs_are_turned(interleaved: int) -> None:
    x = floats(1, 2, 4)
    angle = np.array([[0.1, 0.2], [0.3, 0.4]])
    y = run(
        "RotaryEmbedding",
        x,
        np.array([[1, 0]]),
        np.cos(angle).astype(np.float32),
        np.sin(angle).astype(np.float32),
        interleaved=interleaved,
    )
    pairs = [(0, 1), (2, 3)] if interleaved else [(0, 2), (1, 3)]
    for token, row in enumerate((1, 0)):
        for (a, b), turn in zip(pairs, angle[row], strict=True):
            expected = (x[0, token, a] + 1j * x[0, token, b]) * np.exp(1j * turn)
            np.testing.assert_allclose(y[0, token, [a, b]], [expected.real, expected.imag], rtol=1e-5)


def test_a_position_outside_the_cache_is_refused() -> None:
    with pytest.raises(InputError, match="cos_cache has 4 rows"):
        run("RotaryEmbedding", floats(1, 3, 4), np.array([2]), floats(4, 2), floats(4, 2))


def test_sizes_keep_their_names() -> None:
    given: Any = {"q": (1, ["b", "s", 8]), "k": (1, ["b", "t", 8]), "v": (1, ["b", "t", 6])}
    assert inferred("MultiHeadAttention", given, domain="com.microsoft", version=1, num_heads=2) == "float32[b, s, 6]"
    given = {"x": (1, ["b", "s", 6]), "w": (1, [6, 24])}
    found = inferred("Attention", given, domain="com.microsoft", version=1, outputs=2, num_heads=2)
    assert found == ["float32[b, s, 8]", "float32[2, b, 2, s, 4]"]
