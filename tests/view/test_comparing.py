"""Two models in one page: what is listed, and where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ingot
from ingot import Model, Node
from ingot.cli.main import main
from ingot.view.answers import Answers
from ingot.view.comparing.comparison import Comparison
from view.samples import layers, parsed


def before() -> Model:
    model = parsed("a = Tanh (x) b = LeakyRelu <alpha = 0.1> (a) c = MatMul (b, b) y = Exp (c)")
    model.graph.nodes[2].replace_input(1, model.graph.add_initializer("w", np.ones((8, 4), np.float32)))
    return model


def after() -> Model:
    """One node gone, one new, an attribute and a weight changed."""
    model = before()
    ingot.bypass(model.graph.nodes[0])
    model.graph.value("b").producer["alpha"] = 0.5  # type: ignore[index]
    ingot.set_constant(model.graph.value("w"), np.full((8, 4), 2, np.float32))
    ingot.insert_after(model.graph.value("c"), Node("Sigmoid", [model.graph.value("c")], ["s"]))
    return model


def compared(a: Model, b: Model) -> Comparison:
    return Comparison(Answers(a, "a.onnx"), Answers(b, "b.onnx"))


def titles(comparison: Comparison, side: str) -> dict[str, str]:
    """The operators of leaves that are coloured in a picture, and how."""
    colours = comparison.get("differences")["colours"][side]
    operators = comparison.get(f"{side}/index" if side != "merged" else "index")["operators"]
    return {operators[leaf]: status for leaf, status in colours.items()}


def test_each_difference_has_its_place_in_every_picture() -> None:
    comparison = compared(before(), after())
    assert titles(comparison, "merged") == {
        "Tanh": "removed",
        "LeakyRelu": "changed",
        "MatMul": "changed",
        "Sigmoid": "added",
        "Exp": "changed",
    }
    assert titles(comparison, "a")["Tanh"] == "removed"
    assert titles(comparison, "b")["Sigmoid"] == "added"
    assert "Tanh" not in titles(comparison, "b")
    listed = comparison.get("differences")["entries"]
    alpha = next(entry for entry in listed if entry["title"].startswith("LeakyRelu"))
    assert alpha["changes"][0]["before"].startswith("0.1")
    assert any("32 elements differ, by 1 at most" in str(entry["changes"]) for entry in listed)
    assert all(entry["merged"] is not None for entry in listed)


def test_what_is_gone_stands_where_it_was() -> None:
    comparison = compared(before(), after())
    model = comparison._both().model
    kinds = [node.op_type for node in model.graph]
    assert kinds == ["Tanh", "LeakyRelu", "MatMul", "Sigmoid", "Exp"]
    gone = model.graph.nodes[0]
    assert [user.op_type for user in gone.output.users] == ["LeakyRelu"]
    assert comparison.get("check") == []
    comparison.get("model")
    assert any(text == "n × 8" for text in comparison.get("types").values())


def test_equal_models_have_no_differences() -> None:
    comparison = compared(layers(6), layers(6))
    found = comparison.get("differences")
    assert found["entries"] == []
    assert found["colours"] == {"a": {}, "b": {}, "merged": {}}
    assert len(found["partners"]) > 40


def test_nodes_in_another_order_make_no_circle() -> None:
    a = parsed("a = Tanh (x) b = Exp (a) y = Neg (b)")
    b = parsed("a = Exp (x) b = Tanh (a) y = Neg (b)")
    assert len(compared(a, b)._both().model.graph) >= 3


def test_differences_inside_of_branches_and_functions_are_listed() -> None:
    branches = (
        "then_branch = t () => (float[n, 8] r) {{ r = {0} (x) }}, "
        "else_branch = e () => (float[n, 8] s) {{ s = Neg (x) }}"
    )
    function = '<opset_import: ["" : 21], domain: "local"> f (p) => (q) {{ q = {0} (p) }}'
    models = [
        parsed(
            f"a = If (c) <{branches.format(op)}> y = local.f (a)",
            inputs="float[n, 8] x, bool c",
            functions=function.format(op),
        )
        for op in ("Exp", "Abs")
    ]
    listed = compared(*models).get("differences")["entries"]
    statuses = [(entry["status"], entry["title"].split()[0]) for entry in listed]
    assert ("removed", "Exp") in statuses
    assert ("added", "Abs") in statuses
    assert any(" in " in entry["title"] for entry in listed)


def test_a_comparison_is_saved_as_one_page(tmp_path: Path) -> None:
    paths = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for path, model in zip(paths, (before(), after()), strict=True):
        ingot.save(model, path)
    target = tmp_path / "page.html"
    result: Any = CliRunner().invoke(main, ["view", *map(str, paths), "--save", str(target)])
    assert result.exit_code == 0, result.output
    text = target.read_text("utf-8")
    assert re.search(r'"compared":\["a.onnx","b.onnx"\]', text)
    assert '"a/level/0"' in text


def test_a_model_that_is_not_there_is_said_before_anything_is_served(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["view", str(tmp_path / "nothing.onnx"), "--no-browser"])
    assert result.exit_code == 1
    assert "http" not in result.output


@pytest.mark.parametrize("count", [1, 2])
def test_models_that_share_nothing_are_compared(count: int) -> None:
    comparison = compared(parsed("y = Tanh (x)"), layers(count))
    assert comparison.get("model")["compared"] == ["a.onnx", "b.onnx"]
    assert comparison.get("differences")["count"] > 0
