from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot import InputError, Model, Tensor, Value
from ingot.view.answering import NotThere
from ingot.view.answers import Answers
from ingot.view.arrays import described, extent, picture
from ingot.view.boxes import number_text
from ingot.view.colours import in_colour
from view.samples import layers, parsed


def classifier() -> Model:
    model = parsed("a = MatMul (x, x) y = LeakyRelu (a)")
    node = model.graph.nodes[0]
    weight = model.graph.add_initializer("weight", np.arange(16, dtype=np.float32).reshape(8, 2))
    node.replace_input(1, weight)
    return model


@pytest.fixture
def answers() -> Answers:
    return Answers(classifier(), "classifier")


def leaf_of(answers: Answers, operator: str) -> int:
    number: int = answers.get("index")["operators"].index(operator)
    return number


def test_the_first_answer_has_the_levels_that_are_drawn_first(answers: Answers) -> None:
    first = answers.get("model")
    [level] = first["levels"]
    assert [item["title"] for item in level["items"]] == ["x", "MatMul", "LeakyRelu", "y"]
    assert level["items"][1]["rows"] == [("weight", "⟨8 × 2⟩")]
    assert first["summary"]["inputs"] == [("x", "float32[n, 8]")]


def test_sizes_on_lines_are_inferred(answers: Answers) -> None:
    level = answers.get("model")["levels"][0]
    value = next(number for number, name in level["names"].items() if name == "a")
    assert value not in level["types"]
    assert answers.get("types")[value] == "n × 2"


def test_what_a_model_returns_has_the_type_that_is_inferred() -> None:
    answers = Answers(parsed("y = Flatten (x) z = local.Unknown (x)", outputs="y, z"), "untyped")
    assert answers.get("model")["summary"]["outputs"] == [("y", ""), ("z", "")]
    assert answers.get("outputs") == [("y", "float32[n, 8]"), ("z", "")]


def test_sizes_are_inferred_past_what_an_operator_refuses() -> None:
    body = "a = Relu (x) b = MatMul (a, w) c = local.Unknown (b) y = Relu (a)"
    answers = Answers(parsed(body, inputs="float[n, 8] x, float[7, 2] w"), "broken")
    answers.get("model")
    types = answers.get("types")
    names = {value.name: types.get(number) for number, value in enumerate(answers.scene.values)}
    assert names["a"] == "n × 8"
    assert names["b"] is None
    assert any("inner dimensions" in problem["message"] for problem in answers.get("check"))


def test_defaults_are_told_apart_from_attributes_of_the_file(answers: Answers) -> None:
    [attribute] = answers.get(f"node/{leaf_of(answers, 'LeakyRelu')}")["attributes"]
    assert attribute == {"name": "alpha", "text": "0.01", "default": True}


def test_a_node_shows_what_it_reads_and_who_reads_it(answers: Answers) -> None:
    node = answers.get(f"node/{leaf_of(answers, 'MatMul')}")
    first, second = node["inputs"]
    assert (first["formal"], first["name"], first["type"]) == ("a", "x", "float32[n, 8]")
    assert (second["name"], second["weight"]) == ("weight", 1)
    [output] = node["outputs"]
    assert output["readers"] == [(leaf_of(answers, "LeakyRelu"), "LeakyRelu y")]
    assert node["documentation"]


def test_a_weight_has_statistics_a_histogram_and_a_file(answers: Answers) -> None:
    leaf = leaf_of(answers, "MatMul")
    weight = answers.get(f"weight/{leaf}/1")
    facts = dict(weight["facts"])
    assert (facts["minimum"], facts["maximum"], facts["mean"], facts["zeros"]) == ("0", "15", "7.5", "6.25 %")
    assert sum(weight["histogram"]) == 16
    assert (weight["picture"]["width"], weight["picture"]["height"]) == (2, 8)
    assert np.load(io.BytesIO(answers.file(f"npy/{leaf}/1"))).tolist() == np.arange(16).reshape(8, 2).tolist()


def test_a_weight_in_a_file_that_was_written_to_since_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    ingot.save(classifier(), path)
    answers = Answers(ingot.load(path, mapped=True), "mapped")
    leaf = leaf_of(answers, "MatMul")
    assert answers.get(f"weight/{leaf}/1")["facts"]
    path.write_bytes(b"")
    with pytest.raises(InputError, match="was written to"):
        answers.get(f"weight/{leaf}/1")
    with pytest.raises(InputError, match="was written to"):
        answers.file(f"npy/{leaf}/1")


