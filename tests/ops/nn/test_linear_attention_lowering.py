"""LinearAttention and FlexAttention in machine code: what the reference gives."""

from __future__ import annotations

import numpy as np
import pytest

from lower.machine import runs

RULES = {"linear": "", "gated": "decay", "delta": "beta", "gated_delta": "decay beta"}


def draws(*shape: int) -> np.ndarray:
    return (np.random.default_rng(len(shape)).random(shape) - 0.5).astype(np.float32)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("length", [0, 1, 5])
def test_states_of_each_rule(rule: str, length: int) -> None:
    gates = RULES[rule].split()
    feeds = {"q": draws(2, length, 12), "k": draws(2, length, 6), "v": draws(2, length, 8), "s": draws(2, 2, 3, 4)}
    feeds |= {name: draws(2, length, 2) for name in gates}
    inputs = ", ".join(f"float[b, t, {feeds[name].shape[2]}] {name}" for name in ("q", "k", "v", *gates))
    given = [name if name in gates else "" for name in ("decay", "beta")]
    names = ", ".join(["q, k, v, s", *given]).rstrip(", ")
    runs(
        f"g ({inputs}, float[b, 2, 3, 4] s) => (y, p) {{"
        f' y, p = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = "{rule}"> ({names}) }}',
        feeds,
        rtol=1e-4,
        atol=1e-5,
    )


def test_half_precision_and_no_past() -> None:
    x = draws(1, 4, 6).astype(np.float16)
    runs(
        "g (float16[b, t, 6] x) => (y, p) {"
        ' y, p = LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = "linear"> (x, x, x) }',
        {"x": x},
        rtol=1e-2,
        atol=1e-3,
    )
