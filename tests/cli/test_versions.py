"""`upgrade` and `downgrade`: to any version, by domain, proved, or refused with what helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ingot
from cli.samples import Run
from ingot.format import load, save


def written(
    *nodes: Any, types: dict[str, Any], imports: dict[str, int], name: str = "model.onnx", ir: int = 10
) -> None:
    """A model whose inputs and outputs are those of `types` that no node makes, and that no node reads."""
    made = {output for node in nodes for output in node.output}
    values = {key: helper.make_tensor_value_info(key, *type_) for key, type_ in types.items()}
    graph = helper.make_graph(
        nodes, "g", [v for k, v in values.items() if k not in made], [v for k, v in values.items() if k in made]
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
    save(ingot.from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=ir)), name, durable=False)


def normalised() -> None:
    """LayerNormalization-17, which older versions compute in parts, and Softmax-13, which meant something else."""
    layer = helper.make_node("LayerNormalization", ["x", "s"], ["h"], name="norm")
    types = {
        "x": (TensorProto.FLOAT, ["n", 3, 8]),
        "s": (TensorProto.FLOAT, [8]),
        "y": (TensorProto.FLOAT, ["n", 3, 8]),
    }
    written(layer, helper.make_node("Softmax", ["h"], ["y"], axis=1), types=types, imports={"": 21})


def encoder(imports: dict[str, int]) -> None:
    """LabelEncoder-4 from strings to floats, and standard operators if they are imported."""
    node = helper.make_node(
        "LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=["a", "b"], values_floats=[1.5, 2.5]
    )
    types = {"x": (TensorProto.STRING, ["n"]), "y": (TensorProto.FLOAT, ["n"])}
    written(node, types=types, imports={"ai.onnx.ml": 4, **imports})


def test_a_downgrade_says_what_it_rewrote_and_proves_it(run: Run) -> None:
    normalised()
    result = run("downgrade", "model.onnx", "--opset", "12", "-o", "old.onnx", "--prove")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("ran both on random inputs: 1 output ")
    assert result.stderr.endswith(
        "ai.onnx 21 became ai.onnx 12, 2 nodes rewritten\n  1 LayerNormalization-17\n  1 Softmax-13\n"
    )
    old = load("old.onnx")
    assert (old.opset, old.ir_version) == (12, 7)
    assert run("check", "old.onnx").exit_code == 0


def test_an_upgrade_goes_to_any_version_between(run: Run) -> None:
    normalised()
    assert run("upgrade", "model.onnx", "--opset", "23", "-o", "new.onnx").exit_code == 0
    new = load("new.onnx")
    assert (new.opset, new.ir_version) == (23, 11)
    assert run("upgrade", "new.onnx", "--opset", "28", "--prove").exit_code == 0
    assert load("new.onnx").opset == 28


def test_a_version_of_the_other_direction_is_refused_with_the_command_that_takes_it(run: Run) -> None:
    normalised()
    before = Path("model.onnx").read_bytes()
    result = run("upgrade", "model.onnx", "--opset", "13")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: the model has ai.onnx 21, and 13 is older: that is a downgrade\n"
        "  hint: ingot downgrade model.onnx --opset 13\n"
    )
    result = run("downgrade", "model.onnx", "--opset", "22")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: the model has ai.onnx 21, and 22 is newer: that is an upgrade\n"
        "  hint: ingot upgrade model.onnx --opset 22\n"
    )
    assert Path("model.onnx").read_bytes() == before


def test_a_refusal_names_the_node_and_how_far_down_the_model_can_go(run: Run) -> None:
    attributes = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    resize = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)
    types = {"x": (TensorProto.FLOAT, [4, 4]), "scales": (TensorProto.FLOAT, [2]), "y": (TensorProto.FLOAT, ["h", "w"])}
    written(resize, types=types, imports={"": 21})
    result = run("downgrade", "model.onnx", "--opset", "8", "-o", "old.onnx")
    assert result.exit_code == 1
    first, *rest = result.stderr.splitlines()
    assert first.startswith("error: ai.onnx 9 cannot express this: Upsample makes nothing smaller")
    assert rest == [
        "  in node 'y' (Resize-10)",
        "  all of the model can be expressed in ai.onnx 10",
        "  hint: give the inputs fixed sizes, and the scales or sizes as constants",
    ]
    assert not Path("old.onnx").exists()


def test_what_has_no_older_equivalent_at_all_says_so(run: Run) -> None:
    split = helper.make_node("StringSplit", ["x"], ["y", "n"], delimiter=",")
    types = {"x": (TensorProto.STRING, ["m"]), "y": (TensorProto.STRING, ["m", None]), "n": (TensorProto.INT64, ["m"])}
    written(split, types=types, imports={"": 20})
    result = run("downgrade", "model.onnx", "--opset", "9")
    assert result.stderr == (
        "error: ai.onnx 19 cannot express this: StringSplit has no equivalent there\n  in node 'y' (StringSplit-20)\n"
    )


def test_other_domains_of_onnx_follow_the_release_of_the_opset(run: Run) -> None:
    encoder({"": 20})
    assert run("downgrade", "model.onnx", "--opset", "9", "-o", "old.onnx", "--prove").exit_code == 0
    assert load("old.onnx").opset_imports == {"ai.onnx.ml": 1, "": 9}
    assert run("upgrade", "model.onnx", "--opset", "21", "-o", "new.onnx").exit_code == 0
    assert load("new.onnx").opset_imports == {"ai.onnx.ml": 5, "": 21}


def test_a_domain_goes_to_the_version_that_names_it(run: Run) -> None:
    encoder({"": 20})
    assert run("downgrade", "model.onnx", "--opset", "17", "--opset", "ai.onnx.ml=2", "-o", "old.onnx").exit_code == 0
    assert load("old.onnx").opset_imports == {"ai.onnx.ml": 2, "": 17}
    assert run("downgrade", "model.onnx", "--opset", "ai.onnx.ml=1", "-o", "old.onnx").exit_code == 0
    assert load("old.onnx").opset_imports == {"ai.onnx.ml": 1, "": 20}


def test_a_model_without_standard_operators_gets_those_it_needs_in_the_version_asked_for(run: Run) -> None:
    encoder({})
    assert run("downgrade", "model.onnx", "--opset", "9", "-o", "old.onnx", "--prove").exit_code == 0
    assert load("old.onnx").opset_imports == {"ai.onnx.ml": 1, "": 9}
    assert run("downgrade", "model.onnx", "--opset", "17", "-o", "old.onnx").exit_code == 0
    assert load("old.onnx").opset_imports == {"ai.onnx.ml": 3}


def test_a_domain_that_cannot_follow_can_be_left_alone(run: Run) -> None:
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=2,
        nodes_treeids=[0],
        nodes_nodeids=[0],
        nodes_featureids=[0],
        nodes_values=[0.0],
        nodes_modes=["LEAF"],
        nodes_truenodeids=[0],
        nodes_falsenodeids=[0],
        target_treeids=[0, 0],
        target_nodeids=[0, 0],
        target_ids=[0, 1],
        target_weights=[1.0, 2.0],
    )
    types = {"x": (TensorProto.FLOAT, ["n", 1]), "y": (TensorProto.FLOAT, ["n", 2])}
    written(node, types=types, imports={"": 17, "ai.onnx.ml": 3})
    result = run("upgrade", "model.onnx", "--opset", "22")
    assert result.exit_code == 1
    assert "TreeEnsembleRegressor-5 is deprecated\n" in result.stderr
    assert result.stderr.endswith("  hint: leave other domains as they are: --opset ai.onnx.ml=3\n")
    assert run("upgrade", "model.onnx", "--opset", "22", "--opset", "ai.onnx.ml=3", "--prove").exit_code == 0
    assert load("model.onnx").opset_imports == {"": 22, "ai.onnx.ml": 3}


@pytest.mark.parametrize("command", ["upgrade", "downgrade"])
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--opset", "99"], 1, "ai.onnx 99 is not known: the newest version is 28"),
        (["--opset", "ai.onnx.ml=3"], 1, "the model does not import ai.onnx.ml\n  hint: it imports ai.onnx 21"),
        (["--opset", "0"], 2, "'0' is neither a version, such as 17, nor ai.onnx.ml=3"),
        (["--opset", "ai.onnx.ml="], 2, "'ai.onnx.ml=' is neither"),
        (["--opset", "21.0"], 2, "'21.0' is neither"),
        (["--opset", "=21"], 2, "'=21' is neither"),
        (["--opset", "21", "--opset", "ai.onnx=21"], 2, "ai.onnx is given twice"),
        (["--opset", "21", "--shape", "n=2"], 2, "--shape goes with --prove"),
    ],
)
def test_versions_that_make_no_sense_are_refused(
    run: Run, command: str, options: list[str], code: int, message: str
) -> None:
    normalised()
    result = run(command, "model.onnx", *options)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_downgrade_wants_a_version(run: Run) -> None:
    normalised()
    result = run("downgrade", "model.onnx")
    assert result.exit_code == 2
    assert "Missing option '--opset'" in result.stderr


def test_weights_that_an_old_format_lists_as_inputs_are_known(run: Run) -> None:
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s")
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2, 2])]
    values += [helper.make_tensor_value_info("s", TensorProto.FLOAT, [4])]
    graph = helper.make_graph(
        [helper.make_node("Upsample", ["x", "s"], ["y"])],
        "g",
        values,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 4, 4])],
        [scales],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=3)
    save(ingot.from_onnx(proto), "model.onnx", durable=False)
    assert run("downgrade", "model.onnx", "--opset", "8", "-o", "old.onnx", "--prove").exit_code == 0
    old = load("old.onnx")
    assert (old.opset, old.ir_version, len(old.graph.nodes[0].inputs)) == (8, 3, 1)
