"""HQQ: scales and zero points fitted to most weights, without data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import DType
from ingot.quantise.hqq import refine
from ingot.quantise.weights import coded, weight_parameters
from quantise.digits import MODEL, digits
from quantise.models import normal, parsed
from quantise.peers import check_with_peers


def errors(weight: Any, dtype: str, axis: int | None, block_size: int, symmetric: bool) -> tuple[Any, Any]:
    """The errors of a weight in codes, by extremes and after refining."""
    start = weight_parameters(weight, DType.of(dtype), axis, symmetric=symmetric, block_size=block_size)
    refined = refine(weight, start, axis, block_size, symmetric)
    one, other = (coded(weight, chosen, axis, block_size) for chosen in (start, refined))
    return one.decoded() - weight, other.decoded() - weight


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("axis", "block_size"), [(None, 0), (1, 0), (0, 16), (1, 24)])
def test_most_weights_are_nearer(axis: int | None, block_size: int, symmetric: bool) -> None:
    weight = np.random.default_rng(0).standard_t(4, (64, 40)).astype(np.float32)
    for bits, factor in ((4, 0.99), (2, 0.9)):
        before, after = errors(weight, f"{'' if symmetric else 'u'}int{bits}", axis, block_size, symmetric)
        assert (np.abs(after) ** 0.7).sum() < factor * (np.abs(before) ** 0.7).sum()
        assert (after**2).sum() <= (before**2).sum()


def test_weights_that_have_codes_stay_as_they_are() -> None:
    weight = (np.arange(64) % 15 - 7).astype(np.float32).reshape(4, 16)
    before, after = errors(weight, "int4", 1, 16, True)
    np.testing.assert_array_equal(before, after)


def test_a_block_of_zeros_and_one_of_a_single_number_have_scales() -> None:
    weight = np.zeros((32, 2), np.float32)
    weight[:, 1] = 3
    for dtype, symmetric in (("int4", True), ("uint4", False)):
        before, after = errors(weight, dtype, 0, 16, symmetric)
        np.testing.assert_allclose(after, 0, atol=1e-6)
        np.testing.assert_allclose(before, 0, atol=1e-6)


def test_it_needs_no_data_and_peers_run_it_alike() -> None:
    weight = np.random.default_rng(0).standard_t(4, (64, 32)).astype(np.float32)
    model = parsed("g (float[n, 64] x) => (float[n, 32] y) { y = MatMul (x, w) }", w=weight)
    settings: dict[str, Any] = {"mode": "weights", "weights": "uint4", "symmetric_weights": False}
    result = ingot.quantize(model, methods="hqq", **settings)
    check_with_peers(result.model, {"x": normal(5, 64)})
    assert result.report.bytes_after == ingot.quantize(model, **settings).report.bytes_after


def test_it_goes_together_with_gptq() -> None:
    images = digits()[0][:128]
    settings: dict[str, Any] = {"mode": "weights", "weights": "int4"}
    plain = ingot.quantize(MODEL, images, methods=["hqq"], **settings).report.snr
    both = ingot.quantize(MODEL, images, methods=["hqq", "gptq", "bias"], **settings).report.snr
    assert plain is not None
    assert both is not None
    assert both > plain
