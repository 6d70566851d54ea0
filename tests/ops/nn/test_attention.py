"""Attention and its kin beyond the standard's cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ops.reduction.one_node import evaluate, inferred

RNG = np.random.default_rng(5)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


Q, K, V = floats(2, 4, 3, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)
FLOAT_4: Any = ("float32", [2, 2, 5, 8])


def packed(x: Any) -> Any:
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


@pytest.mark.parametrize("opset", [23, 24, 25, 26, 27, 28])
def test_heads_may_be_packed_in_every_opset_that_has_attention(opset: int) -> None:
    apart = evaluate("Attention", Q, K, V, opset=opset, is_causal=1)
    together = evaluate(
        "Attention", packed(Q), packed(K), packed(V), opset=opset, is_causal=1, q_num_heads=4, kv_num_heads=2
    )
    np.testing.assert_allclose(together, packed(apart), rtol=1e-5, atol=1e-6)


def test_the_number_of_heads_may_be_repeated_as_older_readings_allow() -> None:
    same = evaluate("Attention", Q, K, V, opset=25, q_num_heads=4, kv_num_heads=2)
    np.testing.assert_array_equal(same, evaluate("Attention", Q, K, V, opset=24))
    with pytest.raises(ShapeError, match="q has 4 heads, and the attribute says 3"):
        evaluate("Attention", Q, K, V, q_num_heads=3, kv_num_heads=2)


def test_a_window_is_a_mask() -> None:
    q, k, v = floats(1, 1, 6, 4), floats(1, 1, 6, 4), floats(1, 1, 6, 4)
    ahead = np.arange(6) - np.arange(6)[:, None]
    for left, right in ((2, 1), (0, -1), (-1, 0)):
        allowed = (ahead >= -left if left >= 0 else True) & (ahead <= right if right >= 0 else True)
        found = evaluate("Attention", q, k, v, left_window_size=left, right_window_size=right)
        np.testing.assert_allclose(found, evaluate("Attention", q, k, v, allowed), rtol=1e-5, atol=1e-6)


def test_a_query_that_sees_nothing_reads_zero() -> None:
    y, _, _, weights = evaluate("Attention", Q, K, V, np.zeros((3, 5), np.bool_), outputs=4, qk_matmul_output_mode=3)
    assert not y.any()
    assert not weights.any()
    assert not evaluate("Attention", Q, K[:, :, :0], V[:, :, :0]).any()


def test_a_cache_inside_and_one_outside_agree() -> None:
    past, fresh = K[:, :, :2], K[:, :, 2:]
    inside = evaluate("Attention", Q, fresh, V[:, :, 2:], None, past, V[:, :, :2], is_causal=1)
    lengths = np.array([5, 5])
    outside = evaluate("Attention", Q, K, V, None, None, None, lengths, is_causal=1)
    np.testing.assert_allclose(inside, outside, rtol=1e-5, atol=1e-6)


def test_integers_in_a_mask_are_added() -> None:
    mask = RNG.integers(-3, 3, (3, 5))
    found = evaluate("Attention", Q, K, V, mask.astype(np.int8))
    np.testing.assert_allclose(found, evaluate("Attention", Q, K, V, mask.astype(np.float32)), rtol=1e-5)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_scores_are_put_out_at_each_stage(mode: int) -> None:
    mask = floats(3, 5)
    found = evaluate("Attention", Q, K, V, mask, outputs=4, qk_matmul_output_mode=mode, softcap=2.0)[3]
    raw = np.matmul(Q, np.repeat(K, 2, 1).swapaxes(2, 3)) / np.sqrt(8)
    capped = 2 * np.tanh(raw / 2)
    weights = np.exp(capped + mask) / np.exp(capped + mask).sum(-1, keepdims=True)
    np.testing.assert_allclose(found, (raw, capped, capped + mask, weights)[mode], rtol=1e-4, atol=1e-5)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(ShapeError, match="4 heads of queries cannot share 3"):
        evaluate("Attention", Q, floats(2, 3, 5, 8), floats(2, 3, 5, 6))
    with pytest.raises(ShapeError, match="head sizes of q and k differ: 8 and 7"):
        evaluate("Attention", Q, floats(2, 2, 5, 7), V)
    with pytest.raises(ShapeError, match="attn_mask has shape"):
        evaluate("Attention", Q, K, V, floats(4, 5))
    with pytest.raises(CheckError, match="together"):
        evaluate("Attention", Q, K, V, None, K)
    with pytest.raises(ShapeError, match="past_value has 3 axes, expected 4"):
        inferred("Attention", [FLOAT_4, FLOAT_4, FLOAT_4, None, FLOAT_4, ("float32", [2, 2, 5])])
    with pytest.raises(ShapeError, match="past_key has size 3 along axis 1, expected 2"):
        inferred("Attention", [FLOAT_4, FLOAT_4, FLOAT_4, None, ("float32", [2, 3, 5, 8]), FLOAT_4])
    with pytest.raises(InputError, match="nonpad_kv_seqlen is"):
        evaluate("Attention", Q, K, V, None, None, None, np.array([9, 1]))
    with pytest.raises(CheckError, match="left_window_size is -2"):
        evaluate("Attention", Q, K, V, left_window_size=-2)
    with pytest.raises(CheckError, match="number of its heads"):
        evaluate("Attention", packed(Q), packed(K), packed(V))


def test_attention_of_symbolic_sizes() -> None:
    q: Any = ("float16", ["b", "s", 32])
    k: Any = ("float16", ["b", "t", 16])
    past: Any = ("float16", ["b", 2, "p", 8])
    found = inferred("Attention", [q, k, k, None, past, past], outputs=4, q_num_heads=4, kv_num_heads=2)
    total = found[1].split(", ")[2]
    assert total in ("p + t", "t + p")
    assert found == [
        "float16[b, s, 32]",
        f"float16[b, 2, {total}, 8]",
        f"float16[b, 2, {total}, 8]",
        f"float16[b, 4, s, {total}]",
    ]


def test_linear_attention_goes_on_where_it_stopped() -> None:
    q, k, v = floats(2, 6, 16), floats(2, 6, 8), floats(2, 6, 10)
    decay, beta = -np.abs(floats(2, 6, 2)), np.abs(floats(2, 6, 1)) / 4
    heads = {"q_num_heads": 4, "kv_num_heads": 2}
    whole, last = evaluate("LinearAttention", q, k, v, None, decay, beta, outputs=2, **heads)
    parts, state = [], np.zeros((2, 2, 4, 5), np.float32)
    for t in range(6):
        here = slice(t, t + 1)
        y, state = evaluate(
            "LinearAttention",
            q[:, here],
            k[:, here],
            v[:, here],
            state,
            decay[:, here],
            beta[:, here],
            outputs=2,
            **heads,
        )
        parts.append(y)
    np.testing.assert_allclose(np.concatenate(parts, 1), whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(state, last, rtol=1e-4, atol=1e-5)


def test_linear_attention_wants_just_what_its_rule_uses() -> None:
    x = floats(1, 2, 4)
    with pytest.raises(CheckError, match="decay must be given"):
        evaluate("LinearAttention", x, x, x, q_num_heads=1, kv_num_heads=1, outputs=2)
    with pytest.raises(CheckError, match="update_rule is 'new'"):
        evaluate("LinearAttention", x, x, x, q_num_heads=1, kv_num_heads=1, update_rule="new", outputs=2)
    with pytest.raises(CheckError, match="multiple"):
        evaluate("LinearAttention", x, x, x, q_num_heads=2, kv_num_heads=4, update_rule="linear", outputs=2)


def test_turning_by_no_angle_changes_nothing_and_by_two_adds() -> None:
    x, angles = floats(2, 3, 4, 6), floats(2, 4, 3)
    none = np.zeros_like(angles)
    for interleaved in (0, 1):
        turn = {"interleaved": interleaved}
        np.testing.assert_array_equal(evaluate("RotaryEmbedding", x, np.cos(none), np.sin(none), **turn), x)
        once = evaluate("RotaryEmbedding", x, np.cos(angles), np.sin(angles), **turn)
        twice = evaluate("RotaryEmbedding", once, np.cos(angles), np.sin(angles), **turn)
        both = evaluate("RotaryEmbedding", x, np.cos(2 * angles), np.sin(2 * angles), **turn)
        np.testing.assert_allclose(twice, both, rtol=1e-4, atol=1e-5)


def test_a_position_outside_of_the_cache_is_refused() -> None:
    x, cache = floats(1, 1, 2, 4), floats(3, 2)
    for positions in ([[0, 3]], [[-1, 0]]):
        with pytest.raises(InputError, match="cos_cache has 3 rows"):
            evaluate("RotaryEmbedding", x, cache, cache, np.array(positions))
    with pytest.raises(ShapeError, match="cannot be turned in pairs"):
        evaluate("RotaryEmbedding", floats(1, 1, 2, 5), cache, cache, np.array([[0, 1]]))
