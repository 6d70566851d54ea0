"""Attention is recognised in products and a softmax, however it is scaled and masked."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import ingot
from ingot.infer import infer
from ingot.passes.attention import recognise_products
from ingot.versions.lowest import lowered
from passes.written import applied, compare, parsed, random_feeds

INPUTS = "float[b, 4, n, 8] q, float[b, 4, m, 8] k, float[b, 4, m, 8] v"
HELD = "<float f = {0.25}, float g = {4}, float c = {5}, float zero = {0}, float low = {-3.4e38}, float none = {-inf}>"
KEYS = "t = Transpose<perm = [0, 1, 3, 2]> (k)\n"


def rewritten(body: str, inputs: str = INPUTS) -> list[str]:
    return applied(recognise_products, f"g ({inputs}) => (float[b, 4, n, 8] y) {HELD} {{ {body} }}")[1]


@pytest.mark.parametrize(
    "scores",
    [
        f"{KEYS} s = MatMul (q, t)",
        f"{KEYS} a = MatMul (q, t)\n s = Mul (a, f)",
        f"{KEYS} a = MatMul (q, t)\n s = Div (a, g)",
        f"{KEYS} a = Mul (f, q)\n s = MatMul (a, t)",
        f"{KEYS} a = Div (q, g)\n d = Mul (t, f)\n s = MatMul (a, d)",
    ],
    ids=["no scale", "a factor", "a quotient", "on the queries", "on both sides"],
)
def test_scales_are_found_wherever_they_are(scores: str) -> None:
    assert rewritten(f"{scores}\n w = Softmax (s)\n y = MatMul (w, v)") == ["y = Attention(q, k, v)"]


@pytest.mark.parametrize("mask", ["b, 1, n, m", "1, 4, n, m", "n, m", "4, n, m"])
def test_a_mask_that_is_added_is_given(mask: str) -> None:
    body = (
        f"{KEYS} a = MatMul (q, t)\n d = Mul (a, f)\n s = Add (mask, d)\n w = Softmax<axis = 3> (s)\n y = MatMul (w, v)"
    )
    assert rewritten(body, f"{INPUTS}, float[{mask}] mask") == ["y = Attention(q, k, v, mask)"]


def test_a_mask_for_all_queries_is_repeated_for_each() -> None:
    body = f"{KEYS} a = MatMul (q, t)\n s = Add (mask, a)\n w = Softmax (s)\n y = MatMul (w, v)"
    nodes = rewritten(body, f"{INPUTS}, float[b, 1, 1, m] mask")
    assert nodes[-2:] == ["expand = Expand(mask, concat)", "y = Attention(q, k, v, expand)"]


@pytest.mark.parametrize("mask", ["b, 1, n, 1", "2, b, 4, n, m", "m"])
def test_a_mask_of_another_shape_is_refused(mask: str) -> None:
    body = f"{KEYS} a = MatMul (q, t)\n s = Add (a, mask)\n w = Softmax (s)\n y = MatMul (w, v)"
    model = parsed(f"g ({INPUTS}, float[{mask}] mask) => (y) {{ {body} }}")
    assert recognise_products(model, infer(model)) == 0


def test_a_guard_against_rows_without_a_key_is_what_attention_does_anyway() -> None:
    body = f"""{KEYS} a = MatMul (q, t)\n l = Where (sees, zero, none)\n s = Add (a, l)\n p = Softmax (s)
        n = IsNaN (p)\n w = Where (n, zero, p)\n y = MatMul (w, v)"""
    model = parsed(f"g ({INPUTS}, bool[b, 1, n, m] sees) => (float[b, 4, n, 8] y) {HELD} {{ {body} }}")
    before = model.copy()
    assert applied(recognise_products, model)[1] == ["l = Where(sees, 0.0, -inf)", "y = Attention(q, k, v, l)"]
    generator = np.random.default_rng(2)
    feeds = {name: generator.standard_normal((2, 4, 3, 8)).astype(np.float32) for name in "qkv"}
    sees = np.ones((2, 1, 3, 3), np.bool_)
    sees[0, 0, 1] = False
    compare(before, model, {**feeds, "sees": sees})


def test_a_choice_of_minus_infinity_is_a_boolean_mask() -> None:
    body = f"{KEYS} a = MatMul (q, t)\n s = Where (sees, a, none)\n w = Softmax (s)\n y = MatMul (w, v)"
    model = parsed(f"g ({INPUTS}, bool[n, m] sees) => (float[b, 4, n, 8] y) {HELD} {{ {body} }}")
    before = model.copy()
    assert recognise_products(model, infer(model)) == 1
    feeds = {name: np.random.default_rng(2).standard_normal((2, 4, 3, 8)).astype(np.float32) for name in "qkv"}
    compare(before, model, {**feeds, "sees": np.tri(3, dtype=np.bool_)})


def test_a_choice_of_a_finite_number_is_one_only_if_each_query_sees_a_key() -> None:
    body = f"{KEYS} a = MatMul (q, t)\n s = Where (sees, a, low)\n w = Softmax (s)\n y = MatMul (w, v)"
    inputs = INPUTS.replace("n", "2").replace("m", "2")
    for held, count in (("{1, 0, 1, 1}", 1), ("{1, 1, 0, 0}", 0)):
        constants = HELD.replace("<", f"<bool[2, 2] sees = {held}, ")
        text = f"g ({inputs}) => (float[b, 4, 2, 8] y) {constants} {{ {body} }}"
        assert applied(recognise_products, text)[0] == count


def test_flattened_scores_are_capped() -> None:
    body = f"""{KEYS} a = MatMul (q, t)\n d = Mul (a, f)\n e = Div (d, c)\n h = Tanh (e)\n s = Mul (h, c)
        w = Softmax (s)\n y = MatMul (w, v)"""
    model = parsed(f"g ({INPUTS}) => (float[b, 4, n, 8] y) {HELD} {{ {body} }}")
    assert applied(recognise_products, model)[1] == ["y = Attention(q, k, v)"]
    assert model.graph.nodes[0].get("softcap") == 5


def test_keys_that_come_transposed_are_transposed_back() -> None:
    body = "s = MatMul (q, k)\n w = Softmax (s)\n y = MatMul (w, v)"
    nodes = rewritten(body, INPUTS.replace("float[b, 4, m, 8] k", "float[b, 4, 8, m] k"))
    assert nodes == ["transpose = Transpose(k)", "y = Attention(q, transpose, v)"]


def test_one_transpose_of_keys_is_left_of_two() -> None:
    body = "t = Transpose<perm = [0, 2, 3, 1]> (k)\n s = MatMul (q, t)\n w = Softmax (s)\n y = MatMul (w, v)"
    model = parsed(
        f"g ({INPUTS.replace('float[b, 4, m, 8] k', 'float[b, m, 4, 8] k')}) => (float[b, 4, n, 8] y) {{ {body} }}"
    )
    assert applied(recognise_products, model)[1] == ["transpose = Transpose(k)", "y = Attention(q, transpose, v)"]
    assert model.graph.nodes[0].get("perm") == (0, 2, 1, 3)


@pytest.mark.parametrize(
    "body",
    [
        f"{KEYS} s = MatMul (q, t)\n w = Softmax<axis = 2> (s)\n y = MatMul (w, v)",
        f"{KEYS} s = MatMul (q, t)\n w = Softmax (s)\n z = MatMul (w, v)\n u = ReduceSum (w)\n y = Add (z, u)",
    ],
    ids=["a softmax over queries", "weights that others read"],
)
def test_what_is_no_attention_stays(body: str) -> None:
    assert not any("Attention" in node for node in rewritten(body))


def test_doubles_stay_as_onnxruntime_has_no_attention_of_them() -> None:
    text = f"g ({INPUTS}) => (float[b, 4, n, 8] y) {{ {KEYS} s = MatMul (q, t)\n w = Softmax (s)\n y = MatMul (w, v) }}"
    assert applied(recognise_products, text.replace("float", "double"))[0] == 0


@pytest.mark.parametrize("mask", ["", "n, m", "1, n, m", "b, 1, m"])
def test_batched_products_of_three_axes_are_batches_of_one_head(mask: str) -> None:
    given, scores = (f", float[{mask}] mask", "s = Add (a, mask)") if mask else ("", "s = Mul (a, f)")
    text = f"""g (float[b, n, 8] q, float[b, m, 8] k, float[b, m, 8] v{given}) => (float[b, n, 8] y) {HELD} {{
        t = Transpose<perm = [0, 2, 1]> (k)\n a = MatMul (q, t)\n {scores}
        w = Softmax<axis = 2> (s)\n y = MatMul (w, v)
    }}"""
    count, nodes = applied(recognise_products, text)
    assert count == 1
    assert nodes[-1] == "y = Squeeze(attention, [1])"


def test_matrices_without_batch_and_heads_stay() -> None:
    text = """g (float[n, 8] q, float[8, m] k, float[m, 8] v) => (float[n, 8] y)
        { s = MatMul (q, k)\n w = Softmax (s)\n y = MatMul (w, v) }"""
    assert applied(recognise_products, text)[0] == 0


@pytest.mark.parametrize("mask", ["b, 1, n, m", "1, 4, n, m", "n, m", "b, 1, 1, m", "4, 1, m", "4, n, m", "1, m"])
def test_onnxruntime_reads_masks_of_every_shape_that_is_taken(mask: str) -> None:
    body = f"{KEYS} a = MatMul (q, t)\n s = Add (a, mask)\n w = Softmax (s)\n y = MatMul (w, v)"
    model = parsed(f"g ({INPUTS}, float[{mask}] mask) => (float[b, 4, n, 8] y) {{ {body} }}")
    recognise_products(model, infer(model))
    low = lowered(model, {"": 23})
    session = onnxruntime.InferenceSession(ingot.encode(low), providers=["CPUExecutionProvider"])
    feeds = random_feeds(model, {"b": 2, "n": 3, "m": 5})
    [expected] = ingot.Session(model).run(None, feeds)
    np.testing.assert_allclose(session.run(None, feeds)[0], expected, rtol=1e-5, atol=1e-6)
