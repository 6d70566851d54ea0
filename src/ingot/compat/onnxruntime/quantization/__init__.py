"""onnxruntime's quantiser on top of ours, for where onnxruntime is not installed."""

from __future__ import annotations

from ingot.compat.onnxruntime.quantization.enums import CalibrationMethod, QuantFormat, QuantType
from ingot.compat.onnxruntime.quantization.quantize import (
    CalibrationDataReader,
    quant_pre_process,
    quantize_dynamic,
    quantize_static,
)

__all__ = [
    "CalibrationDataReader",
    "CalibrationMethod",
    "QuantFormat",
    "QuantType",
    "quant_pre_process",
    "quantize_dynamic",
    "quantize_static",
]
