from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.samples import Run, classifier
from ingot.cli.summary import Summary
from ingot.dtypes import DType
from ingot.format import encode, save
from ingot.ir import Function, Graph, Model, Node, OptionalType, SequenceType, SparseTensor, Tensor, TensorType, Value
from models import real_models, wheel_models

PAGE = """\
model       model.onnx
producer    tests 1.0
format      IR version 10, opset ai.onnx 18
graph       'classifier', 3 nodes
parameters  1,056 float32 in 2 tensors
size        4.4 KiB file, 4.1 KiB weights inside
doc         sorts pets

inputs
  x  float32[batch, 32]

outputs
  y  float32[batch, 32]

operators (3 kinds, 3 nodes)
  1 Add   1 MatMul   1 Relu

largest tensors
  4.0 KiB  float32[32, 32]  W
    128 B  float32[32]      b

metadata
  author  me
  labels  cat dog
"""


def facts(run: Run, path: Path | str, *options: str) -> Any:
    result = run("info", str(path), "--json", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def of(graph: Graph, **options: Any) -> Model:
    return Model(graph, {"": 18}, **options)


def test_the_page(run: Run, model_file: Path) -> None:
    result = run("info", model_file.name)
    assert (result.exit_code, result.stderr, result.stdout) == (0, "", PAGE)


def test_the_json_has_every_key_in_order(run: Run, model_file: Path) -> None:
    found = facts(run, model_file.name)
    assert list(found) == list(Summary.__dataclass_fields__)
    assert found["path"] == "model.onnx"
    assert found["file_bytes"] == model_file.stat().st_size
    assert found["opset_imports"] == [{"domain": "ai.onnx", "version": 18}]
    assert found["metadata"] == {"author": "me", "labels": "cat\ndog"}
    assert found["inputs"] == [
        {
            "name": "x",
            "type": "float32[batch, 32]",
            "dtype": "float32",
            "shape": ["batch", 32],
            "default": False,
            "doc_string": "",
        }
    ]
    assert found["operators"][0] == {"domain": "ai.onnx", "operator": "Add", "count": 1}
    assert (found["parameters"], found["parameters_by_dtype"], found["tensors"]) == (1056, {"float32": 1056}, 2)
    assert (found["weight_bytes_inside"], found["weight_bytes_external"], found["external"]) == (4224, 0, [])
    assert found["largest"][0] == {
        "name": "W",
        "dtype": "float32",
        "shape": [32, 32],
        "elements": 1024,
        "bytes": 4096,
        "location": None,
    }
    assert found["problems"] == []


def test_the_number_of_largest_tensors_is_asked_for(run: Run, model_file: Path) -> None:
    assert [tensor["name"] for tensor in facts(run, model_file, "--largest", "1")["largest"]] == ["W"]
    assert "largest tensors" not in run("info", model_file.name, "--largest", "0").stdout


def test_missing_external_weights_are_counted_and_said(run: Run, split_file: Path) -> None:
    data = split_file.with_name("split.onnx.data")
    assert facts(run, split_file)["external"] == [
        {"location": data.name, "found": True, "tensors": 1, "bytes": 4096},
    ]
    assert "missing" not in run("info", split_file.name).stdout
    data.unlink()
    found = facts(run, split_file)
    assert not found["external"][0]["found"]
    assert (found["parameters"], found["weight_bytes_inside"], found["weight_bytes_external"]) == (1056, 128, 4096)
    page = run("info", split_file.name).stdout
    assert "128 B weights inside, 4.0 KiB external" in page
    assert "4.0 KiB  1 tensor  split.onnx.data  missing" in page
    assert "W in split.onnx.data" in page


def test_external_weights_of_a_model_on_stdin_are_looked_for_where_told(run: Run, split_file: Path) -> None:
    content = split_file.read_bytes()
    assert "not looked for: give --folder" in run("info", "-", input=content).stdout
    page = run("info", "-", "--folder", str(split_file.parent), input=content).stdout
    assert "split.onnx.data" in page
    assert "looked" not in page
    assert "missing" in run("info", "-", "--folder", "elsewhere", input=content).stdout


def test_a_link_to_weights_is_refused_unless_its_place_is_trusted(run: Run, split_file: Path, tmp_path: Path) -> None:
    data = split_file.with_name("split.onnx.data")
    (tmp_path / "blobs").mkdir()
    data.rename(tmp_path / "blobs" / "1234")
    data.symlink_to(Path("blobs") / "1234")
    refused = run("info", split_file.name)
    assert refused.exit_code == 1
    assert "hint: if it comes from a cache you trust, name the cache: --trusted CACHE" in refused.stderr
    assert run("info", split_file.name, "--trusted", "other", "--trusted", str(tmp_path)).exit_code == 0


def test_a_model_on_stdin_is_named_so(run: Run, model_file: Path) -> None:
    content = model_file.read_bytes()
    assert run("info", "-", input=content).stdout == PAGE.replace("model.onnx", "from stdin")
    found = json.loads(run("info", "-", "--json", input=content).stdout)
    assert (found["path"], found["file_bytes"]) == ("-", len(content))


def test_names_are_shown_as_they_are_whatever_is_in_them(run: Run) -> None:
    for name in ("[red]x[/red]", "a[0]", "[/]", ":smile:", "名前", "a,b=c"):
        save(classifier(source=name, name=name), "m.onnx", durable=False)
        page = run("info", "m.onnx").stdout
        assert f"\n  {name}  float32[batch, 32]\n" in page
        assert f"'{name}', 3 nodes" in page


def test_control_characters_of_names_and_texts_are_escaped(run: Run) -> None:
    model = classifier(source="x\x1b[31m", name="g\n\x07")
    model.metadata["k\x1b"] = "v\x9b\u202e"
    save(model, "m.onnx", durable=False)
    page = run("info", "m.onnx").stdout
    assert "x\\x1b[31m" in page
    assert "k\\x1b   v\\x9b\\u202e" in page
    assert not set(page) & set("\x1b\x07\x9b\u202e")


def test_long_texts_are_cut_on_the_page_and_whole_in_the_json(run: Run) -> None:
    model = classifier()
    model.doc_string = model.metadata["story"] = "word " * 1000
    save(model, "m.onnx", durable=False)
    lines = run("info", "m.onnx", env={"COLUMNS": "80"}).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == len(PAGE.splitlines()) + 1
    assert next(line for line in lines if line.startswith("doc")).endswith("... (5,000 characters)")
    assert facts(run, "m.onnx")["metadata"]["story"] == "word " * 1000


def test_the_page_keeps_to_the_width_of_the_terminal_and_a_pipe_has_none(run: Run) -> None:
    name = "layer/" * 30 + "x"
    save(classifier(source=name), "m.onnx", durable=False)
    for columns in (60, 80, 140):
        lines = run("info", "m.onnx", env={"COLUMNS": str(columns)}).stdout.splitlines()
        assert 40 < max(map(len, lines)) <= columns
    assert f"\n  {name}  float32[batch, 32]\n" in run("info", "m.onnx").stdout


def test_operators_are_counted_in_subgraphs_and_functions_with_their_domains(run: Run) -> None:
    x = Value("x", TensorType(DType.FLOAT32, (4,)))
    flag = Value("flag", TensorType(DType.BOOL, ()))

    def branch() -> Graph:
        node = Node("Relu", [x])
        return Graph([], [node.output], [node], [Tensor(np.zeros(3, np.float32), name="spare")])

    choice = Node("If", [flag], ["z"], {"then_branch": branch(), "else_branch": branch()})
    call = Node("Twice", [choice.output], ["y"], domain="my.own")
    inner = Value("a")
    double = Node("Add", [inner, inner], ["b"])
    body = Graph([inner], [double.output], [double, Node("Relu", [inner], ["unused"])])
    twice = Function("my.own", "Twice", body, opset_imports={"": 18}, overload="v2")
    save(Model(Graph([x, flag], [call.output], [choice, call]), {"": 18, "my.own": 1}, functions=[twice]), "m.onnx")
    found = facts(run, "m.onnx")
    assert (found["nodes"], found["all_nodes"], found["subgraphs"]) == (2, 6, 2)
    assert [(entry["domain"], entry["operator"], entry["count"]) for entry in found["operators"]] == [
        ("ai.onnx", "Relu", 3),
        ("ai.onnx", "Add", 1),
        ("ai.onnx", "If", 1),
        ("my.own", "Twice", 1),
    ]
    assert found["parameters"] == 6
    [function] = found["functions"]
    assert (function["domain"], function["name"], function["overload"], function["nodes"]) == (
        "my.own",
        "Twice",
        "v2",
        2,
    )
    page = run("info", "m.onnx").stdout
    assert "2 nodes, 6 with 2 subgraphs and 1 function" in page
    assert "1 my.own.Twice" in page
    assert "2 nodes  my.own.Twice:v2(a) -> (b)" in page


def test_defaults_of_inputs_are_marked_and_many_are_only_counted(run: Run) -> None:
    for count, shown in ((1, "w0  float32[2] (has a default)"), (9, "and 9 with a default; --json lists them")):
        x = Value("x", TensorType(DType.FLOAT32, (2,)))
        given = [Value(f"w{i}", constant=Tensor(np.zeros(2, np.float32), name=f"w{i}")) for i in range(count)]
        add = Node("Sum", [x, *given], ["y"])
        save(of(Graph([x, *given], [add.output], [add], given)), "m.onnx", durable=False)
        page = run("info", "m.onnx").stdout
        assert shown in page
        assert "float32[2]\n" in page
        assert [port["default"] for port in facts(run, "m.onnx")["inputs"]] == [False, *[True] * count]


def test_values_of_every_type_and_of_none_are_shown(run: Run) -> None:
    tensor = TensorType(DType.INT64, (None, 3))
    inputs = [Value("s", SequenceType(tensor)), Value("o", OptionalType(tensor)), Value("t", TensorType(DType.STRING))]
    node = Node("Custom", inputs, ["y"], domain="c")
    save(Model(Graph(inputs, [node.output], [node]), {"c": 1}), "m.onnx", durable=False)
    page = run("info", "m.onnx").stdout
    for line in ("s  sequence(int64[?, 3])", "o  optional(int64[?, 3])", "t  string[...]", "y  type not given"):
        assert line in page
    ports = facts(run, "m.onnx")["inputs"]
    assert [(port["dtype"], port["shape"]) for port in ports] == [(None, None), (None, None), ("string", None)]


def test_sparse_string_and_constant_node_tensors_are_counted(run: Run) -> None:
    sparse = SparseTensor(Tensor(np.ones(3, np.float32), name="s"), Tensor(np.arange(3), name="i"), (10, 10))
    node = Node("Constant", [], ["c"], {"value": Tensor(np.zeros((2, 2), np.int8))})
    words = Tensor(np.array(["ab", "c"], object), name="words")
    graph = Graph([], [node.output], [node], [Value("s", constant=sparse), words])
    save(of(graph), "m.onnx", durable=False)
    found = facts(run, "m.onnx")
    assert found["parameters_by_dtype"] == {"int8": 4, "float32": 3, "string": 2}
    assert {tensor["name"]: tensor["bytes"] for tensor in found["largest"]} == {"s": 36, "c": 4, "words": 3}


def test_structural_problems_are_listed_and_are_no_failure(run: Run) -> None:
    graph = Graph([], [], [Node("Relu", [Value("ghost")], ["y"])])
    Path("m.onnx").write_bytes(encode(Model(graph, {"": 18})))
    result = run("info", "m.onnx")
    assert result.exit_code == 0
    assert "problems\n  node 'y' reads 'ghost', which nothing in scope defines\n" in result.stdout
    assert facts(run, "m.onnx")["problems"]


def test_an_empty_graph_has_a_page(run: Run) -> None:
    save(of(Graph()), "m.onnx", durable=False)
    page = run("info", "m.onnx").stdout
    assert "graph       0 nodes" in page
    assert "parameters  none" in page
    assert "inputs\n  none" in page


@pytest.mark.parametrize("path", [*real_models()[:4], *wheel_models()[::25]], ids=lambda path: path.stem)
def test_real_models_have_a_page_of_80_columns(run: Run, path: Path) -> None:
    result = run("info", str(path), env={"COLUMNS": "80"})
    assert (result.exit_code, result.stderr) == (0, "")
    assert "problems" not in result.stdout
    assert facts(run, path)["file_bytes"] == path.stat().st_size
