"""What the table of onnxruntime says is what onnxruntime does, on cases of the standard."""

from __future__ import annotations

import pytest

import ingot
from conformance.cases import node_cases
from ingot.engine_support import check_for, known_targets

onnxruntime = pytest.importorskip("onnxruntime")

NEEDS_A_LOCALE = "StringNormalizer"
EVERY = 25


def test_cases_from_all_over_the_suite_load_where_the_table_says_so() -> None:
    if onnxruntime.__version__ not in known_targets()["onnxruntime"]:
        pytest.skip("there is no table of this release")
    target = f"onnxruntime:{onnxruntime.__version__}"
    onnxruntime.set_default_logger_severity(4)
    wrong = []
    for name in sorted(node_cases())[::EVERY]:
        proto = node_cases()[name].model
        model = ingot.from_onnx(proto)
        if any(node.op_type == NEEDS_A_LOCALE for node in model.nodes()):
            continue
        try:
            onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
            loads = True
        except Exception:
            loads = False
        if loads == bool(check_for(model, target)):
            wrong.append(name)
    assert not wrong
