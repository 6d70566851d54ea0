from __future__ import annotations

import contextlib
import gc
import random
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from ingot import DType, Graph, Model, Node, TensorType, Value
from ingot.view.flow import flow_of
from ingot.view.repeats import Repeat, best_repeat, crossings
from ingot.view.scopes import scopes_of
from ingot.view.titles import title_of
from ingot.view.tree import Group, Tree
from view.samples import layers, leaf_names, parsed, titles, tree_of


def groups(tree: Tree, kind: str) -> list[Group]:
    return [group for group in tree.root.groups() if group.kind == kind]


def is_ordered(tree: Tree) -> bool:
    """Whether every part of every group comes after what it reads."""
    return all(
        wire.source < wire.target
        for group in tree.root.groups()
        for wire in tree.wires(group)
        if wire.source is not None and wire.target is not None
    )


def test_constants_are_no_leaves() -> None:
    flow = flow_of(parsed("c = Constant <value_float: float = 2.0> () y = Mul (x, c)").graph)
    assert leaf_names(flow) == ["x", "Mul", "y"]
    assert len(flow.sources) == 2


def test_layers_named_by_scopes_become_one_row_of_equal_parts() -> None:
    tree = tree_of(layers(6, names="/encoder/layer.{}/"))
    [row] = groups(tree, "repeat")
    assert row.title == "encoder/layer"
    assert len(row.parts) == 6
    assert titles(row) == [f"layer.{number}" for number in range(6)]
    assert is_ordered(tree)


def test_layers_without_names_are_found_by_structure() -> None:
    tree = tree_of(layers(6))
    [row] = groups(tree, "repeat")
    assert len(row.parts) == 6
    assert all(isinstance(part, Group) and tree.count(part) == 8 for part in row.parts)
    assert is_ordered(tree)


def test_equal_parts_begin_where_the_fewest_values_cross() -> None:
    tree = tree_of(layers(6))
    [row] = groups(tree, "repeat")
    entering = [
        wire for part in row.parts if isinstance(part, Group) for wire in tree.wires(part) if wire.source is None
    ]
    assert len({wire.value for wire in entering}) == 6  # one value between any two layers


def test_a_layer_that_differs_a_little_is_still_one_of_the_row() -> None:
    model = layers(8, names="/encoder/layer.{}/")
    first = model.graph.nodes[0]
    first.name = "/encoder/layer.0/again/ReduceMean"
    tree = tree_of(model)
    [row] = groups(tree, "repeat")
    assert len(row.parts) == 8


def test_a_module_that_is_called_twice_becomes_two_parts() -> None:
    body = "a = Tanh (x) b = Exp (a) c = Relu (b) d = Neg (c) e = Tanh (d) y = Exp (e)"
    model = parsed(body)
    names = ("act/Tanh", "act/Exp", "mid/Relu", "mid/Neg", "act/Tanh_1", "act/Exp_1")
    for node, name in zip(model.graph.nodes, names, strict=True):
        node.name = name
    tree = tree_of(model)
    assert titles(tree.root) == ["act (1)", "mid", "act (2)"]
    assert is_ordered(tree)


def test_a_node_between_those_of_one_module_belongs_to_it() -> None:
    model = parsed("a = Tanh (x) b = Exp (a) y = Neg (b)")
    for node, name in zip(model.graph.nodes, ("part/a", "other", "part/b"), strict=True):
        node.name = name
    tree = tree_of(model)
    assert titles(tree.root) == ["part"]
    assert tree.count(tree.root.parts[1]) == 3


def test_scopes_are_read_from_the_metadata_of_pytorch() -> None:
    model = parsed("a = Tanh (x) y = Exp (a)")
    for node in model.graph:
        node.metadata["namespace"] = ": pkg.Net/encoder: pkg.Encoder/encoder.layers.0: pkg.mod.Layer/tanh: aten.tanh"
    paths = scopes_of(flow_of(model.graph).leaves)
    assert [(scope.name, scope.of_class) for scope in paths[1]] == [("encoder", "Encoder"), ("layers.0", "Layer")]
    assert paths[0] == ()


def test_a_model_without_scopes_or_repeats_is_cut_into_stretches() -> None:
    operators = ["Tanh", "Exp", "Neg", "Relu", "Sigmoid", "Abs", "Sqrt", "Floor", "Ceil", "Sin", "Cos"]
    lines, value = [], "x"
    state = 12345
    for number in range(300):
        state = (1103515245 * state + 12345) % 2**31
        lines.append(f"v{number} = {operators[state % 11]} ({value})")
        value = f"v{number}"
    tree = tree_of(parsed(f"{' '.join(lines)} y = Identity ({value})"))
    assert len(tree.root.parts) <= 60
    assert is_ordered(tree)


