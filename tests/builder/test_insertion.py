# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
# ruff: noqa: ARG001
"""Writing nodes into a graph that exists."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ingot.builder import Bool, Float32, Var, build, function, inserting, op
from ingot.errors import BuildError, CheckError
from ingot.ir import FunctionId, Graph, Model, Node, Value, verify

Run = Callable[..., list[Any]]
f32: Callable[[Any], Any] = partial(np.array, dtype=np.float32)


def ops(graph: Graph) -> list[str]:
    return [node.op_type for node in graph]


def chain() -> Model:
    return build(lambda x: op.Abs(op.Neg(x)), Float32["n"], opset=20)


def test_before_a_node(run: Run) -> None:
    model = chain()
    last = model.graph.nodes[1]
    (x,) = last.inputs
    assert x is not None
    with inserting(before=last) as made:
        y = op.Relu(x) * 2
        z = Var(x) + y
        last.replace_input(0, z.value)
    assert ops(model.graph) == ["Neg", "Relu", "CastLike", "Mul", "Add", "Abs"]
    assert [node.op_type for node in made] == ["Relu", "CastLike", "Mul", "Add"]
    verify(model)
    assert run(model, x=f32([-2, 2]))[0].tolist() == [6, 2]


def test_after_a_node(run: Run) -> None:
    model = chain()
    first = model.graph.nodes[0]
    old = first.output
    uses = old.uses
    with inserting(after=first):
        new = op.Exp(op.Relu(old))
        for node, index in uses:
            node.replace_input(index, new.value)
    assert ops(model.graph) == ["Neg", "Relu", "Exp", "Abs"]
    verify(model)


def test_at_the_end_of_a_graph_and_a_returned_value_replaced(run: Run) -> None:
    model = chain()
    old = model.graph.outputs[0]
    with inserting(at_end_of=model.graph):
        new = op.Mul(old, np.float32(3))
    model.graph.outputs[0] = new.value
    verify(model)
    assert run(model, x=f32([-2]))[0].tolist() == [6]


def test_a_rewrite_in_place(run: Run) -> None:
    model = build(lambda x: op.Relu(op.HardSwish(x)), Float32["n"], opset=20)
    for node in model.graph:
        if node.applies("HardSwish"):
            with inserting(before=node):
                x = Var(node.inputs[0])  # type: ignore[arg-type]
                node.output.replace_uses((x * op.Clip(x / 6 + 0.5, 0.0, 1.0)).value)
            model.graph.remove(node)
    assert ops(model.graph) == ["Div", "Add", "Clip", "Mul", "Relu"]
    verify(model)
    x = f32([-4, -1, 0, 2, 5])
    np.testing.assert_allclose(run(model, x=x)[0], np.maximum(x * np.clip(x / 6 + 0.5, 0, 1), 0), rtol=1e-6)


def test_inside_a_body_constants_go_to_the_outermost_graph(run: Run) -> None:
    def fn(c, x):
        return op.If(c, then=lambda: op.Abs(x), else_=lambda: x)

    model = build(fn, Bool[()], Float32["n"], opset=20)
    then = model.graph.nodes[0].subgraphs[0]
    inner = then.nodes[0]
    with inserting(before=inner):
        y = Var(model.graph.inputs[1]) * f32([2])
        y = op.If(model.graph.inputs[0], then=lambda: y + 1, else_=lambda: y)
        inner.replace_input(0, y.value)
    assert ops(then) == ["Mul", "If", "Abs"]
    assert len(model.graph.initializers) == 2
    verify(model)
    assert run(model, c=np.array(True), x=f32([-3]))[0].tolist() == [5]


def test_inside_a_function_constants_are_nodes_and_imports_are_its_own() -> None:
    @function(domain="my")
    def fn(x):
        return op.Abs(x)

    model = build(lambda x: fn(x), Float32["n"], opset=13)
    made = model.functions[FunctionId("my", "fn")]
    (node,) = made.graph.nodes
    with inserting(before=node):
        y = op.domain("com.microsoft").Gelu(op.Mul(node.inputs[0], np.float32(2)))
        node.replace_input(0, y.value)
    assert ops(made.graph) == ["Constant", "Mul", "Gelu", "Abs"]
    assert made.opset_imports == {"": 13, "com.microsoft": 1}
    assert model.opset_imports == {"": 13, "my": 1}
    verify(model)


def test_functions_are_added_to_the_model() -> None:
    @function(domain="my")
    def fn(x):
        return op.Abs(x)

    @function(domain="my")
    def other(x):
        return fn(x)

    model = chain()
    for node in model.graph.nodes:
        with inserting(before=node):
            node.replace_input(0, fn(node.inputs[0]).value)
    assert list(model.functions) == [FunctionId("my", "fn")]
    assert model.opset_imports == {"": 20, "my": 1}
    verify(model)

    (inside,) = model.functions[FunctionId("my", "fn")].graph.nodes
    with inserting(before=inside), pytest.raises(BuildError, match=r"name it: inserting\(..., model=model\)"):
        other(inside.inputs[0])


def test_the_opset_is_that_of_the_model() -> None:
    model = build(lambda x: op.Abs(x), Float32["n"], opset=13)
    (node,) = model.graph.nodes
    with inserting(after=node), pytest.raises(BuildError, match="opset 13 has no CastLike"):
        Var(node.output) * 2
    assert ops(model.graph) == ["Abs"]


def test_a_graph_that_is_nobodys() -> None:
    graph = Graph(name="g")
    graph.inputs.append(Value("x", Float32["n"]))
    with inserting(at_end_of=graph):
        y = Var(graph.inputs[0]) + 1
    graph.outputs.append(y.value)
    assert ops(graph) == ["Add"]
    assert list(graph.initializers) == ["constant"]


def test_names_do_not_clash_with_those_there() -> None:
    model = chain()
    with inserting(at_end_of=model.graph):
        for _ in range(3):
            op.Abs(op.Neg(model.graph.inputs[0]))
    names = [value.name for value in model.graph.values()]
    assert len(set(names)) == len(names)


def test_a_node_the_checker_refuses_is_taken_out_again() -> None:
    def check(node: Node, opsets: Any) -> None:
        if node.applies("Bad"):
            raise CheckError("bad is bad")

    model = chain()
    with inserting(at_end_of=model.graph, check=check):
        op.Good(model.graph.inputs[0])
        with pytest.raises(BuildError, match="bad is bad"):
            op.Bad(model.graph.inputs[0])
    assert ops(model.graph) == ["Neg", "Abs", "Good"]


def test_one_place_is_needed() -> None:
    model = chain()
    (node, _) = model.graph.nodes
    with pytest.raises(BuildError, match="inserting needs one place"):
        inserting()
    with pytest.raises(BuildError, match="inserting needs one place"):
        inserting(before=node, after=node)
    with pytest.raises(BuildError, match="is in no graph"):
        inserting(before=Node("Abs"))


def test_values_of_another_model_are_refused() -> None:
    here, there = chain(), chain()
    with inserting(at_end_of=here.graph), pytest.raises(BuildError, match="'x' belongs to another build"):
        op.Abs(there.graph.inputs[0])
    with inserting(at_end_of=here.graph), pytest.raises(BuildError, match="nothing defines value 'loose'"):
        op.Abs(Value("loose"))
