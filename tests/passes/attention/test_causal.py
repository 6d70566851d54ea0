"""A mask that says only that nobody sees what comes after it is a flag."""

from __future__ import annotations

import pytest

from ingot.passes.attention import take_causal_masks
from passes.written import applied, parsed

INPUTS = "float[b, 4, n, 8] q, float[b, 4, n, 8] k, float[b, 4, n, 8] v"
HELD = """<float one = {1}, float zero = {0}, float low = {-3.4e38}, float none = {-inf},
    int64 first = {0}, int64 step = {1}, int64[2] row = {1, -1}, int64[2] column = {-1, 1}, int64 above = {1}>"""
ONES = "s = Shape<start = 2, end = 3> (q)\n sq = Concat<axis = 0> (s, s)\n o = Expand (one, sq)\n"
RANGE = """s = Shape<start = 2, end = 3> (q)\n c = Squeeze (s)\n r = Range (first, c, step)
    a = Reshape (r, row)\n d = Reshape (r, column)\n"""
MASKS = {
    "trilu": f"{ONES} t = Trilu<upper = 0> (o)\n h = Equal (t, zero)\n mask = Where (h, low, zero)",
    "trilu as booleans": f"{ONES} t = Trilu<upper = 0> (o)\n h = Cast<to = 9> (t)\n mask = Where (h, zero, none)",
    "numbers": f"{RANGE} h = LessOrEqual (a, d)\n mask = Where (h, zero, none)",
    "numbers turned round": f"{RANGE} h = GreaterOrEqual (d, a)\n mask = Where (h, zero, low)",
    "numbers of what is hidden": f"{RANGE} h = Greater (a, d)\n mask = Where (h, low, zero)",
    "a boolean mask": f"{RANGE} h = Greater (a, d)\n mask = Not (h)",
}
OTHERS = {
    "the upper half": f"{ONES} t = Trilu<upper = 1> (o)\n h = Equal (t, zero)\n mask = Where (h, low, zero)",
    "another diagonal": f"{ONES} t = Trilu<upper = 0> (o, above)\n h = Equal (t, zero)\n mask = Where (h, low, zero)",
    "what comes after": f"{RANGE} h = GreaterOrEqual (a, d)\n mask = Where (h, zero, low)",
    "without itself": f"{RANGE} h = Less (a, d)\n mask = Where (h, zero, low)",
    "a small number": f"{RANGE} h = LessOrEqual (a, d)\n mask = Where (h, zero, one)",
}


@pytest.mark.parametrize("name", MASKS)
def test_a_causal_mask_becomes_a_flag(name: str) -> None:
    model = parsed(f"g ({INPUTS}) => (float[b, 4, n, 8] y) {HELD} {{ {MASKS[name]}\n y = Attention (q, k, v, mask) }}")
    assert applied(take_causal_masks, model) == (1, ["y = Attention(q, k, v)"])
    assert model.graph.nodes[0].get("is_causal") == 1


@pytest.mark.parametrize("name", OTHERS)
def test_another_mask_stays(name: str) -> None:
    text = f"g ({INPUTS}) => (float[b, 4, n, 8] y) {HELD} {{ {OTHERS[name]}\n y = Attention (q, k, v, mask) }}"
    assert applied(take_causal_masks, text)[0] == 0


@pytest.mark.parametrize(("held", "count"), [("0, -inf, 0, 0", 1), ("0, -1e9, 0, 0", 0), ("0, 0, -inf, 0", 0)])
def test_a_constant_mask_is_looked_at(held: str, count: int) -> None:
    text = f"""g (float[b, 4, 2, 8] q, float[b, 4, 2, 8] k, float[b, 4, 2, 8] v) => (float[b, 4, 2, 8] y)
        <float[1, 2, 2] mask = {{{held}}}> {{ y = Attention (q, k, v, mask) }}"""
    assert applied(take_causal_masks, text)[0] == count
