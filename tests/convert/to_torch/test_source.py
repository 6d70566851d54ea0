"""The source of a module: what it says, what it refuses, and that no model can put code into it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.convert.to_torch import save_torch
from ingot.convert.to_torch.names import Keys, Names, attribute, sanitised
from ingot.convert.to_torch.prelude import needed, pieces
from ingot.convert.to_torch.rule import rules
from ingot.ir import Graph, Model, Node, Tensor, TensorType, Value
from ingot.ops.catalog import standard

FLOAT = TensorType(ingot.DType.FLOAT32, (2, 3))
EVIL = '"""\n    import os; os.system("true")\n#\r\u2028"); __import__("os")  # \\'


def relu_model(**names: str) -> Model:
    x, w = Value(names.get("x", "x"), FLOAT), Value(names.get("w", "w"), constant=Tensor(np.ones(3, np.float32)))
    middle, y = Value(names.get("middle", "middle"), FLOAT), Value(names.get("y", "y"), FLOAT)
    nodes = [
        Node("Add", [x, w], [middle], name=names.get("node", "")),
        Node("Relu", [middle], [y], name=names.get("node", "")),
    ]
    return Model(Graph([x], [y], nodes, [w], name=names.get("graph", "g")), 22)


def test_the_source_is_what_a_person_would_write() -> None:
    text = ingot.to_torch_source(relu_model(w="layers.0.bias")).text
    body = text[text.index("class Model") :]
    assert body == (
        "class Model(Part):\n"
        "    def __init__(self) -> None:\n"
        "        super().__init__()\n"
        '        parameter(self, "layers.0.bias", 3)\n'
        "\n"
        "    def forward(self, x: Tensor) -> Tensor:\n"
        "        middle = x + self.layers[0].bias\n"
        "        y = F.relu(middle)\n"
        "        return y\n"
    )


@pytest.mark.parametrize("place", ["x", "w", "middle", "y", "node", "graph"])
@pytest.mark.parametrize(
    "name", [EVIL, "a/b\n  evil()", "class", "__init__", "x.y z", "é", "", "1x", "self x", "torch"]
)
def test_no_name_puts_code_into_the_source(place: str, name: str) -> None:
    if not name and place in ("x", "w", "middle", "y"):
        return
    plain, hostile = (ast.parse(ingot.to_torch_source(model).text) for model in (relu_model(), _named(place, name)))
    assert _shape(hostile) == _shape(plain)


def _named(place: str, name: str) -> Model:
    return relu_model(**{place: f"a/{name}/b" if place == "node" else name})


