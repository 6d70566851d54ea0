"""Programs that build a model with ingot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
from format.test_every_field import everything
from ingot import Float32, Int64, Tensor, build, op
from ingot.ir.equality import differs
from ingot.source.api import Style, to_source
from source.programs import calls_and_names, executed, rebuilt

HEAD = '<ir_version: 10, opset_import: ["" : 20]> '


def layers(count: int = 5) -> ingot.Model:
    """A network of equal layers with a skip connection, as an exporter names its parts."""
    weights = {f"encoder.layer.{i}.dense.weight": np.full((4, 4), i, np.float32) for i in range(count)}

    def network(x: object, mask: object) -> object:
        x = op.Mul(x, mask, name="/mask/Mul", outputs="/mask/Mul_output_0")
        for i, weight in enumerate(weights.values()):
            scope = f"/encoder/layer.{i}"
            product = op.MatMul(x, weight, name=f"{scope}/dense/MatMul", outputs=f"{scope}/dense/MatMul_output_0")
            active = op.Relu(product, name=f"{scope}/Relu", outputs=f"{scope}/Relu_output_0")
            x = op.Add(active, x, name=f"{scope}/Add", outputs=f"{scope}/Add_output_0")
            x = op.Mul(x, mask, name=f"{scope}/Mul", outputs=f"{scope}/Mul_output_0")
        return op.Softmax(x, axis=-1, outputs="y")

    inputs = {"x": Float32["n", 4], "mask": Float32["n", 4]}
    return build(network, inputs=inputs, outputs=["y"], initializers=weights, opset=20, exact=True)


def test_every_field_of_the_format_comes_back(tmp_path: Path) -> None:
    model = ingot.from_onnx(everything())
    assert differs(model, rebuilt(model, tmp_path)) is None


def test_repeated_layers_become_a_function_called_in_a_loop(tmp_path: Path) -> None:
    source = to_source(layers(), weights="program.npz")
    assert "def layer(mul, mask, i):" in source.text
    assert 'weights[f"encoder.layer.{i}.dense.weight"]' in source.text
    assert "for i in range(5):\n        mul = layer(mul, mask, i)" in source.text
    assert source.text.count("op.MatMul") == 1
    assert differs(layers(), executed(source, tmp_path)["make_model"]()) is None


@pytest.mark.parametrize("style", ["onnx", "numpy"])
def test_other_styles_loop_over_the_same_layers(style: Style, tmp_path: Path) -> None:
    source = to_source(layers(), style=style, weights="program.npz")
    assert "for i in range(5):\n        mul = layer(mul, mask, i)" in source.text
    names = executed(source, tmp_path)
    if style == "onnx":
        assert differs(layers(), ingot.from_onnx(names["make_model"]())) is None
    else:
        x = np.random.default_rng(0).random((3, 4), np.float32)
        expected = ingot.Session(layers(), providers=("reference",)).run(None, {"x": x, "mask": x})
        np.testing.assert_allclose(names["run"](x, x), expected[0], rtol=1e-5)


def test_names_follow_their_nodes_where_exporters_name_them_so() -> None:
    text = to_source(layers()).text
    assert 'result_names="{name}_output_{index}"' in text
    assert 'op.Relu(matmul, name=f"/encoder/layer.{i}/Relu")' in text.replace("dense_matmul", "matmul")


def test_constants_are_inline_where_small_and_in_the_file_where_large(tmp_path: Path) -> None:
    large = np.arange(100, dtype=np.float32)
    model = build(
        lambda x: op.Add(op.Reshape(x, Tensor([-1, 100], name="shape")), large, outputs="y"),
        inputs={"x": Float32["n"]},
        initializers={"large": large},
        exact=True,
    )
    source = to_source(model, weights="program.npz")
    assert 'Tensor([-1, 100], name="shape")' in source.text
    assert source.weights.names == ["large"]
    assert differs(model, executed(source, tmp_path)["make_model"]()) is None
    with np.load(tmp_path / "program.npz") as file:
        np.testing.assert_array_equal(file["large"], large)


def test_weights_of_types_that_numpy_has_not_come_back(tmp_path: Path) -> None:
    arrays = {
        "half": Tensor(np.arange(40), "bfloat16"),
        "narrow": Tensor(np.arange(40) % 8, "int4"),
        "texts": Tensor([f"text {i}" for i in range(40)], "string"),
    }
    model = build(
        lambda x: (*(op.Identity(array, outputs=f"{name}_out") for name, array in arrays.items()), x),
        inputs={"x": Int64["n"]},
        initializers=arrays,
        exact=True,
    )
    assert differs(model, rebuilt(model, tmp_path)) is None
    assert differs(model, ingot.from_onnx(rebuilt(model, tmp_path, "onnx"))) is None


def test_inputs_with_defaults_keep_their_order(tmp_path: Path) -> None:
    model = ingot.parse_model(
        HEAD + "g (float[2] x, float[2] w, float[2] y) => (float[2] z) { t = Add (x, w) z = Mul (t, y) }"
    )
    graph = model.graph
    graph.inputs[1].constant = Tensor(np.ones(2, np.float32), name="w")
    graph.initializers.add(graph.inputs[1])
    assert differs(model, rebuilt(model, tmp_path)) is None


HOSTILE = (
    '"""\nimport os\n"""',
    "'; __import__('os').system('true') #",
    "{__import__('os')}",
    "a\\",
    'quote"quote',
    "line\nbreak\r\n\x00",
    "\u202eright-to-left",
    "{i}",
    "lambda",
    "weights",
    "../../etc/passwd",
)


def hostile(text: str) -> ingot.Model:
    """A model whose every text is `text`, with repeated nodes, a subgraph and a function."""
    branches = "<then_branch: graph = t () => (p) { p = Neg (a) }, else_branch: graph = e () => (q) { q = Abs (a) }>"
    graph_text = f"g (float[n] x, bool c) => (float[n] y) {{ a = Relu (x) y = If (c) {branches} }}"
    model = ingot.parse_model(HEAD + graph_text)
    graph = model.graph
    graph.name = graph.doc_string = model.doc_string = model.producer_name = model.domain = text
    model.metadata = {text: text}
    graph.add_initializer(text, np.arange(100, dtype=np.float32))
    graph.add_initializer(f"{text} small", np.arange(2, dtype=np.float32))
    for place, value in enumerate([*graph.inputs, *(value for node in model.nodes() for value in node.outputs)]):
        value.name = f"{text}{place}"
    for node in model.nodes():
        node.name = node.doc_string = text
        node.metadata = {text: text}
    graph.nodes[0].attributes[text] = text
    graph.nodes[0].attributes["other"] = [text, text]
    graph.nodes[0].domain = text
    model.opset_imports[text] = 1
    return model


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("style", ["build", "onnx"])
def test_texts_of_a_model_never_become_code(text: str, style: Style, tmp_path: Path) -> None:
    model = hostile(text)
    source = to_source(model, style=style, weights="program.npz")
    read = calls_and_names(source.text)
    assert "__import__" not in read
    assert source.text.isascii()
    built = executed(source, tmp_path)["make_model"]()
    assert differs(model, built if style == "build" else ingot.from_onnx(built)) is None


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_model_never_become_code_of_numpy(text: str, tmp_path: Path) -> None:
    model = layers(3)
    for place, value in enumerate([*model.graph.inputs, *model.graph.initializers.values()]):
        value.name = f"{text}{place}"
    source = to_source(model, style="numpy", weights="program.npz")
    assert "__import__" not in calls_and_names(source.text)
    x = np.ones((2, 4), np.float32)
    assert executed(source, tmp_path)["run"](x, x).shape == (2, 4)


def test_programs_are_as_ruff_formats_them(tmp_path: Path) -> None:
    models = {"layers": layers(), "every": ingot.from_onnx(everything()), "digits": ingot.load("examples/digits.onnx")}
    for name, model in models.items():
        to_source(model, weights=f"{name}.npz").write(tmp_path / f"{name}.py")
    for name in ("layers", "digits"):
        to_source(models[name], style="onnx", weights=f"{name}.npz").write(tmp_path / f"{name}_onnx.py")
        to_source(models[name], style="numpy", weights=f"{name}.npz").write(tmp_path / f"{name}_numpy.py")
    ruff = [sys.executable, "-m", "ruff"]
    formatted = subprocess.run(
        [*ruff, "format", "--isolated", "--line-length=120", "--diff", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert formatted.returncode == 0, formatted.stdout
    checked = subprocess.run(
        [*ruff, "check", "--isolated", "--select=E,F,W,I", "--line-length=120", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_a_broken_model_is_refused(tmp_path: Path) -> None:
    model = layers()
    model.opset_imports.clear()
    with pytest.raises(ingot.CheckError):
        rebuilt(model, tmp_path)


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(ingot.InputError, match="there is no style 'torch'"):
        to_source(layers(), style="torch")  # type: ignore[arg-type]


@pytest.mark.parametrize("style", ["build", "onnx"])
@pytest.mark.parametrize(
    "name", ["graph", "model", "names", "note", "notes", "op", "Float32", "TensorType", "training"]
)
def test_a_graph_or_a_function_may_be_called_like_a_part_of_the_program(
    name: str, style: Style, tmp_path: Path
) -> None:
    head = '<ir_version: 10, opset_import: ["" : 21, "own" : 1]>'
    function = f'<domain: "own", opset_import: ["" : 21]> {name} (a) => (b) {{ b = Relu (a) }}'
    for text in (
        f"{head} {name} (float[n] x) => (y) {{ y = Relu (x) }}",
        f"{head} g (float[n] x) => (y) {{ y = own.{name} (x) }} {function}",
    ):
        model = ingot.parse_model(text)
        for node in model.nodes():
            node.doc_string = "noted"
        built = rebuilt(model, tmp_path, style)
        assert differs(model, built if style == "build" else ingot.from_onnx(built)) is None


def test_a_model_whose_nodes_stand_in_another_order_is_refused_with_what_mends_it() -> None:
    model = ingot.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (y) { y = Neg (a) a = Abs (x) }'
    )
    with pytest.raises(ingot.CheckError, match="defined only later") as caught:
        to_source(model)
    assert "ingot.repair(model)" in (caught.value.hint or "")
    ingot.repair(model)
    assert "Neg" in to_source(model).text
