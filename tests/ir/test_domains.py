"""What a node applies, and where its operator is from: `ai.onnx` and the empty name are one domain."""

from __future__ import annotations

import copy
import pickle

import pytest

from ingot.ir import Function, FunctionId, Graph, Model, Node, Value, problems
from ingot.ir.domains import OpsetImports, canonical, is_of_onnx, spelled_out
from ingot.ir.text import parse_model, to_text


def test_both_spellings_of_the_standard_domain_are_the_empty_name() -> None:
    assert [canonical(domain) for domain in ("", "ai.onnx", "ai.onnx.ml", "my")] == ["", "", "ai.onnx.ml", "my"]
    assert [spelled_out(domain) for domain in ("", "ai.onnx.ml")] == ["ai.onnx", "ai.onnx.ml"]
    assert [is_of_onnx(domain) for domain in ("", "ai.onnx.ml", "ai.onnxy", "my")] == [True, True, False, False]


def test_a_node_has_the_canonical_name_of_its_domain() -> None:
    node = Node("Relu", [Value("x")], 1, domain="ai.onnx")
    assert node.domain == ""
    node.domain = "my"
    assert node.domain == "my"
    node.domain = "ai.onnx"
    assert node.domain == ""


def test_a_node_applies_an_operator_of_one_domain() -> None:
    standard = Node("Identity", [Value("x")], 1, domain="ai.onnx")
    custom = Node("Identity", [Value("x")], 1, domain="my")
    assert standard.applies("Squeeze", "Identity")
    assert standard.applies("Identity", domain="ai.onnx")
    assert not standard.applies("Squeeze")
    assert not standard.applies("Identity", domain="my")
    assert not standard.applies()
    assert not custom.applies("Identity")
    assert custom.applies("Identity", domain="my")


def test_a_table_of_one_domain_has_nothing_for_a_node_of_another() -> None:
    table = {"Relu": 1}
    assert Node("Relu", [Value("x")], 1, domain="ai.onnx").rule_in(table) == 1
    assert Node("Relu", [Value("x")], 1, domain="my").rule_in(table) is None
    assert Node("Relu", [Value("x")], 1, domain="my").rule_in(table, "my") == 1
    assert Node("Elu", [Value("x")], 1).rule_in(table) is None


def test_imports_have_one_entry_for_both_spellings() -> None:
    imports = OpsetImports({"ai.onnx": 17, "my": 1})
    assert imports == {"": 17, "my": 1}
    assert imports["ai.onnx"] == imports[""] == imports.get("ai.onnx") == 17
    assert "ai.onnx" in imports
    assert imports.get("other") is None
    assert imports.get("other", 0) == 0
    imports["ai.onnx"] = 18
    imports.update({"ai.onnx": 19}, other=2)
    imports |= {"ai.onnx": 20}
    assert imports.setdefault("ai.onnx", 3) == 20
    assert imports == {"": 20, "my": 1, "other": 2}
    assert imports.pop("ai.onnx") == 20
    assert imports.pop("ai.onnx", None) is None
    imports[""] = 1
    del imports["ai.onnx"]
    assert imports == {"my": 1, "other": 2}


@pytest.mark.parametrize("twin", [OpsetImports.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_of_imports_are_imports(twin: object) -> None:
    assert callable(twin)
    found = twin(OpsetImports({"": 17}))
    assert isinstance(found, OpsetImports)
    assert found["ai.onnx"] == 17


def test_a_model_that_spells_out_the_standard_domain_imports_it() -> None:
    x = Value("x")
    nodes = [Node("Relu", [x], ["y"]), Node("Relu", [x], ["z"], domain="ai.onnx")]
    model = Model(Graph([x], [nodes[0].output], nodes), {"ai.onnx": 17})
    assert model.opset == 17
    assert list(problems(model)) == []
    model.opset_imports = {"ai.onnx": 18}
    assert model.opset_imports == {"": 18}


def test_a_call_finds_its_function_under_either_spelling() -> None:
    body = Graph([inner := Value("a")], [])
    relu = Node("Relu", [inner], ["b"])
    body.append(relu)
    body.outputs.append(relu.output)
    function = Function("ai.onnx", "Twice", body, opset_imports={"ai.onnx": 17})
    x = Value("x")
    calls = [
        Node("Twice", [x], ["y"]),
        Node("Twice", [x], ["z"], domain="ai.onnx"),
        Node("Twice", [x], ["w"], domain="my"),
    ]
    model = Model(Graph([x], [call.output for call in calls], calls), {"": 17, "my": 1}, functions=[function])
    assert function.id == FunctionId("", "Twice")
    assert [model.function_of(call) for call in calls] == [function, function, None]
    assert function.opset_imports == {"": 17}


def test_a_text_that_spells_out_the_standard_domain_is_read_as_one_that_does_not() -> None:
    text = '<ir_version: 10, opset_import: ["{}" : 18]>\ng (float[2] x) => (float[2] y) {{ y = {}Relu (x) }}'
    spelled, plain = parse_model(text.format("ai.onnx", "ai.onnx.")), parse_model(text.format("", ""))
    assert to_text(spelled) == to_text(plain)
    assert spelled.graph.nodes[0].applies("Relu")