def test_many_inputs_of_one_name_are_drawn_as_one() -> None:
    inputs = ", ".join(f"float[2] past_{number}_key" for number in range(6))
    names = [f"past_{number}_key" for number in range(6)]
    model = parsed(f"y = Sum ({', '.join(names)})", inputs=inputs)
    assert titles(tree_of(model).root) == ["past × 6"]


def test_a_cycle_is_drawn_in_the_order_of_the_file() -> None:
    model = parsed("a = Tanh (x) b = Exp (a) y = Neg (b)")
    first, second, _ = model.graph.nodes
    first.replace_input(0, second.output)
    assert len(tree_of(model).root.parts) == 5


@pytest.mark.parametrize(("signs", "repeat"), [([1, 2, 3, 1, 2, 3, 1, 2, 3, 4], Repeat(0, 3, 3)), ([1, 2, 3], None)])
def test_the_best_repeat_is_found(signs: list[int], repeat: Repeat | None) -> None:
    chain = [(i, i + 1) for i in range(len(signs) - 1)]
    assert best_repeat(signs, [1] * len(signs), chain, 2) == repeat


@pytest.mark.parametrize("seed", range(40))
def test_a_repeat_is_found_wherever_it_lies(seed: int) -> None:
    generator = random.Random(seed)
    period, count, lead, rest = (generator.randint(*span) for span in ((2, 9), (2, 7), (0, 20), (0, 20)))
    block = list(range(period))
    signs = [*range(100, 100 + lead), *block * count, *range(200, 200 + rest)]
    assert best_repeat(signs, [3] * len(signs), [], 2) == Repeat(lead, period, count)


def test_equal_columns_are_counted_one_by_one_however_few_nodes_each_has() -> None:
    columns = [(4 * column + i, 4 * column + i + 1) for column in range(4) for i in range(3)]
    assert best_repeat([1, 2, 3, 4] * 4, [1] * 16, columns, 8) == Repeat(0, 4, 4)
    pairs = [(i, i + 1) for i in range(15)]
    assert best_repeat([1, 2] * 8, [1] * 16, pairs, 8) == Repeat(0, 8, 2)


def test_crossings_count_each_element_that_is_read_across_a_place_once() -> None:
    edges = [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert crossings(edges, 4) == [0, 1, 2, 2, 0]


def test_groups_without_names_are_called_after_their_architecture() -> None:
    assert title_of(Counter({"MatMul": 6, "Softmax": 1, "Add": 8})) == "transformer layer"
    assert title_of(Counter({"Conv": 3, "Relu": 3, "Add of two branches": 1})) == "residual block"
    assert title_of(Counter({"Shape": 2, "Gather": 2, "Concat": 1})) == "sizes"
    assert title_of(Counter({"Slice": 1, "Cast": 1, "IsNaN": 1, "Where": 1})) == "imputation"
    assert title_of(Counter({"Slice": 1, "LabelEncoder": 1, "Less": 1, "Where": 1, "Gather": 1})) == "categories"


@contextlib.contextmanager
def without_the_garbage_of_others() -> Iterator[None]:
    """Collect nothing that was there before: going through what all tests have left takes seconds."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def test_ten_thousand_nodes_are_grouped_in_a_moment() -> None:
    model = big(10_000)
    with without_the_garbage_of_others():
        begin = time.thread_time()
        tree = tree_of(model)
        assert time.thread_time() - begin < 2.0  # about 0.2 s
    assert len(tree.root.parts) < 60


def big(count: int) -> Model:
    return layers(count // 8)


def test_many_nodes_of_which_none_are_equal_are_grouped_in_time() -> None:
    generator = random.Random(0)
    graph = Graph([x := Value("x", TensorType(DType.FLOAT32, (4,)))], name="g")
    for number in range(60_000):
        operator = generator.choice(["Exp", "Neg", "Tanh", "Abs", "Sigmoid", "Relu", "Sqrt", "Ceil"])
        x = graph.append(Node(operator, [x], [f"v{number}"])).output
    graph.outputs.append(x)
    with without_the_garbage_of_others():
        begin = time.thread_time()
        tree = tree_of(Model(graph, 20))
        assert time.thread_time() - begin < 6.0  # about 2 s; 10 s when each part asked all others
    assert len(tree.root.parts) <= 60
