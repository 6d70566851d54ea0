"""Upgraded models are valid, by the word of the onnx package, and say so of themselves."""

from __future__ import annotations

import onnx
import pytest

import ingot
from conformance.cases import node_cases
from conformance.test_old_models import SAMPLES
from ingot.ops.catalog import standard
from ingot.versions.upgrade import NEWEST, upgrade

EXPECTED = {
    "test_mvn": "onnx's own shape inference fails inside its function body of MeanVarianceNormalization at opset 28",
}


def upgraded(model: ingot.Model) -> int:
    """How many nodes were rewritten; AssertionError or an error of onnx's checker if the result is not valid."""
    count = upgrade(model)
    for domain, version in model.opset_imports.items():
        assert version >= NEWEST.get(domain, 0)
    catalog = standard()
    for node in model.nodes():
        newest = catalog.newest(node.domain, node.op_type)
        assert newest is None or newest is catalog.find(node.domain, node.op_type, NEWEST.get(node.domain, 1))
    model.ir_version = max(model.ir_version, 14)
    onnx.checker.check_model(ingot.to_onnx(model), full_check=True)
    return count


def test_node_models_that_are_rewritten_are_valid_afterwards() -> None:
    rewritten = 0
    for name, case in node_cases().items():
        if name not in EXPECTED:
            rewritten += bool(upgraded(ingot.from_onnx(case.model)))
    assert rewritten > 50


@pytest.mark.parametrize("name", SAMPLES)
def test_old_models_are_valid_afterwards(name: str) -> None:
    assert upgraded(ingot.decode(SAMPLES[name]["model.onnx"]))


def test_upgrading_twice_changes_nothing() -> None:
    for files in SAMPLES.values():
        model = ingot.decode(files["model.onnx"])
        upgrade(model)
        before = ingot.encode(model)
        assert upgrade(model) == 0
        assert ingot.encode(model) == before


def test_a_node_that_means_nothing_is_named() -> None:
    model = ingot.parse_model(
        '<ir_version: 8, opset_import: ["" : 9]>\ng (float[1] x) => (float[1] y) { y = Gelu (x) }'
    )
    with pytest.raises(ingot.CheckError, match="no operator Gelu in version 9: it came with 20") as caught:
        upgrade(model)
    assert "in node 'y' (Gelu)" in str(caught.value)


def test_an_old_node_with_a_wrong_number_of_inputs_is_refused_whatever_its_operator() -> None:
    old = [operator for operator in standard() if "upgrade" in operator.rules]
    assert len(old) > 50
    for operator in old:
        variadic = bool(operator.inputs) and operator.inputs[-1].variadic
        required = any(not formal.optional and not formal.variadic for formal in operator.inputs)
        counts = [*([] if variadic else [len(operator.inputs) + 1]), *([0] if required else [])]
        for inputs in ([ingot.Value(f"x{index}") for index in range(count)] for count in counts):
            graph = ingot.Graph(inputs)
            graph.append(ingot.Node(operator.name, inputs, ["y"], domain=operator.domain))
            with pytest.raises(ingot.CheckError, match=rf"^{operator.name}-{operator.version} takes .* inputs"):
                upgrade(ingot.Model(graph, {operator.domain: operator.version}))


def test_an_old_node_that_omits_an_input_it_needs_is_refused() -> None:
    graph = ingot.Graph([ingot.Value("b")])
    graph.append(ingot.Node("Gemm", [None, graph.inputs[0], graph.inputs[0]], ["y"]))
    with pytest.raises(ingot.CheckError, match="Gemm-6 needs input 'a', the node omits it"):
        upgrade(ingot.Model(graph, {"": 6}))
