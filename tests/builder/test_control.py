# mypy: disable-error-code="valid-type, name-defined, no-untyped-def, no-untyped-call, misc, attr-defined, arg-type"
# ruff: noqa: ARG001, ARG005, F821
"""If, Loop and Scan with bodies written as functions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ingot.builder import Bool, Float16, Float32, Float64, Int64, Sequence, Var, build, op
from ingot.dtypes import DType
from ingot.errors import BuildError
from ingot.ir import Graph, Model, Node, Value

Run = Callable[..., list[Any]]
f32: Callable[[Any], Any] = partial(np.array, dtype=np.float32)


def ops(graph: Graph) -> list[str]:
    return [node.op_type for node in graph]


def body_of(model: Model, op_type: str) -> Graph:
    return next(node for node in model.graph if node.applies(op_type)).subgraphs[0]


def test_if_with_branches_that_capture(run: Run) -> None:
    @build(opset=20)
    def model(c: Bool[()], x: Float32["n"]):
        return op.If(c, then=lambda: x + 1, else_=lambda: x - 1)

    x = f32([1, 2])
    assert run(model, c=np.array(True), x=x)[0].tolist() == [2, 3]
    assert run(model, c=np.array(False), x=x)[0].tolist() == [0, 1]
    assert model.graph.outputs[0].type == Float32["n"]


def test_if_with_several_results_constants_and_captured_values_returned(run: Run) -> None:
    scale = f32([10])

    def fn(c, x):
        def small():
            y = x * scale
            return y, y, x, scale

        def large():
            return 1.0, x, f32([2, 3]), x * 2

        a, b, c, d = op.If(c, then=small, else_=large, name="choice")
        return a, b, c, d

    model = build(fn, Bool[()], Float32["n"], opset=20)
    x = f32([1, 2])
    assert [v.tolist() for v in run(model, c=np.array(True), x=x)] == [[10, 20], [10, 20], [1, 2], [10]]
    assert [v.tolist() for v in run(model, c=np.array(False), x=x)] == [1, [1, 2], [2, 3], [2, 4]]
    node = model.graph.nodes[0]
    assert (node.name, [v.name for v in node.outputs]) == ("choice", ["choice_0", "choice_1", "choice_2", "choice_3"])
    assert [str(v.type) for v in node.outputs] == ["float32[...]", "float32[n]", "float32[?]", "float32[?]"]
    assert next(iter(model.graph.initializers)) == "scale"


def test_if_in_if_captures_captures(run: Run) -> None:
    def fn(a, b, x):
        def outer():
            y = x * 2
            return op.If(b, then=lambda: y + x, else_=lambda: op.If(a, then=lambda: y - x * 3, else_=lambda: y))

        return op.If(a, then=outer, else_=lambda: x)

    model = build(fn, Bool[()], Bool[()], Float32["n"], opset=20)
    x = f32([1, 2])
    yes, no = np.array(True), np.array(False)
    assert run(model, a=yes, b=yes, x=x)[0].tolist() == [3, 6]
    assert run(model, a=yes, b=no, x=x)[0].tolist() == [-1, -2]
    assert run(model, a=no, b=no, x=x)[0].tolist() == [1, 2]


def test_names_are_unique_across_bodies() -> None:
    def fn(c, x):
        y = op.If(c, then=lambda: op.Relu(op.Relu(x)), else_=lambda: op.Relu(x))
        return op.Relu(op.If(c, then=lambda: op.Relu(y), else_=lambda: x))

    model = build(fn, Bool[()], Float32["n"])
    names = [value.name for graph in model.graphs() for value in graph.values()]
    assert len(names) == len(set(names))


def test_branches_given_as_graphs(run: Run) -> None:
    def branch(name: str) -> Graph:
        node = Node("Constant", [], ["c_" + name], {"value": f32([len(name)])})
        return Graph([], node.outputs, [node], name=name)

    model = build(lambda c: op.If(c, then_branch=branch("then"), else_branch=branch("otherwise")), Bool[()], opset=20)
    assert run(model, c=np.array(False))[0].tolist() == [9]


def test_a_counted_loop(run: Run) -> None:
    @build(opset=20)
    def model(x: Float32["n"], n: Int64[()]):
        return op.Loop(n, None, x, body=lambda i, y: y * 2)

    assert run(model, x=f32([1, 3]), n=np.int64(3))[0].tolist() == [8, 24]
    assert run(model, x=f32([1, 3]), n=np.int64(0))[0].tolist() == [1, 3]


def test_a_loop_with_states_and_collected_values(run: Run) -> None:
    def fn(x):
        def body(i, total, last):
            now = total + x[i]
            return now, i, now * 2, i

        return op.Loop(x.shape[0], None, 0.0, 0, body=body)

    model = build(fn, Float32["n"], opset=20)
    x = f32([1, 2, 3, 4])
    total, last, sums, indices = run(model, x=x)
    assert (total, last) == (10, 3)
    assert sums.reshape(-1).tolist() == (np.cumsum(x) * 2).tolist()
    assert indices.reshape(-1).tolist() == [0, 1, 2, 3]
    body = body_of(model, "Loop")
    assert body.inputs.names == ["i", "going", "total", "last"]
    assert [str(v.type) for v in body.inputs] == ["int64[]", "bool[]", "float32[...]", "int64[...]"]


def test_a_loop_that_decides_when_to_stop(run: Run) -> None:
    @build(opset=20)
    def model(x: Float32[()]):
        def double(i, y):
            y = y * 2
            return y < 100, y, i

        return op.Loop(None, x < 100, x, body=double)

    y, steps = run(model, x=np.float32(3))
    assert (y, steps.reshape(-1).tolist()) == (192, [0, 1, 2, 3, 4, 5])


def test_a_loop_with_a_condition_and_one_state_gives_one_value(run: Run) -> None:
    model = build(lambda x: op.Loop(10, True, x, body=lambda i, y: (y < 5, y + 1)), Int64[()], opset=20)
    assert run(model, x=np.int64(0))[0] == 6


def test_loops_in_loops(run: Run) -> None:
    def fn(x):
        def row(i, total):
            def column(j, inner):
                return inner + x[i, j] * total

            return op.Loop(x.shape[1], None, total, body=column)

        return op.Loop(x.shape[0], None, 1.0, body=row)

    def plain(x: Any) -> float:
        total = 1.0
        for i in range(x.shape[0]):
            inner = total
            for j in range(x.shape[1]):
                inner = inner + x[i, j] * total
            total = inner
        return total

    x = f32([[1, 2, 3], [0.5, 0.25, 0]])
    assert run(build(fn, Float32["a", "b"], opset=20), x=x)[0] == plain(x)


def test_body_parameters_are_typed_from_what_is_known_or_annotated() -> None:
    def fn(x, items):
        def body(i, y, kept: Float32["n"], all_):
            assert (i.dtype, i.rank) == (DType.INT64, 0)
            assert (y.dtype, y.rank) == (DType.FLOAT16, None)
            assert str(kept.type) == "float32[n]"
            assert str(all_.type) == "sequence(float32[...])"
            assert isinstance(y, Var)
            return y * 2, kept, all_

        return op.Loop(3, None, x, op.Foo(x), items, body=body)[0]

    model = build(fn, Float16["n"], Sequence[Float32["n"]])
    assert ops(body_of(model, "Loop")) == ["Mul", "Identity", "Identity", "Identity"]


def test_a_loop_body_given_as_a_graph(run: Run) -> None:
    i, going, x = Value("i", Int64[()]), Value("c", Bool[()]), Value("s", Float32[...])
    keep, double = Node("Identity", [going], ["c_out"]), Node("Add", [x, x], ["s_out"])
    body = Graph([i, going, x], [keep.output, double.output], [keep, double], name="body")
    model = build(lambda x: op.Loop(3, True, x, body=body), Float32["n"], opset=20)
    assert run(model, x=f32([1]))[0].tolist() == [8]


def test_scan_over_rows(run: Run) -> None:
    @build(opset=20)
    def model(x: Float32["n", 2], y: Float32["n"]):
        def body(total, row, weight):
            assert str(row.type) == "float32[2]"
            assert str(weight.type) == "float32[]"
            total = total + row * weight
            return total, total

        return op.Scan([np.zeros(2, np.float32)], [x, y], body=body)

    x, y = f32([[1, 2], [3, 4], [5, 6]]), f32([1, 2, 0.5])
    last, sums = run(model, x=x, y=y)
    want = np.cumsum(x * y[:, None], axis=0)
    np.testing.assert_allclose(last, want[-1])
    np.testing.assert_allclose(sums, want)


def test_scan_backwards_along_another_axis_without_states(check: Callable[[Model], Any]) -> None:
    def fn(x):
        return op.Scan(
            None,
            x,
            body=lambda column: column * 10,
            scan_input_axes=[1],
            scan_output_axes=[1],
            scan_output_directions=[1],
        )

    model = build(fn, Float32[2, "n"], opset=20)  # onnx's own evaluator cannot run other axes than the first
    assert [dim.dim_value for dim in check(model).graph.output[0].type.tensor_type.shape.dim] == [2, 0]
    (node,) = model.graph.nodes
    assert node["num_scan_inputs"] == 1
    assert node.subgraphs[0].inputs[0].type == Float32[2]


def test_a_scan_body_given_as_a_graph(run: Run) -> None:
    s, x = Value("s_in", Float32[()]), Value("x_in", Float32[()])
    add = Node("Add", [s, x], ["s_out"])
    copy = Node("Identity", [add.output], ["y_out"])
    body = Graph([s, x], [add.output, copy.output], [add, copy], name="body")
    model = build(lambda x: op.Scan(np.float32(0), x, body=body, num_scan_inputs=1), Float32["n"], opset=20)
    last, all_ = run(model, x=f32([1, 2, 3]))
    assert (last, all_.tolist()) == (6, [1, 3, 6])


def test_a_value_of_a_body_stays_in_it() -> None:
    kept: list[Var] = []

    def branch(x):
        kept.append(x + 1)
        return kept[0]

    def after(c, x):
        op.If(c, then=lambda: branch(x), else_=lambda: x)
        return op.Relu(kept[0])

    def sibling(c, x):
        return op.If(c, then=lambda: branch(x), else_=lambda: kept[0] * 2)

    for fn in (after, sibling):
        kept.clear()
        with pytest.raises(BuildError, match="belongs to a body that has ended"):
            build(fn, Bool[()], Float32["n"])


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda c, x: op.If(c, then=lambda: x), "op.If needs both branches"),
        (lambda c, x: op.If(c, then=lambda: x, else_=lambda: (x, x)), "return 1 and 2 values"),
        (lambda c, x: op.If(c, then=lambda: None, else_=lambda: x), "the result is a NoneType"),
        (lambda c, x: op.If(c, then=lambda: (), else_=lambda: x), "nothing is returned"),
        (lambda c, x: op.If(c, then=lambda: {"y": x}, else_=lambda: x), "a body returned a dict"),
        (lambda c, x: op.If(c, then=lambda y: x, else_=lambda: x), "called with 0 values and takes y"),
        (lambda c, x: op.Loop(3, None, x, body=lambda y: y), "called with 2 values and takes y"),
        (lambda c, x: op.Loop(3, None, x, x, body=lambda i, a, b: a), "returned 1 values for 2 states"),
        (lambda c, x: op.Loop(3, c, x, body=lambda i, y: y), "return first whether to go on"),
        (lambda c, x: op.Loop(3, c, x, body=lambda i, y: (2.5, y)), "2.5 beside a tensor of bool"),
        (lambda c, x: op.Scan(x, body=lambda y: y), "takes states and inputs, got 1"),
        (lambda c, x: op.Scan([], [x], body=lambda y: y, scan_input_axes=[0, 0]), "2 axes for 1 inputs"),
        (lambda c, x: op.Scan([x, x], [x], body=lambda a, b, y: a), "returned 1 values for 2 states"),
    ],
)
def test_bodies_that_do_not_fit_are_refused(fn: Callable[..., object], message: str) -> None:
    with pytest.raises(BuildError, match=message) as raised:
        build(fn, Bool[()], Float32["n"])
    assert 'test_control.py", line' in str(raised.value)


def test_a_scan_before_opset_9_is_refused() -> None:
    with pytest.raises(BuildError, match="needs opset 9"):
        build(lambda x: op.Scan([], [x], body=lambda row: row + 1), Float64["n"], opset=8)


def test_a_failing_body_leaves_the_build_as_it_was() -> None:
    def fn(c, x):
        with pytest.raises(ZeroDivisionError):
            op.If(c, then=lambda: 1 // 0, else_=lambda: x)
        return op.Relu(x)

    assert ops(build(fn, Bool[()], Float32["n"]).graph) == ["Relu"]
