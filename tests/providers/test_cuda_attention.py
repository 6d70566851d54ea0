"""Attention of the provider `cuda` on an emulated GPU, against float64: every function, whatever the sizes."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import Session
from ingot.codegen.nvptx import attention
from ingot.dtypes import Array, DType
from providers.emulated import AMPERE, HAS_COMPILER, Emulated, Library

emulated = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")

HEAD = '<ir_version: 10, opset_import: ["" : 24]>'
TYPES = {"float": np.dtype("float32"), "float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
ERRORS = {"float": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""What results may differ by from those of float64: they are near one. Weights of halves are rounded to halves."""

FUNCTIONS = [
    *(("float", name) for name in ("floats32", "floats128")),
    *(("float16", name) for name in ("halves16", "halves64", "halves128", "hopper64x64", "hopper64")),
    *(("float16", name) for name in ("hopper128", "hopper192")),
    ("bfloat16", "hopper64x64"),
]

MASKED = [("float", "floats32"), ("bfloat16", "halves64"), ("float16", "hopper64x64")]


def normal(kind: str, *shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(TYPES[kind])


def exact(feeds: Mapping[str, Array], causal: bool = False, cap: float = 0.0) -> Array:
    """What the standard's Attention is in float64."""
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    if cap:
        scores = np.tanh(scores / cap) * cap
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    if "m" in feeds:
        mask = feeds["m"]
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask.astype(np.float64)
    greatest = np.max(scores, -1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(greatest), 0, greatest))
    total = weights.sum(-1, keepdims=True)
    return np.asarray(weights / np.where(total == 0, 1, total) @ v)


def run(
    kind: str, feeds: dict[str, Array], attributes: str = "", provider: Emulated | None = None
) -> tuple[Array, Session]:
    sizes = {"q": f"b, {feeds['q'].shape[1]}, s, {feeds['q'].shape[3]}"}
    for name in "kv":
        sizes[name] = f"b, {feeds[name].shape[1]}, t, {feeds[name].shape[3]}"
    if "m" in feeds:
        sizes["m"] = "s, t"
    types = {name: "bool" if feeds[name].dtype == bool else kind for name in sizes}
    inputs = ", ".join(f"{types[name]}[{size}] {name}" for name, size in sizes.items())
    text = f"{HEAD} g ({inputs}) => (y) {{ y = Attention {attributes} ({', '.join(sizes)}) }}"
    session = Session(ingot.parse_model(text), providers=(provider or Emulated(), "reference"), fallback=False)
    result = session.run(None, feeds)[0]
    np.testing.assert_array_equal(session.run(None, feeds)[0], result, "other bits in another run")
    return result.astype(np.float64), session


def check(kind: str, feeds: dict[str, Array], attributes: str = "", causal: bool = False, cap: float = 0.0) -> None:
    result, _ = run(kind, feeds, attributes)
    np.testing.assert_allclose(result, exact(feeds, causal, cap), rtol=ERRORS[kind], atol=ERRORS[kind])


