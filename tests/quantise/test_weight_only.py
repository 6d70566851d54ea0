"""Weights of 8, 4 and 2 bits: DequantizeLinear with blocks, and onnxruntime's own operator."""

from __future__ import annotations

import pytest

import ingot
from quantise.models import attention, normal, parsed
from quantise.peers import check_with_peers

DECIBELS = {"int8": 30, "uint8": 30, "int4": 10, "uint4": 10}


@pytest.mark.parametrize("weights", ["int8", "uint8", "int4", "uint4"])
@pytest.mark.parametrize("engine", [None, "onnxruntime"])
def test_peers_run_it_alike(weights: str, engine: str | None) -> None:
    x = normal(6, 5, 16, seed=7)
    symmetric = not weights.startswith("u")
    result = ingot.quantize(
        attention(), [x], mode="weights", weights=weights, symmetric_weights=symmetric, block_size=16, engine=engine
    )
    check_with_peers(result.model, {"x": x})
    assert result.report.snr is not None
    assert result.report.snr > DECIBELS[weights]


@pytest.mark.parametrize(("weights", "symmetric"), [("int2", True), ("uint2", False)])
def test_two_bits_are_written_where_the_opset_has_them(weights: str, symmetric: bool) -> None:
    x = normal(6, 5, 16, seed=7)
    result = ingot.quantize(
        attention(), [x], mode="weights", weights=weights, symmetric_weights=symmetric, block_size=16
    )
    assert result.model.opset == 25
    assert result.report.snr is not None
    assert symmetric or result.report.snr > 3


@pytest.mark.parametrize("engine", [None, "onnxruntime"])
@pytest.mark.parametrize("rows", [64, 50])
def test_a_product_with_a_bias_and_blocks_that_do_not_divide(rows: int, engine: str | None) -> None:
    model = parsed(
        "g (float[n, k] x) => (float[n, 8] y) { y = Gemm <transB: int = 1> (x, w, b) }", w=normal(8, rows), b=normal(8)
    )
    x = normal(5, rows)
    result = ingot.quantize(model, [x], mode="weights", weights="int4", engine=engine)
    operators = [node.op_type for node in result.model.graph]
    assert operators == (["MatMulNBits"] if engine else ["DequantizeLinear", "Gemm"])
    check_with_peers(result.model, {"x": x})


def test_the_bytes_are_those_of_four_bits() -> None:
    model = parsed("g (float[n, 256] x) => (float[n, 256] y) { y = MatMul (x, w) }", w=normal(256, 256))
    report = ingot.quantize(model, mode="weights", weights="int4").report
    assert report.bytes_before == 256 * 256 * 4
    assert report.bytes_after == 256 * 256 // 2 + 256 * 8 * 4


def test_a_convolution_has_a_scale_for_each_channel() -> None:
    model = parsed("g (float[n, 2, 5, 5] x) => (y) { y = Conv (x, w) }", w=normal(4, 2, 3, 3))
    result = ingot.quantize(model, [normal(2, 2, 5, 5)], mode="weights")
    scale = result.model.graph.initializers["w_scale"].constant
    assert scale is not None
    assert scale.shape == (4,)
    assert result.report.snr is not None
    assert result.report.snr > 30
