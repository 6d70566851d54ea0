"""Masks as exporters of `transformers` write them: those that hide nothing vanish, others are computed by key."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot import Session
from ingot.dtypes import Array
from ingot.loops.ir import Attention, Load, kernels_in
from ingot.loops.rewrite import parts

_LENGTH = 24

_HEAD = '<ir_version: 10, opset_import: ["" : 24]>'

_ATTENTION = """{head} g (float[b, 4, {t}, 16] q, float[b, 4, {t}, 16] k, float[b, 4, {t}, 16] v{mask}) => (y) <
    float root = {{0.5}}, float zero = {{0}}, float low = {{-3.4028235e38}}, int64 none = {{0}}, int64 one = {{1}},
    int64[1] single = {{1}}, int64[1] first = {{0}}, int64[1] last = {{-1}}, int64[3] front = {{0, 1, 2}},
    int64[3] back = {{1, 2, 3}}, int64[2] both = {{0, 1}}, bool[1, 1, 24, 1] all = {{{ones}}}> {{
    batch = Shape <start = 0, end = 1> (q)
    texts = Squeeze (batch)
    length = Shape <start = 2, end = 3> (q)
    tokens = Squeeze (length)
    places = Range (none, tokens, one)
    numbers = Range (none, texts, one)
    rows = Unsqueeze (numbers, back)
    keys = Unsqueeze (places, front)
    column = Unsqueeze (keys, last)
    queries = Squeeze (column, first)
    {body}
    bias = Where (seen, zero, low)
    turned = Transpose <perm = [0, 1, 3, 2]> (k)
    p = Mul (q, root)
    u = Mul (turned, root)
    scores = MatMul (p, u)
    masked = Add (scores, bias)
    shares = Softmax (masked)
    odd = IsNaN (shares)
    sound = Where (odd, zero, shares)
    y = MatMul (sound, v)
}}"""

_OF_TEXTS = """given = Cast <to = 9> (m)
    highest = Max (rows, keys)
    whole = Shape (highest)
    r = Expand (rows, whole)
    c = Expand (keys, whole)
    r1 = Unsqueeze (r, last)
    c1 = Unsqueeze (c, last)
    at = Concat <axis = -1> (r1, c1)
    here = GatherND (given, at)
"""

_MASKS = {
    "nothing": ("", "whole = Concat <axis = 0> (batch, single, length, length)\n seen = Expand (all, whole)"),
    "keys": (
        ", int64[b, t] m",
        _OF_TEXTS + "real = GreaterOrEqual (queries, none)\n seen = And (here, real)",
    ),
    "keys and what follows": (
        ", int64[b, t] m",
        _OF_TEXTS + "ahead = LessOrEqual (keys, queries)\n seen = And (ahead, here)",
    ),
}
"""What they hide."""


@pytest.mark.parametrize("hidden", _MASKS)
def test_attention_with_a_mask_is_one_kernel_that_reads_no_more_than_the_keys_that_are_seen(hidden: str) -> None:
    mask, body = _MASKS[hidden]
    text = _ATTENTION.format(
        head=_HEAD, mask=mask, body=body, t="t" if mask else _LENGTH, ones=", ".join(["1"] * _LENGTH)
    )
    random = np.random.default_rng(0)
    shape = (2, 4, _LENGTH, 16)
    feeds: dict[str, Array] = {name: random.standard_normal(shape).astype(np.float32) for name in "qkv"}
    if mask:
        feeds["m"] = (random.random((2, _LENGTH)) < 0.7).astype(np.int64)
        feeds["m"][:, 0] = 1
    session = Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    (expected,) = Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)
    np.testing.assert_allclose(session.run(None, feeds)[0], expected, 1e-5, 1e-6)
    assert session.compiled is not None
    (kernel,) = kernels_in(session.compiled.scheduled.steps)
    (nest,) = kernel.nests
    assert isinstance(nest, Attention)
    loads = [part for part in parts([nest.score]) if isinstance(part, Load)]
    assert len(loads) == (1 if mask else 0)
    assert all(load.index.factor(row) == 0 for load in loads for row in nest.m)
