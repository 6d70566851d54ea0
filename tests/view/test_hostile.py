"""Models that try to break who looks at them: every request of the page is answered, or refused in words."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from ingot import IngotError, Model, parse_model
from ingot.view.answers import Answers
from ingot.view.any_model import load_any
from view.conftest import Open
from view.samples import parsed

HEAD = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>'


def cycle() -> Model:
    model = parsed("a = Tanh (x) b = Exp (a) y = Neg (b)")
    first, second, _ = model.graph.nodes
    first.replace_input(0, second.output)
    return model


def wrong_sizes() -> Model:
    return parsed("a = Reshape (x, s) y = MatMul (a, x)", inputs="float[3, 8] x, float[2, 2] s")


def unknown_operators() -> Model:
    return parsed("a = Nothing (x) b = local.Other <k: int = 3> (a, x) y = Relu (b)")


def laughs() -> Model:
    functions = "\n".join(
        f'<opset_import: ["" : 21, "local" : 1], domain: "local"> f{i} (p) => (q) '
        f"{{ a = local.f{i + 1} (p) q = local.f{i + 1} (a) }}"
        for i in range(40)
    )
    last = '<opset_import: ["" : 21], domain: "local"> f40 (p) => (q) { q = Neg (p) }'
    return parsed("y = local.f0 (x)", functions=f"{functions}\n{last}")


def recursive() -> Model:
    function = '<opset_import: ["" : 21, "local" : 1], domain: "local"> f (p) => (q) { q = local.f (p) }'
    return parsed("y = local.f (x)", functions=function)


def many_inputs() -> Model:
    names = ", ".join(["x"] * 10_000)
    return parsed(f"y = Relu ({names})")


def bomb() -> Model:
    return parse_model(f"{HEAD} g () => (y) <int64[2] s = {{1000000000, 1000000000}}> {{ y = ConstantOfShape (s) }}")


def window_of_nothing() -> Model:
    body = "y = Conv <group = 0, strides = [0, 0], kernel_shape = [0, 0], pads = [9223372036854775807, 0, 0, 0]> (x, w)"
    return parsed(body, inputs="float[1, 3, 8, 8] x, float[4, 3, 3, 3] w")


def odd_names() -> Model:
    model = parsed("a = Tanh (x) y = Exp (a)")
    model.graph.nodes[0].name = "</script>\0\ud800\u202e" * 1000
    model.graph.nodes[0].outputs[0].name = "\u202e<img src=x>" * 100
    model.graph.inputs[0].name = ""
    model.metadata["names"] = "{" * 10_000
    return model


def deep() -> Model:
    text = "r = Neg (x)"
    for number in range(60):
        branch = f"then_branch = t{number} () => (float[n, 8] r) {{ {text} }}, else_branch = e{number} () => (x)"
        text = f"r = If (c) <{branch} {{ }}>"
    return parsed(text.replace("r = If", "y = If", 1), inputs="float[n, 8] x, bool c")


HOSTILE = [
    *(cycle, wrong_sizes, unknown_operators, laughs, recursive, many_inputs, bomb, window_of_nothing, odd_names),
    deep,
]


def answered(answers: Answers, path: str) -> Any:
    """An answer as JSON, or the words of a refusal."""
    try:
        return json.loads(json.dumps(answers.get(path)))
    except IngotError:
        return None


@pytest.mark.parametrize("make", HOSTILE)
def test_every_request_about_a_hostile_model_is_answered(make: Any) -> None:
    answers = Answers(make(), "hostile")
    assert answered(answers, "model")["levels"]
    assert answered(answers, "index") is not None
    assert answered(answers, "types") is not None
    assert answered(answers, "check") is not None
    for leaf in range(min(12, len(answers.scene.leaves))):
        assert answered(answers, f"node/{leaf}")["title"]
        answered(answers, f"weight/{leaf}/0")
    answered(answers, "explain/1")
    answered(answers, "state/tab")


@pytest.mark.parametrize("make", HOSTILE)
def test_running_and_measuring_a_hostile_model_ends_in_words(make: Any) -> None:
    answers = Answers(make(), "hostile")
    answers.get("model")
    for path in ("run/tab", "profile/tab", "compare/tab"):
        with contextlib.suppress(IngotError):
            json.dumps(answers.post(path, b'{"seconds": 0, "run": 1, "with": "cpu", "threads": 1}'))


@pytest.mark.usefixtures("chromium")
@pytest.mark.parametrize("make", HOSTILE)
def test_the_page_draws_a_hostile_model_and_names_its_problems(open_page: Open, make: Any) -> None:
    page = open_page(make())
    page.evaluate("ingot.openAll()")
    page.wait_for_timeout(50)
    assert page.evaluate("ingot.drawing.drawn") > 0
    assert "NaN" not in page.inner_text("#facts")
    assert page.evaluate("document.querySelectorAll('#panel img, #panel script').length") == 0


def test_weights_outside_of_the_folder_are_refused(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="the file is written by the onnx package")
    (tmp_path / "secret.bin").write_bytes(b"\0" * 64)
    folder = tmp_path / "model"
    folder.mkdir()
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[4, 4], data_location=1)
    tensor.external_data.add(key="location", value="../secret.bin")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, ["n", 4])],
        [onnx.helper.make_tensor_value_info("y", 1, ["n", 4])],
        [tensor],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(IngotError, match="leaves the model's folder"):
        load_any(folder / "m.onnx")
