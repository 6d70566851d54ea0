"""Attention and rotations in primitives: shared heads, pasts, masks, windows, sizes with names."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.session import Session
from lower.agreement import agree, lowered

RTOL, ATOL = 1e-4, 1e-5


def floats(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    "attributes", ["scale = 0.5", "is_causal = 1", "is_causal = 1, left_window_size = 2", "softcap = 2.0, scale = 0.3"]
)
@pytest.mark.parametrize("past", [0, 3])
def test_attention_with_shared_heads_and_a_past_agrees(attributes: str, past: int) -> None:
    graph = f"""g (float[B, 4, L, 6] q, float[B, 2, K, 6] k, float[B, 2, K, 5] v, float[B, 2, P, 6] pk,
    float[B, 2, P, 5] pv) => (y, a, b, s) {{ y, a, b, s = Attention <{attributes}> (q, k, v, , pk, pv) }}"""
    feeds = {"q": floats(2, 4, 3, 6), "k": floats(2, 2, 4, 6), "v": floats(2, 2, 4, 5)}
    agree(graph, RTOL, ATOL, pk=floats(2, 2, past, 6), pv=floats(2, 2, past, 5), **feeds)


@pytest.mark.parametrize("mode", range(4))
def test_attention_without_an_axis_of_heads_agrees(mode: int) -> None:
    graph = f"""g (float[B, L, 8] q, float[B, K, 4] k, float[B, K, 6] v, bool[L, K] m) => (y, a, b, s)
    {{ y, a, b, s = Attention <q_num_heads = 4, kv_num_heads = 2, qk_matmul_output_mode = {mode}> (q, k, v, m) }}"""
    mask = np.random.default_rng(3).random((3, 5)) > 0.4
    mask[1] = False
    agree(graph, RTOL, ATOL, q=floats(2, 3, 8), k=floats(2, 5, 4), v=floats(2, 5, 6), m=mask)


def test_a_short_mask_hides_the_keys_behind_it() -> None:
    graph = (
        """g (float[B, 2, L, 4] q, float[B, 2, 5, 4] k, float[B, 1, L, 3] m) => (y) { y = Attention (q, k, k, m) }"""
    )
    mask = floats(2, 1, 3, 3)
    mask[0, 0, 1] = -np.inf
    agree(graph, RTOL, ATOL, q=floats(2, 2, 3, 4), k=floats(2, 2, 5, 4), m=mask)


def test_a_mask_of_another_name_is_read_if_it_is_as_long_as_the_keys() -> None:
    graph = "g (float[B, 2, L, 4] q, float[B, 2, K, 4] k, float[L, M] m) => (y) { y = Attention (q, k, k, m) }"
    feeds = {"q": floats(2, 2, 3, 4), "k": floats(2, 2, 5, 4)}
    agree(graph, RTOL, ATOL, **feeds, m=floats(3, 5))
    session, slow = (Session(lowered(graph)[0], providers=names) for names in (("cpu", "reference"), ("reference",)))
    short = {**feeds, "m": floats(3, 4)}  # what is left out is hidden, which the reference sees to
    found = session.run(None, short)[0]
    np.testing.assert_allclose(found, slow.run(None, short)[0], RTOL, ATOL)


def test_lengths_beyond_the_keys_are_an_error_of_the_run() -> None:
    graph = """g (float[B, 2, L, 4] q, float[B, 2, K, 4] k, int64[B] n) => (y)
    { y = Attention <is_causal = 1> (q, k, k, , , , n) }"""
    feeds = {"q": floats(2, 2, 3, 4), "k": floats(2, 2, 5, 4)}
    agree(graph, RTOL, ATOL, n=np.array([5, 0]), **feeds)
    session = Session(lowered(graph)[0], providers=("cpu", "reference"), fallback=False)
    with pytest.raises(InputError, match="nonpad_kv_seqlen"):
        session.run(None, {**feeds, "n": np.array([5, 6])})


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turned", [0, 4])
def test_rotations_agree_with_heads_and_without(interleaved: int, turned: int) -> None:
    attributes = f"interleaved = {interleaved}, rotary_embedding_dim = {turned}"
    cache, places = floats(9, (turned or 6) // 2), np.random.default_rng(1).integers(0, 9, (2, 3))
    given = f"float[T, {(turned or 6) // 2}] c, float[T, {(turned or 6) // 2}] s, int64[B, L] p"
    four = f"g (float[B, 2, L, 6] x, {given}) => (y) {{ y = RotaryEmbedding <{attributes}> (x, c, s, p) }}"
    agree(four, RTOL, ATOL, x=floats(2, 2, 3, 6), c=cache, s=cache + 1, p=places)
    three = (
        f"g (float[B, L, 12] x, {given}) => (y) {{ y = RotaryEmbedding <{attributes}, num_heads = 2> (x, c, s, p) }}"
    )
    agree(three, RTOL, ATOL, x=floats(2, 3, 12), c=cache, s=cache + 1, p=places)
