"""onnxruntime's quantiser by its own names, where onnxruntime is not installed."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.compat.onnxruntime import quantization as ours
from ingot.errors import UnsupportedError
from quantise.digits import MODEL


class Reader(ours.CalibrationDataReader):
    """Three samples."""

    def __init__(self) -> None:
        self._left = 3

    def get_next(self) -> dict[str, Any] | None:
        self._left -= 1
        return (
            {"image": np.random.default_rng(self._left).random((4, 1, 8, 8), np.float32)} if self._left >= 0 else None
        )


def operators(path: Path) -> list[str]:
    return [node.op_type for node in ingot.load(path).graph]


@pytest.mark.parametrize("name", ["quantize_static", "quantize_dynamic"])
def test_parameters_are_those_of_onnxruntime(name: str) -> None:
    theirs = pytest.importorskip("onnxruntime.quantization")
    wanted = inspect.signature(getattr(theirs, name)).parameters
    actual = inspect.signature(getattr(ours, name)).parameters
    assert list(actual) == list(wanted)
    defaults = [(p.default.name if hasattr(p.default, "name") else p.default) for p in wanted.values()]
    assert [(p.default.name if hasattr(p.default, "name") else p.default) for p in actual.values()] == defaults


def test_a_model_is_quantised_with_a_reader(tmp_path: Path) -> None:
    target = tmp_path / "small.onnx"
    extra = {"ActivationSymmetric": True, "CalibMovingAverage": True}
    ours.quantize_static(
        str(MODEL), target, Reader(), per_channel=True, nodes_to_exclude=["conv_1"], extra_options=extra
    )
    assert operators(target).count("QuantizeLinear") > 2
    assert target.stat().st_size < MODEL.stat().st_size


@pytest.mark.parametrize("quantised", [True, False])
def test_biases_stay_in_float_where_that_is_asked_for(tmp_path: Path, quantised: bool) -> None:
    target = tmp_path / "small.onnx"
    ours.quantize_static(str(MODEL), target, Reader(), extra_options={"QuantizeBias": quantised})
    for node in ingot.load(target).graph:
        if node.applies("Conv", "Gemm"):
            bias = node.inputs[2]
            assert bias is not None
            assert (bias.producer is not None) == quantised


def test_a_model_is_quantised_without_data(tmp_path: Path) -> None:
    target = tmp_path / "small.onnx"
    ours.quantize_dynamic(ingot.to_onnx(ingot.load(MODEL)), target, op_types_to_quantize=["MatMul", "Gemm"])
    assert "MatMulInteger" in operators(target)
    assert "Conv" in operators(target)


def test_a_model_is_prepared(tmp_path: Path) -> None:
    target = tmp_path / "ready.onnx"
    ours.quant_pre_process(str(MODEL), target, skip_symbolic_shape=True)
    assert "Conv" in operators(target)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="QuantizeLinear"):
        ours.quantize_static(str(MODEL), tmp_path / "x.onnx", Reader(), quant_format=ours.QuantFormat.QOperator)
    with pytest.raises(UnsupportedError, match="there is no type QInt16"):
        ours.quantize_static(str(MODEL), tmp_path / "x.onnx", Reader(), activation_type=ours.QuantType.QInt16)
    with pytest.warns(UserWarning, match="without effect: Wished"):
        ours.quantize_dynamic(str(MODEL), tmp_path / "x.onnx", extra_options={"Wished": 1})