def heads(
    kind: str, batch: int, query: int, key: int, rows: int, keys: int, depth: int, columns: int = 0
) -> dict[str, Array]:
    return {
        "q": normal(kind, batch, query, rows, depth),
        "k": normal(kind, batch, key, keys, depth),
        "v": normal(kind, batch, key, keys, columns or depth),
    }


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Only one function is there to choose from."""
    choices = attention.choices

    def own(sized: attention.SizedAttention) -> list[attention.Choice]:
        every = list(choices(sized))  # the copy engine does not take every size
        return [choice for choice in every if choice.name == request.param] or every

    monkeypatch.setattr(attention, "choices", own)
    monkeypatch.setattr(attention, "_FEW_SCORES", 0)


@emulated
@pytest.mark.parametrize(("kind", "alone"), FUNCTIONS, indirect=["alone"])
@pytest.mark.usefixtures("alone")
def test_every_function_takes_every_size(kind: str) -> None:
    check(kind, heads(kind, 1, 1, 1, 70, 130, 32))
    check(kind, heads(kind, 2, 2, 1, 5, 7, 40, 24))
    check(kind, heads(kind, 1, 1, 1, 9, 0, 32))


@emulated
def test_no_rows_and_the_widest_heads_in_one_kernel() -> None:
    check("float", heads("float", 0, 1, 1, 9, 3, 32))
    check("float", heads("float", 1, 1, 1, 3, 20, 250))
    check("bfloat16", heads("bfloat16", 1, 1, 1, 3, 20, 256, 130))


@emulated
@pytest.mark.parametrize(("kind", "rows", "function"), [("float", 40, "floats32x16"), ("float16", 3, "floats32x16")])
def test_the_widest_heads_fit_a_gpu_of_little_shared_memory(kind: str, rows: int, function: str) -> None:
    provider, feeds = Emulated(Library(attributes=AMPERE)), heads(kind, 1, 1, 1, rows, 90, 256)
    result, _ = run(kind, feeds, provider=provider)
    np.testing.assert_allclose(result, exact(feeds), rtol=ERRORS[kind], atol=ERRORS[kind])
    assert function in provider.library.launched


@emulated
@pytest.mark.parametrize(("kind", "alone"), MASKED, indirect=["alone"])
@pytest.mark.usefixtures("alone")
def test_scores_are_masked(kind: str) -> None:
    check(kind, heads(kind, 1, 1, 1, 70, 140, 16), "<is_causal = 1>", causal=True)
    check(kind, heads(kind, 1, 1, 1, 5, 66, 33), "<softcap = 2.0>", cap=2.0)
    check(kind, {**heads(kind, 1, 1, 1, 5, 66, 32), "m": normal(kind, 5, 66)})
    seen = np.tri(5, 66, 3) > 0
    seen[2] = False
    check(kind, {**heads(kind, 1, 1, 1, 5, 66, 32), "m": seen})


@emulated
@pytest.mark.parametrize(("kind", "alone"), MASKED, indirect=["alone"])
@pytest.mark.usefixtures("alone")
def test_blocks_divide_the_keys_of_few_rows(kind: str) -> None:
    provider, feeds = Emulated(), heads(kind, 1, 2, 1, 1, 1030, 16)
    result, _ = run(kind, feeds, provider=provider)
    np.testing.assert_allclose(result, exact(feeds), rtol=ERRORS[kind], atol=ERRORS[kind])
    assert "finish" in provider.library.launched


@emulated
@pytest.mark.parametrize("kind", ["float", "float16"])
def test_attention_is_one_kernel(kind: str) -> None:
    provider = Emulated()
    _, session = run(kind, heads(kind, 1, 2, 2, 40, 70, 64), provider=provider)
    assert session.compiled is not None
    attends = [name for name in provider.library.launched if name.startswith(("floats", "halves", "hopper"))]
    assert len(attends) == 2, "one for each run"
    assert not any("finish" in name for name in provider.library.launched)


@emulated
@pytest.mark.parametrize(("kind", "alone"), [MASKED[0], MASKED[2]], indirect=["alone"])
@pytest.mark.parametrize("odd", [np.nan, -np.inf])
@pytest.mark.usefixtures("alone")
def test_numbers_that_are_not_finite_are_those_of_the_reference(kind: str, odd: float) -> None:
    for name, place in (("q", (0, 0, 3, 2)), ("k", (0, 0, 69, 2)), ("v", (0, 0, 4, 5))):
        feeds = heads(kind, 1, 1, 1, 5, 70, 16)
        feeds[name][place] = odd
        inputs = ", ".join(
            f"{kind}[1, 1, {length}, 16] {name}" for name, length in (("q", "s"), ("k", "t"), ("v", "t"))
        )
        text = f"{HEAD} g ({inputs}) => (y) {{ y = Attention (q, k, v) }}"
        expected = Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)[0].astype(np.float64)
        result, _ = run(kind, feeds)
        np.testing.assert_allclose(result, expected, rtol=ERRORS[kind], atol=ERRORS[kind])


@emulated
@pytest.mark.parametrize("kind", ["float", "bfloat16"])
def test_a_row_whose_scores_are_all_the_least_number_weights_keys_alike(kind: str) -> None:
    least = {"float": -3.4028234e38, "bfloat16": -3.3895313e38}[kind]
    feeds = heads(kind, 1, 1, 1, 4, 70, 32)
    feeds["m"] = np.zeros((4, 70), TYPES[kind])
    feeds["m"][1] = least
    result, _ = run(kind, feeds)
    mean = feeds["v"].astype(np.float64).mean(2)[0, 0]
    np.testing.assert_allclose(result[0, 0, 1], mean, atol=ERRORS[kind])


@emulated
def test_heads_that_are_too_wide_or_of_unknown_width_are_three_kernels() -> None:
    for inputs in ("float[s, 300] q, float[t, 300] k, float[t, 300] v", "float[s, d] q, float[t, d] k, float[t, d] v"):
        body = "u = Transpose (k) a = MatMul (q, u) p = Softmax (a) y = MatMul (p, v)"
        provider = Emulated()
        session = Session(
            ingot.parse_model(f"{HEAD} g ({inputs}) => (y) {{ {body} }}"),
            providers=(provider, "reference"),
            fallback=False,
        )
        q, k, v = normal("float", 5, 300) / 10, normal("float", 7, 300), normal("float", 7, 300)
        scores = (q @ k.T).astype(np.float64)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        expected = weights / weights.sum(1, keepdims=True) @ v
        np.testing.assert_allclose(session.run(None, {"q": q, "k": k, "v": v})[0], expected, rtol=1e-4, atol=1e-4)
        assert not any(name.startswith("floats") for name in provider.library.launched)


@emulated
def test_keys_that_are_computed_are_stored_first() -> None:
    text = f"""{HEAD} g (float[s, 32] q, float[t, 32] k, float[t, 32] v) => (y) {{
        e = Tanh (k) u = Transpose (e) a = MatMul (q, u) p = Softmax (a) w = Exp (v) y = MatMul (p, w) }}"""
    provider = Emulated()
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    feeds = {"q": normal("float", 5, 32), "k": normal("float", 7, 32), "v": normal("float", 7, 32)}
    expected = Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)[0]
    np.testing.assert_allclose(session.run(None, feeds)[0], expected, rtol=1e-4, atol=1e-5)
    assert any(name.startswith("floats") for name in provider.library.launched)


@emulated
def test_keys_and_values_that_were_rounded_are_stored_once() -> None:
    products = "p = MatMul (x, w) q = Cast <to = 10> (p) k = Transpose <perm = [1, 0]> (q)"
    body = f"{products} a = MatMul (q, k) s = Softmax (a) y = MatMul (s, q)"
    text = f"{HEAD} g (float[s, 24] x, float[24, 32] w) => (y) {{ {body} }}"
    provider = Emulated()
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    x, w = normal("float", 9, 24), normal("float", 24, 32) / 5
    expected = Session(ingot.parse_model(text), providers=("reference",)).run(None, {"x": x, "w": w})[0]
    np.testing.assert_allclose(session.run(None, {"x": x, "w": w})[0], expected, rtol=2e-3, atol=2e-3)
    assert len(provider.library.launched) == 2, "a product, and attention"


@emulated
def test_few_scores_of_halves_have_weights_of_float32() -> None:
    provider, feeds = Emulated(), heads("float16", 1, 1, 1, 3, 5, 16)
    result, _ = run("float16", feeds, provider=provider)
    np.testing.assert_allclose(result, exact(feeds), rtol=2.0**-11)
    assert "floats32" in provider.library.launched


MASKS = {
    "keys": ("b = Cast <to = 9> (m)", "int64[b, 1, 1, t]"),
    "causal": (
        "t0 = Cast <to = 9> (m) r = Unsqueeze (n, i) c = Unsqueeze (n, j) d = LessOrEqual (r, c) b = And (d, t0)",
        "int64[b, 1, 1, t]",
    ),
    "rows": ("b = Identity (m)", "bool[b, 1, t, t]"),
}
"""How exporters say who sees whom: the keys of each text, those of them that are not ahead, and pairs."""

MASKED_BY = """{head} g ({kind}[b, h, t, 16] q, {kind}[b, h, 16, t] k, {kind}[b, h, t, 16] v, {mask} m) => (y)
    <float f = {{0.5}}, float z = {{0}}, float l = {{-3.4028235e38}}, int64 i = {{0}}, int64 j = {{1}}> {{
    e = Shape <start = 2, end = 3> (q)
    o = Squeeze (e)
    n = Range (i, o, j)
    {body}
    w = Where (b, z, l)
    a = Cast <to = {number}> (w)
    g = Cast <to = {number}> (f)
    p = Mul (q, g)
    u = Mul (k, g)
    x = MatMul (p, u)
    s = Add (x, a)
    c_ = Softmax (s)
    y = MatMul (c_, v)
}}"""


@emulated
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("length", [70, 67])
@pytest.mark.parametrize(("kind", "alone"), MASKED[1:], indirect=["alone"])
@pytest.mark.usefixtures("alone")
def test_masks_as_exporters_write_them(kind: str, mask: str, length: int) -> None:
    body, type_ = MASKS[mask]
    text = MASKED_BY.format(head=HEAD, kind=kind, number=int(DType.of(TYPES[kind])), body=body, mask=type_)
    seen = np.random.default_rng(length).random((2, 1, length if mask == "rows" else 1, length)) < 0.7
    seen[..., 0] = True
    shapes = {"q": (length, 16), "k": (16, length), "v": (length, 16)}
    feeds = {name: normal(kind, 2, 2, *shape) for name, shape in shapes.items()}
    q, k, v = (feeds[name].astype(np.float64) for name in "qkv")
    feeds["m"] = seen if mask == "rows" else seen.astype(np.int64)
    if mask == "causal":
        seen = seen & (np.tri(length) > 0)
    scores = np.where(seen, q @ k / 4, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    provider = Emulated()
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    result = session.run(None, feeds)[0].astype(np.float64)
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(result, expected, rtol=2 * ERRORS[kind], atol=2 * ERRORS[kind])
    assert len(provider.library.launched) <= 2, "a mask, if it is stored, and attention"