def _shape(tree: ast.AST) -> list[str]:
    """The kinds of nodes of a program and what it calls, whatever its variables are called."""
    kinds = [type(node).__name__ for node in ast.walk(tree)]
    calls = [ast.dump(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return kinds + calls


@pytest.mark.parametrize("text", [EVIL, "ij->ji'); evil(", "ij->ij\n"])
def test_no_attribute_puts_code_into_the_source(text: str) -> None:
    x, y = Value("x", FLOAT), Value("y", None)
    node = Node("Einsum", [x], [y], {"equation": text})
    with pytest.raises(ingot.IngotError):
        ingot.to_torch_source(Model(Graph([x], [y], [node]), 22))


def test_names_that_modules_have_themselves_are_made_others() -> None:
    keys = Keys()
    assert keys.key("layer.0.weight") == "layer.0.weight"
    assert keys.key("forward") != "forward"
    assert keys.key("layer.0") != "layer.0"
    assert keys.key("layer.0.weight.deeper") == "layer_0_weight_deeper"
    assert keys.key("a.__class__") == "a___class"
    assert keys.key(".".join(["a"] * 100)).count(".") == 0
    assert attribute("layer.0.weight") == "self.layer[0].weight"


def test_the_names_of_modules_are_those_of_torch() -> None:
    nn = pytest.importorskip("torch").nn
    keys = Keys()
    taken = [name for name in dir(nn.Module()) if not name.startswith("_")]
    assert all(keys.key(name) != name for name in taken)


def test_variables_are_never_given_twice() -> None:
    names = Names()
    given = [names.variable(name) for name in ("a", "a", "1", "x1", "for", "torch", "é", "long" * 20)]
    assert len(set(given)) == len(given)
    assert all(name.isidentifier() for name in given)
    assert sanitised("1 weird/name") == "x1_weird_name"


def test_everything_torch_has_not_is_listed_at_once() -> None:
    x, y, z = Value("x", TensorType(ingot.DType.STRING, (2,))), Value("y", None), Value("z", None)
    nodes = [Node("StringNormalizer", [x], [y], name="one"), Node("StringConcat", [y, y], [z], name="two")]
    with pytest.raises(ingot.ConvertError) as caught:
        ingot.to_torch_source(Model(Graph([x], [z], nodes), 22))
    assert "2 pieces" in str(caught.value)
    assert "torch has no tensors of string (in node 'one')" in str(caught.value)
    assert "node 'two'" in str(caught.value)


def test_a_custom_operator_is_refused() -> None:
    x, y = Value("x", FLOAT), Value("y", FLOAT)
    model = Model(Graph([x], [y], [Node("Mine", [x], [y], domain="my.domain")]), {"": 22, "my.domain": 1})
    with pytest.raises(ingot.ConvertError, match=r"my\.domain\.Mine"):
        ingot.to_torch_source(model)


UNSAID = {
    *("ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"),
    *("CastMap", "CategoryMapper", "DictVectorizer", "SVMClassifier", "ZipMap", "Gradient"),
}
"""Operators of strings, maps and images, one of votes between pairs, and one that torch's autograd is."""


REPLACED = {"Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"}
"""Experiments that are in no version of the standard: `upgrade` replaces them before there is source."""


def test_every_other_operator_of_the_standard_has_a_rule() -> None:
    operators = [operator for operator in standard() if not operator.domain.startswith("com.microsoft")]
    known = {(operator.domain, operator.name) for operator in operators if operator.name not in REPLACED}
    missing = {name for domain, name in known - set(rules())}
    assert missing == UNSAID


def test_the_source_has_no_more_of_the_prelude_than_it_needs() -> None:
    text = ingot.to_torch_source(relu_model()).text
    assert "def attention" not in text
    assert "def parameter" in text
    assert {piece.name for piece in needed(["quantize_to_float8"])} == {
        "cast_to_float8",
        "quantize_to_float8",
        "spread",
    }
    assert len(pieces()) > 50


def test_trained_says_what_a_parameter_is() -> None:
    assert "buffer(self" in ingot.to_torch_source(relu_model(w="a.w"), trained=lambda _: False).text
    assert "parameter(self" in ingot.to_torch_source(relu_model(), trained=lambda _: True).text


def test_a_module_on_disk_needs_torch_and_numpy_alone(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    save_torch(relu_model(w="layer.bias"), tmp_path / "net.py")
    imported = set(_imports((tmp_path / "net.py").read_text("utf-8")))
    assert imported == {"__future__", "numpy", "pathlib", "torch"}
    namespace: dict[str, Any] = {"__file__": str(tmp_path / "net.py"), "__name__": "net"}
    exec(compile((tmp_path / "net.py").read_text("utf-8"), "net.py", "exec"), namespace)
    module = namespace["load"]()
    assert module(torch.zeros(2, 3)).tolist() == [[1.0] * 3] * 2
    assert list(module.state_dict()) == ["layer.bias"]
    before = (tmp_path / "net.npz").read_bytes()
    save_torch(relu_model(w="layer.bias"), tmp_path / "net.py")
    assert (tmp_path / "net.npz").read_bytes() == before


def _imports(text: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.module or "").split(".")[0])
    return found


def test_weights_that_numpy_has_not_are_kept_to_the_bit(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    x, y = Value("x", TensorType(ingot.DType.BFLOAT16, (3,))), Value("y", None)
    w = Value("a.w", constant=Tensor(np.array([1.5, -2.25, 3.0]), ingot.DType.BFLOAT16))
    save_torch(Model(Graph([x], [y], [Node("Mul", [x, w], [y])], [w]), 22), tmp_path / "net.py")
    namespace: dict[str, Any] = {"__file__": str(tmp_path / "net.py"), "__name__": "net"}
    exec(compile((tmp_path / "net.py").read_text("utf-8"), "net.py", "exec"), namespace)
    assert namespace["load"]().state_dict()["a.w"].tolist() == [1.5, -2.25, 3.0]


def test_what_a_layer_holds_has_its_name_however_small_it_is() -> None:
    model = ingot.parse_model("""<ir_version: 10, opset_import: ["" : 20]>
        g (float[n, 2, 3] x) => (float[n, 2, 3] y)
        <float[2] "bn/gamma" = {1, 1}, float[2] "bn/beta" = {0, 0},
         float[2] "bn/mean" = {0, 0}, float[2] "bn/var" = {1, 1}>
        { y = BatchNormalization (x, "bn/gamma", "bn/beta", "bn/mean", "bn/var") }""")
    source = ingot.to_torch(model).source
    assert "F.batch_norm(x, self.bn_mean, self.bn_var, self.bn_gamma, self.bn_beta" in source