@pytest.mark.parametrize(
    "path", ["level/99", "level/-1", "level/x", "level", "node/99", "weight/0/7", "secret", "model/1", ""]
)
def test_other_paths_have_no_answer(answers: Answers, path: str) -> None:
    with pytest.raises(NotThere):
        answers.get(path)


def test_problems_lead_to_their_nodes() -> None:
    answers = Answers(parsed("a = Relu <alpha: int = 3> (x) y = Neg (a)"), "broken")
    assert leaf_of(answers, "Relu") in [problem["leaf"] for problem in answers.get("check")]


def test_the_fate_of_a_node_names_its_kernel(answers: Answers) -> None:
    lines = answers.get(f"explain/{leaf_of(answers, 'LeakyRelu')}")["lines"]
    assert lines[0] == "computed, by cpu"
    assert any("MatMul" in line for line in lines)


def test_branches_and_functions_open_like_groups() -> None:
    branch = (
        "then_branch = t () => (float[n, 8] r) { r = Exp (x) }, else_branch = e () => (float[n, 8] s) { s = Neg (x) }"
    )
    model = parsed(
        f"b = If (c) <{branch}> y = local.twice (b)",
        inputs="float[n, 8] x, bool c",
        functions='<opset_import: ["" : 21], domain: "local"> twice (p) => (q) { q = Add (p, p) }',
    )
    answers = Answers(model, "branches")
    [level] = answers.get("model")["levels"]
    items = {item["title"]: item for item in level["items"]}
    inside = answers.get(f"level/{items['If']['opens']}")
    assert [item["title"] for item in inside["items"]] == ["then_branch", "else_branch"]
    function = answers.get(f"level/{items['twice']['opens']}")
    assert [item["title"] for item in function["items"]] == ["p", "Add", "q"]
    index = answers.get("index")
    assert index["around"][items["If"]["opens"]] == level["number"]
    assert {"Exp", "Neg", "Add"} <= set(index["operators"])


def test_a_saved_page_has_every_answer_that_is_asked_for() -> None:
    answers = Answers(layers(3, names="/encoder/layer.{}/"), "layers")
    everything = dict(answers.everything())
    json.dumps(everything)
    opened = {
        item["opens"] for path, level in everything.items() if path.startswith("level/") for item in level["items"]
    }
    assert all(f"level/{number}" in everything for number in opened if number is not None)


def test_each_level_is_a_part_of_the_one_around_it() -> None:
    then = "then_branch = t () => (float[n, 8] r) { r = local.twice (x) }"
    branch = f"{then}, else_branch = e () => (float[n, 8] s) {{ s = Neg (x) }}"
    model = parsed(
        f"a = Exp (x) b = If (c) <{branch}> d = local.twice (b) y = Neg (d)",
        inputs="float[n, 8] x, bool c",
        functions=(
            '<opset_import: ["" : 21], domain: "local"> unused (p) => (q) { q = Neg (p) } '
            '<opset_import: ["" : 21, "local" : 1], domain: "local"> '
            "twice (p) => (q) { o = local.once (p) q = Add (o, o) } "
            '<opset_import: ["" : 21], domain: "local"> once (p) => (q) { q = Neg (p) }'
        ),
    )
    for number, node in enumerate(model.graph.nodes):
        node.name = f"/part/{node.op_type}_{number}"
    scene = Answers(model, "nested").scene
    around = {number: scene.around(number) for number in scene.everything()}
    assert [scene.heading(number)[0] for number, outer in around.items() if outer is None] == ["g", "unused"]
    for number, outer in around.items():
        if outer is not None and not scene.members(outer):
            assert number in [item.opens for item in scene.level(outer).items]
    [around_twice] = [outer for number, outer in around.items() if scene.heading(number)[0] == "twice"]
    assert around_twice is not None
    assert scene.heading(around_twice)[0] == "part"


def test_functions_that_call_each_other_many_times_are_listed_once() -> None:
    functions = "\n".join(
        f'<opset_import: ["" : 21, "local" : 1], domain: "local"> f{i} (p) => (q) '
        f"{{ a = local.f{i + 1} (p) q = local.f{i + 1} (a) }}"
        for i in range(30)
    )
    last = '<opset_import: ["" : 21], domain: "local"> f30 (p) => (q) { q = Neg (p) }'
    answers = Answers(parsed("y = local.f0 (x)", functions=f"{functions}\n{last}"), "laughs")
    assert len(answers.get("index")["names"]) < 200


