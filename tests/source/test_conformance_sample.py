"""A sample of the standard's cases, built in two styles and computed in the third; `benchmarks/source.py` runs all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ingot
from conformance.cases import node_cases, plain, same
from ingot.ir.equality import differs
from ingot.source.api import to_source
from source.programs import executed, rebuilt

KINDS = (
    "test_if",
    "test_if_seq",
    "test_loop11",
    "test_loop13_seq",
    "test_scan9_sum",
    "test_sequence_map_add_1_sequence_1_tensor",
    "test_optional_has_element_optional_input",
    "test_gradient_of_add",
    "test_constant_pad",
    "test_cast_FLOAT_to_BFLOAT16",
    "test_quantizelinear_int4",
    "test_ai_onnx_ml_label_encoder_string_int",
    "test_ai_onnx_ml_tree_ensemble_single_tree",
    "test_strnormalizer_export_monday_casesensintive_lower",
    "test_layer_normalization_4d_axis0_expanded",
)
SAMPLE = sorted({*list(node_cases())[::13], *(name for name in KINDS if name in node_cases())})


@pytest.mark.parametrize("name", SAMPLE)
def test_the_program_builds_an_equal_model(name: str, tmp_path: Path) -> None:
    model = ingot.from_onnx(node_cases()[name].model)
    assert differs(model, rebuilt(model, tmp_path)) is None


@pytest.mark.parametrize("name", SAMPLE[::3])
def test_the_program_of_onnx_helper_builds_an_equal_model(name: str, tmp_path: Path) -> None:
    model = ingot.from_onnx(node_cases()[name].model)
    assert differs(model, ingot.from_onnx(rebuilt(model, tmp_path, "onnx"))) is None


@pytest.mark.parametrize("name", sorted({*SAMPLE[::2], *(name for name in KINDS if name in SAMPLE)}))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_program_of_numpy_agrees_or_is_refused_by_name(name: str, tmp_path: Path) -> None:
    case = node_cases()[name]
    model = ingot.from_onnx(case.model)
    try:
        source = to_source(model, style="numpy", weights="program.npz")
    except ingot.UnsupportedError as error:
        pytest.skip(error.message)
    run = executed(source, tmp_path)["run"]
    for inputs, outputs in case.data_sets:
        results = run(*map(plain, inputs))
        results = results if isinstance(results, tuple) else (results,)
        for value, result, expected in zip(model.graph.outputs, results, outputs, strict=True):
            array = np.asarray(result) if isinstance(result, np.generic) else result
            same(array, plain(expected), case.rtol, case.atol, value.name)
