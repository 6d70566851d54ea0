"""`quantize_static` and `quantize_dynamic` with onnxruntime's parameters, on ingot's quantiser.

Parameters that steer how onnxruntime goes about it, and change nothing in the result, are accepted and not used.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ingot.compat.onnxruntime.quantization.enums import CalibrationMethod, QuantFormat, QuantType
from ingot.errors import UnsupportedError
from ingot.format import save
from ingot.format.load import load
from ingot.format.onnx import from_onnx
from ingot.ir.model import Model
from ingot.passes.optimise import optimise
from ingot.quantise.api import quantize
from ingot.quantise.options import PRODUCTS, RECURRENT
from ingot.versions.lowest import lowered

_TYPES = {QuantType.QInt8: "int8", QuantType.QUInt8: "uint8"}
_CALIBRATIONS = {
    CalibrationMethod.MinMax: "minmax",
    CalibrationMethod.Entropy: "entropy",
    CalibrationMethod.Percentile: "percentile",
}
_READ = {
    "ActivationSymmetric", "CalibMovingAverage", "CalibPercentile", "MatMulConstBOnly", "QuantizeBias",
    "WeightSymmetric",
}  # fmt: skip
_WITHOUT_EFFECT = {
    "AddQDQPairToWeight", "CalibMaxIntermediateOutputs", "CalibStridedMinMax", "CalibTensorRangeSymmetric",
    "DedicatedQDQPair", "DefaultTensorType", "DisableShapeInference", "EnableSubgraph", "ExtraOpTypesToQuantize",
    "ForceQuantizeNoInputCheck", "UseQDQContribOps",
}  # fmt: skip
"""Options of how the result is found, or of the spelling of what means the same."""


class CalibrationDataReader(ABC):
    """Reads calibration data: a program inherits from it."""

    @abstractmethod
    def get_next(self) -> dict[str, Any] | None:
        """The feeds of the next sample; None at the end."""

    def __iter__(self) -> CalibrationDataReader:
        return self

    def __next__(self) -> dict[str, Any]:
        feeds = self.get_next()
        if feeds is None:
            raise StopIteration
        return feeds


def quantize_static(
    model_input: Any,
    model_output: str | Path,
    calibration_data_reader: Any = None,
    quant_format: QuantFormat = QuantFormat.QDQ,
    op_types_to_quantize: Iterable[str] | None = None,
    per_channel: bool = False,
    reduce_range: bool = False,
    activation_type: QuantType = QuantType.QInt8,
    weight_type: QuantType = QuantType.QInt8,
    nodes_to_quantize: Iterable[str] | None = None,
    nodes_to_exclude: Iterable[str] | None = None,
    use_external_data_format: bool = False,
    calibrate_method: CalibrationMethod = CalibrationMethod.MinMax,
    calibration_providers: Any = None,
    extra_options: Mapping[str, Any] | None = None,
    calibration_cache_path: Any = None,
) -> None:
    """Write a model with static codes for activations; UnsupportedError for the format QOperator."""
    del calibration_providers, calibration_cache_path
    if quant_format is not QuantFormat.QDQ:
        raise UnsupportedError("models are written with QuantizeLinear and DequantizeLinear", hint="QuantFormat.QDQ")
    more = _extra(extra_options)
    calibration = _one_of(_CALIBRATIONS, calibrate_method, "calibration")
    _quantise(
        model_input,
        model_output,
        use_external_data_format,
        calibration_data_reader,
        mode="static",
        engine="onnxruntime",
        activations=_one_of(_TYPES, activation_type, "type"),
        weights=_one_of(_TYPES, weight_type, "type"),
        granularity="channel" if per_channel else "tensor",
        reduced=reduce_range,
        calibration="average" if more.get("CalibMovingAverage") and calibration == "minmax" else calibration,
        percentile=more.get("CalibPercentile", 99.999),
        symmetric_activations=more.get("ActivationSymmetric", False),
        symmetric_weights=more.get("WeightSymmetric", weight_type is QuantType.QInt8),
        activation_products=not more.get("MatMulConstBOnly", False),
        integer_biases=more.get("QuantizeBias", True),
        **_nodes(op_types_to_quantize, nodes_to_quantize, nodes_to_exclude),
    )


def quantize_dynamic(
    model_input: Any,
    model_output: str | Path,
    op_types_to_quantize: Iterable[str] | None = None,
    per_channel: bool = False,
    reduce_range: bool = False,
    weight_type: QuantType = QuantType.QInt8,
    nodes_to_quantize: Iterable[str] | None = None,
    nodes_to_exclude: Iterable[str] | None = None,
    use_external_data_format: bool = False,
    extra_options: Mapping[str, Any] | None = None,
) -> None:
    """Write a model whose activations are quantised by the range of each run."""
    more = _extra(extra_options)
    _quantise(
        model_input,
        model_output,
        use_external_data_format,
        None,
        mode="dynamic",
        engine="onnxruntime",
        weights=_one_of(_TYPES, weight_type, "type"),
        granularity="channel" if per_channel else "tensor",
        reduced=reduce_range,
        symmetric_weights=more.get("WeightSymmetric", weight_type is QuantType.QInt8),
        activation_products=not more.get("MatMulConstBOnly", True),
        **_nodes(op_types_to_quantize, nodes_to_quantize, nodes_to_exclude),
    )


def quant_pre_process(input_model: Any = None, output_model_path: str | Path | None = None, **options: Any) -> None:
    """Write a model optimised before it is quantised, which our quantiser does by itself; options are not used."""
    source = options.get("input_model_path") if input_model is None else input_model
    target = options.get("output_model_path") if output_model_path is None else output_model_path
    model = _opened(source)
    optimised = model.copy()
    optimise(optimised)
    save(lowered(optimised, model.opset_imports), str(target))


def _quantise(source: Any, target: str | Path, external: bool, data: Any, **settings: Any) -> None:
    result = quantize(_opened(source), data, **settings)
    save(result.model, str(target), external="one-file" if external else "auto")


def _opened(source: Any) -> Model:
    return load(source) if isinstance(source, str | Path) else from_onnx(source)


def _nodes(
    operators: Iterable[str] | None, include: Iterable[str] | None, exclude: Iterable[str] | None
) -> dict[str, Any]:
    """What is quantised; operators that are no products follow those that are."""
    known = PRODUCTS + RECURRENT
    chosen = [operator for operator in operators or known if operator in known]
    return {
        "operators": chosen,
        "include": tuple(include or ()),
        "exclude": tuple(exclude or ()),
        "strict_names": False,
    }


def _extra(options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    unknown = sorted(set(options or ()) - _READ - _WITHOUT_EFFECT)
    if unknown:
        warnings.warn(f"extra_options without effect: {', '.join(unknown)}", stacklevel=3)
    return options or {}


def _one_of(names: Mapping[Any, str], value: Any, what: str) -> str:
    if value not in names:
        raise UnsupportedError(f"there is no {what} {value}", hint=f"one of {', '.join(map(str, names))}")
    return names[value]