def test_arrays_with_nan_and_infinities_are_counted() -> None:
    array = np.array([[1, np.nan], [np.inf, -2]], np.float32)
    facts = dict(described(array)["facts"])
    assert (facts["NaN"], facts["infinities"], facts["minimum"]) == ("1", "1", "-2")
    assert extent(array) == (-2.0, 1.0, 2)


def test_pictures_are_small_whatever_the_array() -> None:
    for shape in ((5000, 3000), (64, 3, 7, 7), (512, 512, 1, 1), (1, 12, 128, 128), (2, 100_000)):
        sheet = picture(np.ones(shape, np.float32))
        assert sheet is not None
        assert sheet["width"] * sheet["height"] < 200_000
    assert picture(np.ones(5)) is None
    assert picture(np.array(["a"], object)) is None


def test_strings_and_empty_arrays_are_described() -> None:
    assert dict(described(np.array(["a", "b"], object))["facts"])["first"] == "a, b"
    assert described(np.zeros((0, 4)))["histogram"] is None


def test_a_weight_that_numpy_has_no_type_for_is_saved_as_one_it_has() -> None:
    model = classifier()
    model.graph.nodes[0].replace_input(1, Value("w", constant=Tensor([[1.5]], "bfloat16")))
    answers = Answers(model, "bfloat16")
    assert np.load(io.BytesIO(answers.file(f"npy/{leaf_of(answers, 'MatMul')}/1"))).dtype == np.float32


def test_hostile_names_cycles_and_unknown_operators_are_drawn() -> None:
    model = parsed("a = Tanh (x) b = local.Unknown (a) c = Exp (b) y = Neg (c)")
    first, second, third, _ = model.graph.nodes
    first.name = "x" * 1_000_000
    second.name = "nul\x00 and \ud800"
    third.replace_input(0, third.output)  # a node that reads itself
    model.graph.inputs[0].name = "\u202e" * 100
    answers = Answers(model, "hostile")
    first_answer = answers.get("model")
    json.dumps(first_answer)
    assert len(json.dumps(first_answer["levels"])) < 20_000
    for path in ("types", "index", "check"):
        json.dumps(answers.get(path))
    json.dumps(dict(answers.everything()))


def test_graphs_nested_many_times_are_opened_one_by_one() -> None:
    depth = 60
    text = "r = Neg (x)"
    for number in range(depth):
        branch = f"then_branch = t{number} () => (float[n, 8] r) {{ {text} }}, else_branch = e{number} () => (x)"
        text = f"r = If (c) <{branch} {{ }}>"
    model = parsed(text.replace("r = If", "y = If", 1), inputs="float[n, 8] x, bool c")
    answers = Answers(model, "nested")
    assert len(json.dumps(answers.get("model"))) < 200_000
    assert answers.get("index")["operators"].count("If") == depth


def test_a_function_that_calls_itself_is_opened_once() -> None:
    head = '<opset_import: ["" : 21, "local" : 1], domain: "local"> f (p) => (q)'
    function = f"{head} {{ a = Neg (p) b = Abs (a) q = local.f (b) }}"
    answers = Answers(parsed("y = local.f (x)", functions=function), "recursive")
    json.dumps(answers.get("model"))
    assert any("calls itself" in problem["message"] for problem in answers.get("check"))


def test_arithmetic_and_memory_follow_from_shapes() -> None:
    rows = dict(Answers(classifier(), "classifier").get("amounts"))
    assert rows == {"arithmetic": "32 operations, for n = 1", "values take": "40 B at once, for n = 1"}
    assert Answers(parsed("y = local.Unknown (x)"), "unknown").get("amounts") == []


def test_amounts_have_a_space_before_their_unit() -> None:
    texts = [number_text(count, "B") for count in (0, 480, 1500, 999_600, 25_600_000, 3_200_000_000_000)]
    assert texts == ["0 B", "480 B", "1.5 kB", "1.0 MB", "25.6 MB", "3200 GB"]
    assert [number_text(count) for count in (0, 812, 1500)] == ["0", "812", "1.5 k"]
    assert ("weights take", "64 B") in Answers(classifier(), "classifier").get("model")["summary"]["facts"]


def test_filters_of_three_channels_are_pictures_in_colour() -> None:
    colours = in_colour(np.arange(4 * 3 * 5 * 5, dtype=np.float32).reshape(4, 3, 5, 5))
    assert colours is not None
    assert (colours["width"], colours["height"]) == (11, 11)
    assert in_colour(np.ones((4, 2, 5, 5), np.float32)) is None
    assert in_colour(np.ones((4, 3, 1, 1), np.float32)) is None
