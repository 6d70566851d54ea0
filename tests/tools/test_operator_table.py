"""A few cases of the tables, through their generators: results agree with onnxruntime's, and plans stay as small."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from benchmarks import patterns
from benchmarks.operators import cases
from benchmarks.tables.case import Case
from benchmarks.tables.form_lines import cases as cases_of_form
from benchmarks.tables.form_lines import parsed
from benchmarks.tables.measure import Row, opened
from benchmarks.tables.page import cause, page
from benchmarks.tables.peer import dtypes_of, opset_of, peer_session

PLANS = {
    "Relu float32 typical": (1, 0),
    "Add row, constant tiny": (1, 0),
    "MatMul weights typical": (1, 0),
    "Conv depthwise 3x3 tiny": (1, 0),
    "Softmax last axis typical": (1, 0),
    "LayerNormalization last axis tiny": (1, 0),
    "Transpose heads tiny": (1, 0),
    "Concat two, last axis tiny": (1, 0),
    "Gather rows, int64 tiny": (1, 0),
    "ReduceMean reduce_mean_keepdims_example, constant arguments typical": (1, 0),
    "com.microsoft.SkipLayerNormalization float32 tiny": (1, 0),
    "Identity identity tiny": (0, 0),
}
"""Steps of the plan, and nodes on the reference, by the name of a row."""

PATTERN_PLANS = {
    "attention BERT, PyTorch eager tiny": (7, 0),
    "layer norm PyTorch, Pow and Sqrt typical": (1, 0),
    "activation GELU, Erf tiny": (1, 0),
    "block squeeze and excitation tiny": (4, 0),
    "shapes split heads tiny": (1, 0),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_case_agrees_with_onnxruntime_and_its_plan_has_as_many_steps(name: str) -> None:
    case = named(name)
    row, _ = opened(case, Row(case.operator, case.form, case.size), expected(case), threads=1)
    assert row.wrong is None
    assert (row.steps, len(row.reference)) == PLANS[name]


@pytest.mark.parametrize("name", PATTERN_PLANS)
def test_a_pattern_agrees_with_onnxruntime_and_its_plan_has_as_many_steps(name: str) -> None:
    (case,) = patterns.cases(f"^{re.escape(name)}$")
    row, _ = opened(case, Row(case.operator, case.form, case.size), expected(case), threads=1)
    assert row.wrong is None
    assert (row.steps, len(row.reference)) == PATTERN_PLANS[name]


def test_a_line_becomes_a_node_with_constants_and_sizes() -> None:
    (form,) = parsed("Slice | rows | [M,N] i8!=[1] i8!=[M] - i8=[2] | | M=4,6,8 N=3,3,3", "")
    tiny, typical, _ = cases_of_form(form, "int32")
    assert {name: (value.dtype, value.shape) for name, value in typical.feeds.items()} == {
        "x0": (np.int32, (6, 3)),
        "x4": (np.int64, (1,)),
    }
    assert [tensor.name for tensor in tiny.model.graph.initializer] == ["x1", "x2"]
    assert list(tiny.model.graph.node[0].input) == ["x0", "x1", "x2", "", "x4"]
    assert tiny.name == "Slice rows, int32 tiny"


def test_a_shape_times_a_number_is_a_sequence() -> None:
    (form,) = parsed("SequenceAt | second | i8[N,3]*4 i8=1 | | N=2,5,7", "")
    tiny, *_ = cases_of_form(form, "float32")
    assert [part.shape for part in tiny.feeds["x0"]] == [(2, 3)] * 4
    assert tiny.model.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type == onnx.TensorProto.INT64
    np.testing.assert_array_equal(expected(tiny)[0], tiny.feeds["x0"][1])


def test_a_node_test_grows_where_onnxruntime_runs_it_larger() -> None:
    sizes = {case.size: case.feeds["data"].shape for case in cases("^ReduceMean reduce_mean_keepdims_example ")}
    assert sizes["tiny"] == (3, 2, 2)
    assert np.prod(sizes["large"]) > 100 * np.prod(sizes["typical"]) / 10 > 1000


def test_types_and_opsets_are_those_of_kernels() -> None:
    assert dtypes_of("", "Relu") == ["float32", "float64", "int32", "int8"]
    assert opset_of("Relu", 26) == 26
    assert opset_of("Upsample", 26) == 9
    assert opset_of("Affine", 26) == 1


def test_the_page_sorts_rows_and_groups_the_slow_ones_by_cause() -> None:
    rows = [
        Row("Fast", "a", "tiny", 1e-6, 4e-6, 1, ("elementwise",)),
        Row("Slow", "b", "large", 4e-3, 1e-3, 1, ("contraction",)),
        Row("Sort", "c", "large", 1e-2, 1e-3, 1, (), ("TopK: a sort",)),
        Row("Wrong", "d", "tiny", wrong="output 0 differs"),
    ]
    text = page("Title", ["About."], rows, ["left out"], 1)
    assert re.findall(r"^\| (Fast|Slow|Sort) ", text, re.MULTILINE) == ["Sort", "Slow", "Fast"]
    assert "geometric mean of the ratios: 0.46" in text
    assert "| on the reference: TopK: a sort | 1 | 0.10 | 0.10 | Sort |" in text
    assert "| Wrong | d | tiny | output 0 differs |" in text
    assert cause(rows[1]) == "one slow kernel: contraction"


def named(name: str) -> Case:
    (case,) = cases(f"^{re.escape(name)}$")
    return case


def expected(case: Case) -> list[object]:
    return list(peer_session(case.data).run(None, case.feeds))
