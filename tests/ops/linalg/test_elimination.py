"""Determinants and inverses as machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.dtypes import Array
from lower.agreement import refusal
from lower.machine import runs

RNG = np.random.default_rng(3)
KINDS: dict[str, Any] = {"float": np.float32, "double": np.float64}


def matrices(many: int, rows: int, kind: str) -> Array:
    return (RNG.standard_normal((many, rows, rows)) + np.eye(rows)).astype(KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 7, 9, 16, 32])
def test_determinants_are_those_of_the_reference(kind: str, rows: int) -> None:
    whole = matrices(5, rows, kind)
    singular, exchanged = whole.copy(), whole[:, ::-1].copy()
    singular[:, -1:] = singular[:, :1]
    unknown = np.where(RNG.random(whole.shape) < 0.2, np.nan, whole).astype(whole.dtype)
    cases = [{"x": x} for x in (whole, exchanged, whole[:0], np.zeros_like(whole), unknown)]
    for threads in (1, 2):
        runs(f"g ({kind}[n, {rows}, {rows}] x) => (y) {{ y = Det (x) }}", *cases, rtol=1e-5, threads=threads)
    if rows <= 16:  # of larger ones, the determinant is the rounding errors of large numbers
        runs(f"g ({kind}[n, {rows}, {rows}] x) => (y) {{ y = Det (x) }}", {"x": singular}, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 17, 32])
def test_inverses_are_those_of_the_reference(kind: str, rows: int) -> None:
    whole = matrices(5, rows, kind) + (4 * np.eye(rows)).astype(KINDS[kind])
    unknown = whole.copy()
    unknown[[1, 3]] = np.nan
    cases = [{"x": x} for x in (whole, whole[:, ::-1].copy(), whole[:0], unknown)]
    cases.append({"x": np.zeros_like(whole)})
    graph = f"g ({kind}[n, {rows}, {rows}] x) => (y) {{ y = com.microsoft.Inverse (x) }}"
    for threads in (1, 2):
        runs(graph, *cases, rtol=1e-3, atol=1e-5, threads=threads)


def test_the_inverse_of_halves_is_computed_in_float32() -> None:
    x = (RNG.standard_normal((3, 24, 24)) + 4 * np.eye(24)).astype(np.float16)
    runs("g (float16[n, 24, 24] x) => (y) { y = com.microsoft.Inverse (x) }", {"x": x}, rtol=2e-3, atol=1e-4)


def test_larger_matrices_are_left_to_the_reference() -> None:
    for graph in ("{ y = Det (x) }", "{ y = com.microsoft.Inverse (x) }"):
        assert "matrices of 33 rows" in refusal(f"g (float[n, 33, 33] x) => (y) {graph}")
