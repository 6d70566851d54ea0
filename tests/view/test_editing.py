"""Edits of a model: what they do, that a program does the same, undo and redo."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import Model, load, save
from ingot.errors import CheckError
from ingot.ir.equality import differs
from ingot.view.answering import NotThere
from ingot.view.answers import Answers
from ingot.view.editing.document import Document
from ingot.view.editing.passes import PASSES
from view.samples import parsed

BRANCHES = (
    "then_branch = t () => (float[n, 8] r) { r = Exp (b) }, else_branch = e () => (float[n, 8] s) { s = Neg (b) }"
)
HOSTILE = "\"]); import os; os.system('x'); (\"\u202e\n"


def sample() -> Model:
    """A product, an activation, a branch and a call of a function, with a weight and a Constant node."""
    model = parsed(
        "k = Constant <value_float: float = 0.5> () a = MatMul (x, w) b = LeakyRelu <alpha = 0.1> (a) "
        f"d = Mul (b, k) f = If (c) <{BRANCHES}> g = local.twice (d) y = Add (f, g)",
        inputs="float[n, 8] x, bool c",
        functions='<opset_import: ["" : 21], domain: "local"> twice (p) => (q) { o = Add (p, p) q = Identity (o) }',
    )
    weight = model.graph.add_initializer("w", np.arange(64, dtype=np.float32).reshape(8, 8))
    product = next(node for node in model.graph if node.applies("MatMul"))
    product.replace_input(1, weight)
    model.graph.inputs[0].type = ingot.ir.spelling.tensor_type("float32[n, 8]")
    return model


@pytest.fixture
def document(tmp_path: Path) -> Document:
    path = tmp_path / "model.onnx"
    save(sample(), path)
    return Document(Answers(load(path), "model.onnx"), str(path))


def leaf(document: Document, operator: str) -> int:
    scene = document.answers.scene
    list(scene.everything())
    nodes = [(number, scene.leaf(number).node) for number in range(len(scene.leaves))]
    return next(number for number, node in nodes if node is not None and node.applies(operator))


def value(document: Document, name: str) -> int:
    model = document.answers.model
    named = next(each for graph in model.graphs() for each in graph.values() if each.name == name)
    return document.answers.scene.number_of(named)


def edit(document: Document, kind: str, **request: Any) -> Any:
    version = document.get("edits")["version"]
    return done(document, "edit", {"kind": kind, "version": version, **request})


def done(document: Document, path: str, request: Any = None) -> Any:
    """The answer to a change that must not be refused."""
    answer = document.post(path, json.dumps(request).encode())
    assert "refused" not in answer, answer["refused"]
    return answer


def refusal(document: Document, path: str, request: Any = None) -> str:
    return str(document.post(path, json.dumps(request).encode())["refused"])


def by_program(document: Document, folder: Path) -> Model:
    """The model that the program of the page writes."""
    target = folder / "by_program.onnx"
    written = document.program(str(target))
    text = written.text.replace('"edits.npz"', repr(str(folder / "edits.npz")))
    (folder / "edits.npz").write_bytes(document.file("edits.npz"))
    exec(compile(text, "edits.py", "exec"), {})
    return load(target)


def assert_program_agrees(document: Document, folder: Path) -> None:
    saved = folder / "saved.onnx"
    done(document, "save", {"path": str(saved)})
    assert differs(load(saved), by_program(document, folder)) is None


def operators(document: Document) -> list[str]:
    return [node.op_type for node in document.answers.model.graph]


REQUESTS: dict[str, dict[str, Any]] = {
    "rename value": {"value": "a", "name": "product"},
    "rename value inside of a branch": {"value": "r", "name": "renamed"},
    "rename value of a function": {"value": "o", "name": "sum"},
    "rename value to what looks like code": {"value": "a", "name": HOSTILE.strip()},
    "rename node": {"leaf": "MatMul", "name": "first"},
    "delete": {"leaf": "LeakyRelu"},
    "delete inside of a branch": {"leaf": "Exp"},
    "delete what computes an output": {"leaf": "Add"},
    "insert": {"value": "a", "operator": "Elu", "attributes": "alpha=0.5"},
    "insert behind an input": {"value": "x", "operator": "Clip", "inputs": "k", "output": "clipped"},
    "insert before an output": {"value": "y", "operator": "com.microsoft.Gelu"},
    "rewire": {"leaf": "Mul", "index": 0, "source": "a"},
    "rewire to a value from around": {"leaf": "Exp", "index": 0, "source": "x"},
    "rewire to a value that is computed later": {"leaf": "LeakyRelu", "index": 0, "source": "x"},
    "set operator": {"leaf": "LeakyRelu", "operator": "Elu"},
    "set attribute": {"leaf": "LeakyRelu", "name": "alpha", "text": "1"},
    "set attribute that was not there": {"leaf": "MatMul", "name": "axes", "text": "[1, 2]"},
    "set attribute to text": {"leaf": "MatMul", "name": "mode", "text": "same"},
    "remove attribute": {"leaf": "LeakyRelu", "name": "alpha", "text": None},
    "set weight": {"leaf": "MatMul", "index": 1, "text": "[[1, 2], [3, 4]]"},
    "set weight of one number": {"leaf": "MatMul", "index": 1, "text": "0.25"},
    "set weight of a Constant node": {"leaf": "Mul", "index": 1, "text": "2.5"},
    "set type": {"name": "x", "type": "float16[batch, 4, ?]"},
    "add output": {"name": "b"},
    "cut out": {"inputs": "a", "outputs": "d"},
    "cut out from the beginning": {"inputs": "", "outputs": "b, d"},
}


@pytest.mark.parametrize("title", REQUESTS)
def test_the_program_of_an_edit_gives_the_same_model(title: str, document: Document, tmp_path: Path) -> None:
    request = dict(REQUESTS[title])
    if "leaf" in request:
        request["leaf"] = leaf(document, request["leaf"])
    if "value" in request:
        request["value"] = value(document, request["value"])
    words = title.split()
    kind = next(" ".join(words[:count]) for count in (2, 1) if " ".join(words[:count]) in KINDS or count == 1).replace(
        "remove attribute", "set attribute"
    )
    before = document.answers.model
    edit(document, kind, **request)
    assert differs(before, document.answers.model) is not None
    assert_program_agrees(document, tmp_path)


KINDS = {
    *("rename value", "rename node", "set operator", "set attribute", "set weight", "set type", "add output"),
    *("cut out", "remove attribute"),
}


@pytest.mark.parametrize("name", PASSES)
def test_the_program_of_a_pass_gives_the_same_model(name: str, document: Document, tmp_path: Path) -> None:
    edit(document, "pass", name=name)
    assert_program_agrees(document, tmp_path)


def test_edits_follow_each_other_in_one_program(document: Document, tmp_path: Path) -> None:
    edit(document, "rename value", value=value(document, "a"), name="product")
    edit(document, "insert", value=value(document, "product"), operator="Tanh")
    edit(document, "delete", leaf=leaf(document, "Mul"))
    edit(document, "add output", name="product_tanh")
    edit(document, "cut out", inputs="x", outputs="product_tanh")
    assert operators(document) == ["MatMul", "Tanh"]
    assert_program_agrees(document, tmp_path)


def test_a_long_weight_is_in_a_file_beside_the_program(document: Document, tmp_path: Path) -> None:
    content = io.BytesIO()
    np.save(content, np.linspace(0, 1, 800, dtype=np.float32).reshape(8, 100))
    document.post(f"weight/0/{leaf(document, 'MatMul')}/1", content.getvalue())
    assert document.get("edits")["arrays"] == ["0_w"]
    assert document.answers.model.graph.value("w").constant.shape == (8, 100)  # type: ignore[union-attr]
    assert_program_agrees(document, tmp_path)


def test_undo_and_redo_go_through_the_states(document: Document) -> None:
    original = operators(document)
    edit(document, "delete", leaf=leaf(document, "LeakyRelu"))
    edit(document, "delete", leaf=leaf(document, "Mul"))
    done(document, "undo")
    assert "Mul" in operators(document)
    assert "LeakyRelu" not in operators(document)
    done(document, "undo")
    assert operators(document) == original
    assert "nothing to undo" in refusal(document, "undo")
    done(document, "redo")
    done(document, "redo")
    assert "Mul" not in operators(document)
    done(document, "undo")
    listed = edit(document, "rename node", leaf=leaf(document, "Mul"), name="other")
    assert listed["undone"] == ()
    assert "nothing to redo" in refusal(document, "redo")


def test_many_edits_can_all_be_undone(document: Document) -> None:
    for number in range(20):
        edit(document, "rename node", leaf=leaf(document, "Mul"), name=f"name {number}")
    for _ in range(20):
        done(document, "undo")
    assert differs(document.answers.model, sample()) is None
    for _ in range(20):
        done(document, "redo")
    assert any(node.name == "name 19" for node in document.answers.model.graph)


def test_an_edit_that_cannot_be_made_leaves_the_model_alone(document: Document) -> None:
    before = document.answers.model
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("rename value", {"value": value(document, "a"), "name": "b"}, "another value is named 'b'"),
        ("rewire", {"leaf": leaf(document, "MatMul"), "index": 0, "source": "y"}, "cycle"),
        ("rewire", {"leaf": leaf(document, "MatMul"), "index": 0, "source": "nobody"}, "no value 'nobody'"),
        ("set type", {"name": "x", "type": "floot32[3]"}, "no element type 'floot32'"),
        ("set type", {"name": "b", "type": "float32[3]"}, "not an input"),
        ("set weight", {"leaf": leaf(document, "Exp"), "index": 0, "text": "1"}, "no constant"),
        ("cut out", {"inputs": "", "outputs": ""}, "name the values"),
        ("remove output", {"name": "y"}, "the only output"),
        ("pass", {"name": "optimize"}, "there is no pass"),
        ("unheard of", {}, "there is no edit"),
        ("delete", {}, "incomplete"),
        ("delete", {"leaf": 10**6}, "incomplete"),
    ]
    for kind, request, message in refused:
        assert message in refusal(document, "edit", {"kind": kind, "version": 0, **request})
    assert document.answers.model is before
    assert document.get("edits")["done"] == ()


def test_what_is_wrong_after_an_edit_is_shown_at_its_node(document: Document) -> None:
    edit(document, "set attribute", leaf=leaf(document, "MatMul"), name="axis", text="1")
    problems = [problem for problem in document.get("check") if "axis" in problem["message"]]
    assert [problem["leaf"] for problem in problems] == [leaf(document, "MatMul")]


def test_a_page_sees_the_version_that_it_shows(document: Document) -> None:
    edit(document, "delete", leaf=leaf(document, "LeakyRelu"))
    now = document.get("model")
    assert now["version"] == 1
    assert "LeakyRelu" in str(document.get("at/0/index")["operators"])
    assert "LeakyRelu" not in str(document.get("at/1/index")["operators"])
    with pytest.raises(NotThere, match="another tab"):
        document.get("at/7/index")
    assert "another tab" in refusal(document, "edit", {"kind": "delete", "leaf": 0, "version": 0})


@pytest.mark.parametrize("path", ["edit", "save"])
@pytest.mark.parametrize("body", [b"\xff\xfe", b"{", b"[]", b"[" * 100_000, b""])
def test_a_request_that_states_nothing_is_refused_in_words(document: Document, path: str, body: bytes) -> None:
    refused = str(document.post(path, body)["refused"])
    assert not re.match(r"[A-Z]\w*Error", refused)


@pytest.mark.parametrize(
    "header", ["(" * 8000, "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000, 100)}"]
)
def test_a_weight_is_not_made_of_a_broken_file(document: Document, header: str) -> None:
    line = f"{header}\n".encode()
    content = b"\x93NUMPY\1\0" + len(line).to_bytes(2, "little") + line
    [place] = [number for number in range(40) if _reads_weight(document, number)][:1]
    assert "no .npy file" in str(document.post(f"weight/0/{place}/1", content)["refused"])


def _reads_weight(document: Document, number: int) -> bool:
    try:
        document.get(f"weight/{number}/1")
    except NotThere:
        return False
    return True


def test_a_file_that_is_there_is_not_written_over(document: Document, tmp_path: Path) -> None:
    assert "is there already" in refusal(document, "save", {"path": str(tmp_path / "model.onnx")})


@pytest.mark.parametrize("path", ["nowhere/model.onnx", "~nobody-of-this-name/model.onnx", "a\0b", "x" * 300])
def test_a_file_that_cannot_be_written_is_refused_in_words(document: Document, tmp_path: Path, path: str) -> None:
    wanted = path if path.startswith("~") else str(tmp_path / path)
    assert refusal(document, "save", {"path": wanted}).startswith("cannot write '")


def test_a_node_that_others_need_more_of_is_not_taken_out() -> None:
    model = parsed("a, b = Split <num_outputs = 2> (x) y = Add (a, b)")
    with pytest.raises(CheckError, match="output 'b' is read"):
        ingot.bypass(model.graph.nodes[0])
