"""What targets take: operators, types, versions and restrictions, and the remedies that were tried out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot import Float32, Float64, Int64, String, build, op
from ingot.engine_support import check_for, known_targets, verdict
from ingot.engine_support.opsets import at_opset
from ingot.engine_support.table import table_for
from ingot.errors import InputError


def model(fn: Any, opset: int = 20, **inputs: Any) -> ingot.Model:
    return build(fn, inputs=inputs, opset=opset)


def gelu(opset: int = 20) -> ingot.Model:
    return model(lambda x: op.Gelu(x), opset, x=Float32["n", 4])


def test_a_model_that_a_target_takes_has_no_findings() -> None:
    assert check_for(gelu(), "onnxruntime") == []
    assert check_for(model(lambda x: op.Relu(x), x=Float32["n"]), "openvino") == []


def test_an_opset_and_an_ir_version_that_are_too_new_are_found_and_a_downgrade_fixes_them() -> None:
    found = verdict(gelu(28), "onnxruntime:1.18")
    assert {finding.kind for finding in found.errors} == {"ir_version", "opset"}
    assert found.errors[1].message == "onnxruntime 1.18.1 takes ai.onnx up to 21, the model has 28"
    assert found.remedy is not None
    assert found.remedy.shown("m.onnx") == "ingot downgrade m.onnx --opset 21 fixes all of these"
    assert check_for(at_opset(gelu(28), 21), "onnxruntime:1.18") == []


def test_an_operator_that_is_missing_is_named_with_its_nodes() -> None:
    made = model(lambda x: op.Gelu(op.Gelu(x)), x=Float32[2, 4])
    found = verdict(made, "tensorrt:8.6")
    [missing] = [finding for finding in found.errors if finding.kind == "operator"]
    assert missing.message == "tensorrt 8.6 has no Gelu-20"
    assert missing.operator == "Gelu-20"
    assert len(missing.nodes) == 2
    assert "in nodes 'gelu', 'gelu_1'" in str(missing)
    assert found.remedy is not None
    assert not found.remedy.left


def test_a_type_that_has_no_kernel_is_found() -> None:
    made = model(lambda x: op.Acos(op.Cast(x, to=int(ingot.DType.BFLOAT16))), 22, x=Float32["n"])
    [finding] = check_for(made, "onnxruntime")
    assert finding.kind == "type"
    assert finding.message == "onnxruntime 1.31.1 has no Acos-22 of bfloat16"


def test_float16_is_computed_in_float32_where_there_is_no_other_kernel() -> None:
    made = model(lambda x: op.Acos(op.Cast(x, to=int(ingot.DType.FLOAT16))), x=Float32["n"])
    assert check_for(made, "onnxruntime") == []


def test_an_attribute_that_a_release_does_not_know_is_found() -> None:
    made = model(lambda x: op.Relu(x), x=Float32["n"])
    made.graph.nodes[0]["novel"] = 1
    assert "has no Relu-14 with attribute 'novel'" in check_for(made, "onnxruntime")[0].message


def test_restrictions_of_tensorrt_are_found() -> None:
    made = model(lambda x, k: op.TopK(x, k, sorted=0)[0], x=Float32[4, 9], k=Int64[1])
    assert "takes no TopK with sorted 0" in check_for(made, "tensorrt")[0].message
    made = model(lambda x: op.MaxPool(x, kernel_shape=[2], outputs=1), x=Float32[1, 2, 8])
    assert "takes no MaxPool of 3 axes" in check_for(made, "tensorrt")[0].message
    made = model(lambda x, a: op.ReduceSum(x, a), x=Float32[4, 9], a=Int64[1])
    assert "takes no ReduceSum whose 'axes' is computed" in check_for(made, "tensorrt")[0].message


def test_what_tensorrt_computes_otherwise_and_open_sizes_are_warnings() -> None:
    made = model(lambda x: op.Add(x, x), x=Float64["n"])
    found = check_for(made, "tensorrt")
    assert [finding.severity for finding in found] == ["warning", "warning"]
    assert found[0].message == "tensorrt 10.1 computes float64 in float32"
    assert "optimisation profile for the open sizes of 'x'" in found[1].message


def test_functions_are_looked_into() -> None:
    made = ingot.parse_model(
        """<ir_version: 10, opset_import: ["" : 20, "my" : 1]>
        agraph (float[n] x) => (float[n] y) { y = my.twice(x) }
        <domain: "my", opset_import: ["" : 20]>
        twice (x) => (y) { g = Gelu(x)  y = Add(g, g) }"""
    )
    assert check_for(made, "onnxruntime") == []
    assert any("has no Gelu-20" in finding.message for finding in check_for(made, "tensorrt:8.6"))


def test_an_operator_of_a_domain_that_a_target_does_not_know_is_refused() -> None:
    made = model(lambda x: op.domain("my.own").Twist(x), x=Float32["n"])
    assert check_for(made, "openvino")[0].message.endswith("has no my.own.Twist")


def test_an_opset_says_every_node_that_it_cannot_say() -> None:
    def fn(x: Any, s: Any) -> Any:
        return op.Unique(op.Relu(x))[0], op.StringNormalizer(s), op.Unique(x)[0]

    made = model(fn, 20, x=Float32[8], s=String[4])
    found = check_for(made, "opset:9")
    assert {finding.operator: len(finding.nodes) for finding in found} == {"Unique": 2, "StringNormalizer": 1}
    assert all("cannot express this" in finding.message for finding in found)


def test_an_opset_that_can_say_all_of_a_model_names_the_command() -> None:
    found = verdict(gelu(), "opset:13")
    assert found.errors == []
    assert found.remedy is not None
    assert found.remedy.command("m.onnx") == "ingot downgrade m.onnx --opset 13"
    assert verdict(gelu(), "opset:20").remedy is None


def test_folding_is_tried_where_no_opset_helps() -> None:
    def fn(x: Any) -> Any:
        return op.Add(x, op.Unique(np.array([2, 1, 2], np.float32))[0])

    found = verdict(model(fn, x=Float32[2]), "tensorrt")
    assert found.errors[0].message == "tensorrt 10.1 has no Unique-11"
    assert found.remedy is not None
    assert found.remedy.commands[0][0] == "optimize"
    assert not found.remedy.left


@pytest.mark.parametrize("target", ["onnxrumtime", "opset:99", "opset:x", "tensorrt:x", "tensorrt:5"])
def test_an_unknown_target_is_refused(target: str) -> None:
    with pytest.raises(InputError):
        check_for(gelu(), target)


def test_a_release_between_those_known_is_held_to_the_one_before_it() -> None:
    assert table_for("onnxruntime:1.19").release == "1.18.1"
    assert table_for("onnxruntime:1.20").release == "1.20.1"
    assert table_for("onnxruntime").release == known_targets()["onnxruntime"][0]


def test_every_table_can_be_read_and_says_where_it_is_from() -> None:
    for name, releases in known_targets().items():
        for release in releases:
            table = table_for(f"{name}:{release}")
            assert (table.name, table.release) == (name, release)
            assert table.source
            assert len(table.operators[""]) > 150
