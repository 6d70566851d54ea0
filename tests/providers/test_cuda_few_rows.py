"""Products of few rows on an emulated GPU, as decoding has them: variants of their own, for sizes of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import Session
from ingot.codegen.nvptx import few_halves, few_rows, variants
from ingot.codegen.nvptx.variant import Plan, Sized, Variant
from ingot.dtypes import Array
from providers.emulated import HAS_COMPILER, Emulated
from providers.test_cuda import graph, normal
from providers.test_cuda_codes import with_constants

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")

KINDS = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
ROUNDING = {"float": 1e-5, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def check(kind: str, x: Array, w: Array, body: str = "y = MatMul (x, w)", axes: str = "") -> list[str]:
    """The functions that are launched; AssertionError if what they compute is wrong, or differs from run to run."""
    provider = Emulated()
    text = graph(f"{kind}[{axes}m, k] x, {kind}[{axes}k, n] w", body)
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    feeds = {"x": x.astype(KINDS[kind]), "w": w.astype(KINDS[kind])}
    exact = feeds["x"].astype(np.float64) @ feeds["w"].astype(np.float64)
    exact = np.maximum(exact, 0) if "Relu" in body else exact
    first = session.run(None, feeds)[0]
    np.testing.assert_allclose(first.astype(np.float64), exact, rtol=ROUNDING[kind], atol=1e-3)
    np.testing.assert_array_equal(session.run(None, feeds)[0], first)
    return provider.library.launched


def preferred(monkeypatch: Any, variant: Variant, least: int = 0) -> None:
    """Have a variant's plans chosen wherever there are any, of those with at least so many launches."""

    def first(sized: Sized) -> list[Plan]:
        return [Plan(0.0, plan.steps) for plan in variant.plans(sized) if len(plan.steps) >= least]

    others = tuple(replace(other, is_streaming=False) for other in variants.VARIANTS if other is not variant)
    own = replace(variant, plans=first)
    monkeypatch.setattr(variants, "VARIANTS", (own, *others))


@pytest.mark.parametrize(
    ("kind", "rows", "k", "n"),
    [("float", 2, 64, 264), ("float16", 3, 200, 40), ("bfloat16", 4, 264, 8), ("float", 4, 8, 24)],
)
def test_whole_vectors_of_few_rows(monkeypatch: Any, kind: str, rows: int, k: int, n: int) -> None:
    preferred(monkeypatch, few_rows.VARIANT)
    assert f"rows{2 if rows == 2 else 4}" in check(kind, normal(rows, k), normal(k, n))


@pytest.mark.parametrize(
    ("kind", "rows", "k", "n"),
    [("float", 2, 65, 264), ("float16", 5, 200, 37), ("bfloat16", 8, 3, 1), ("float", 3, 1000, 5)],
)
def test_sizes_of_which_vectors_are_not_aligned(monkeypatch: Any, kind: str, rows: int, k: int, n: int) -> None:
    preferred(monkeypatch, few_rows.VARIANT)
    names = check(kind, normal(rows, k), normal(k, n), "t = MatMul (x, w) y = Relu (t)")
    assert any(name.endswith("_single") for name in names)


def test_an_infinite_last_weight_is_not_multiplied_by_what_is_behind_it(monkeypatch: Any) -> None:
    preferred(monkeypatch, few_rows.VARIANT)
    w = np.abs(normal(3, 5))
    w[2, 1] = np.inf
    with np.errstate(invalid="ignore"):
        assert any(name.endswith("_single") for name in check("float", np.abs(normal(2, 3)), w))


@pytest.mark.parametrize(
    ("kind", "rows", "k", "n"),
    [("float16", 16, 160, 72), ("bfloat16", 13, 32, 136), ("float16", 8, 96, 8), ("bfloat16", 2, 320, 264)],
)
def test_rows_of_halves_on_tensor_cores(monkeypatch: Any, kind: str, rows: int, k: int, n: int) -> None:
    preferred(monkeypatch, few_halves.VARIANT)
    names = check(kind, normal(rows, k), normal(k, n), "t = MatMul (x, w) y = Relu (t)")
    assert f"half_rows{16 if rows > 8 else 8}" in names


@pytest.mark.parametrize(("kind", "variant"), [("float", few_rows.VARIANT), ("float16", few_halves.VARIANT)])
def test_few_rows_at_every_place_of_a_batch(monkeypatch: Any, kind: str, variant: Variant) -> None:
    preferred(monkeypatch, variant)
    check(kind, normal(5, 2, 64), normal(5, 64, 24), axes="b, ")


@pytest.mark.parametrize(("kind", "variant"), [("bfloat16", few_rows.VARIANT), ("float16", few_halves.VARIANT)])
def test_long_sums_of_few_columns_are_divided_among_blocks(monkeypatch: Any, kind: str, variant: Variant) -> None:
    preferred(monkeypatch, variant, least=2)
    assert "finish" in check(kind, normal(2, 8192), normal(8192, 8), "t = MatMul (x, w) y = Relu (t)")


@pytest.mark.parametrize(
    ("kind", "rows", "k", "n"),
    [("float", 1, 64, 37), ("float16", 3, 96, 17), ("bfloat16", 20, 70, 33), ("float", 5, 128, 1)],
)
def test_rows_of_constant_weights_begin_at_whole_vectors(kind: str, rows: int, k: int, n: int) -> None:
    provider = Emulated()
    w, x = normal(k, n).astype(KINDS[kind]), normal(rows, k).astype(KINDS[kind])
    model = with_constants(graph(f"{kind}[m, {k}] x, {kind}[{k}, {n}] w", "y = MatMul (x, w)"), {"w": w})
    session = Session(model, providers=(provider, "reference"), fallback=False)
    exact = x.astype(np.float64) @ w.astype(np.float64)
    np.testing.assert_allclose(session.run(None, {"x": x})[0].astype(np.float64), exact, rtol=ROUNDING[kind], atol=1e-3)
    assert not any(name.endswith("_single") for name in provider.library.launched)
