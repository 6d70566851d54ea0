# mypy: disable-error-code="valid-type, name-defined, no-untyped-def, no-untyped-call, misc"
# ruff: noqa: ARG001, ARG005, F821
"""Model-local functions written as Python functions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ingot.builder import Float16, Float32, Float64, Var, build, function, op
from ingot.errors import BuildError
from ingot.format.encode import encode
from ingot.ir import AttributeKind, FunctionId, Graph, Model, Tensor

Run = Callable[..., list[Any]]
f32: Callable[[Any], Any] = partial(np.array, dtype=np.float32)


def ops(graph: Graph) -> list[str]:
    return [node.op_type for node in graph]


@function(domain="my", opset=20)
def leaky(x, *, alpha: float = 0.5):
    """A leaky rectifier."""
    return op.LeakyRelu(x, alpha=alpha)


@function(domain="my", opset=20)
def twice(x, *, alpha: float):
    return leaky(leaky(x, alpha=alpha), alpha=alpha) + leaky(x)


def test_a_function_is_added_once_with_its_imports(run: Run) -> None:
    model = build(lambda x: leaky(leaky(x, alpha=0.25)), Float32["n"], opset=20)
    assert list(model.functions) == [FunctionId("my", "leaky")]
    assert model.opset_imports == {"": 20, "my": 1}
    fn = model.functions[FunctionId("my", "leaky")]
    assert fn.opset_imports == {"": 20}
    assert fn.doc_string == "A leaky rectifier."
    assert [v.name for v in fn.inputs] == ["x"]
    default = fn.attributes["alpha"]
    assert default is not None
    assert (default.kind, default.value) == (AttributeKind.FLOAT, 0.5)
    assert fn.graph.nodes[0].attributes["alpha"].ref == "alpha"
    assert run(model, x=f32([-8, 1]))[0].tolist() == [-1, 1]


def test_functions_call_functions_and_pass_attributes_on(run: Run) -> None:
    model = build(lambda x: twice(x, alpha=0.25), Float32["n"], opset=20)
    assert [str(id) for id in model.functions] == ["my.leaky", "my.twice"]
    assert model.functions[FunctionId("my", "twice")].attributes == {"alpha": None}
    assert model.functions[FunctionId("my", "twice")].opset_imports == {"": 20, "my": 1}
    assert run(model, x=f32([-16, 1]))[0].tolist() == [-9, 2]


def test_constants_of_a_function_are_nodes(run: Run) -> None:
    table = f32([1, 2, 3])

    @function
    def fn(x):
        return op.If(op.ReduceSum(x, keepdims=0) > np.float32(0), then=lambda: x * table, else_=lambda: x + table)

    model = build(lambda x: fn(x), Float32[3], opset=20)
    (made,) = model.functions.values()
    assert not made.graph.initializers
    assert ops(made.graph) == ["ReduceSum", "Constant", "Greater", "Constant", "If"]
    assert "table" in [v.name for node in made.graph for v in node.outputs]
    assert run(model, x=f32([1, 1, 1]))[0].tolist() == [1, 2, 3]
    assert run(model, x=f32([-1, 0, 0]))[0].tolist() == [0, 2, 3]


def test_a_function_is_generic_in_its_element_type(run: Run) -> None:
    @function
    def scaled(x, *, by: float = 2.0):
        return x * by + 1

    def fn(x, y):
        return scaled(x), scaled(y, by=3)

    model = build(fn, Float32["n"], Float64["n"], opset=20)
    (made,) = model.functions.values()
    assert ops(made.graph) == ["Constant", "CastLike", "Mul", "Constant", "CastLike", "Add"]
    got = run(model, x=f32([1.5]), y=np.array([1.5]))
    assert [(v.dtype, v.tolist()) for v in got] == [(np.float32, [4.0]), (np.float64, [5.5])]


def test_annotated_inputs_are_known_in_the_body() -> None:
    @function
    def scaled(x: Float16["n"], *, by: float = 2.0):
        return x * by + 1

    (made,) = build(lambda x: scaled(x), Float16["n"]).functions.values()
    assert ops(made.graph) == ["Constant", "Cast", "Mul", "Constant", "Add"]


def test_attributes_of_every_kind(check: Callable[[Model], Any]) -> None:
    @function(domain="my")
    def fn(
        x,
        *,
        axis: int = -1,
        keep: bool = True,
        perm: list[int],
        scales: tuple[float, ...] = (1, 2.0),
        mode: str | None = None,
        value: np.ndarray = f32([1]),  # noqa: B008
        weight: Tensor,
        labels=("a", "b"),
        kind: AttributeKind.INTS = (),
    ):
        y = op.Transpose(op.Softmax(x, axis=axis), perm=perm)
        y = op.ReduceSum(y, keepdims=keep) * op.Constant(value=value) * weight
        return op.Pad(y, [0, 0, 0, 0], mode=mode), op.Foo(scales, labels, kind)

    def model(x):
        return fn(x, perm=(1, 0), weight=f32([3]), scales=[1, 2])[0]

    built = build(model, Float32["a", "b"], opset=20)
    (made,) = built.functions.values()
    kinds = {name: default and default.kind.name for name, default in made.attributes.items()}
    assert kinds == {
        "axis": "INT", "keep": "INT", "perm": None, "scales": "FLOATS", "mode": None, "value": "TENSOR", "weight": None,
        "labels": "STRINGS", "kind": "INTS",
    }  # fmt: skip
    call = built.graph.nodes[0]
    assert {name: a.kind.name for name, a in call.attributes.items()} == {
        "perm": "INTS",
        "weight": "TENSOR",
        "scales": "FLOATS",
    }
    assert len(call.outputs) == 2


def test_inputs_that_may_be_left_out(run: Run) -> None:
    @function
    def clip(x, low=None, high=None):
        return op.Clip(x, low, high)

    model = build(lambda x: (clip(x), clip(x, None, 1.0), clip(x, 0.0)), Float32["n"], opset=20)
    assert [len(node.inputs) for node in model.graph] == [1, 3, 2]
    assert model.graph.nodes[1].inputs[1] is None
    with pytest.raises(BuildError, match="takes x, low, high, got 4 inputs"):
        build(lambda x: clip(x, x, x, x), Float32["n"])
    with pytest.raises(BuildError, match="got 0 inputs"):
        build(lambda x: clip(), Float32["n"])


def test_overloads_are_told_apart(run: Run) -> None:
    @function(domain="my", name="scale", overload="double")
    def double(x):
        return x * 2

    @function(domain="my", name="scale", overload="triple", outputs=["y"])
    def triple(x):
        return x * 3

    model = build(lambda x: double(triple(x)), Float32["n"], opset=18)
    assert [str(id) for id in model.functions] == ["my.scale:triple", "my.scale:double"]
    assert [node.overload for node in model.graph] == ["triple", "double"]
    assert model.functions[FunctionId("my", "scale", "triple")].graph.outputs.names == ["y"]
    assert model.ir_version == 10

    @function(domain="my", name="scale", overload="double")
    def other(x):
        return x

    with pytest.raises(BuildError, match=r"two functions are called 'my\.scale:double'"):
        build(lambda x: double(other(x)), Float32["n"])


def test_a_model_with_functions_is_of_ir_version_8_at_least() -> None:
    @function(domain="my")
    def fn(x):
        return op.Relu(x)

    model = build(lambda x: fn(x), Float32["n"], opset=13)
    assert model.ir_version == 8
    assert model.functions[FunctionId("my", "fn")].opset_imports == {"": 13}


def test_other_domains_in_a_function_have_the_versions_of_the_model() -> None:
    @function(domain="my", opsets={"third": 7})
    def fn(x):
        return op.domain("third").B(op.domain("com.microsoft").A(x))

    model = build(lambda x: fn(x), Float32["n"], opset=20, opsets={"com.microsoft": 3, "third": 2})
    (made,) = model.functions.values()
    assert made.opset_imports == {"": 20, "third": 7, "com.microsoft": 3}


def test_a_function_belongs_to_many_models() -> None:
    first, second = (build(lambda x: leaky(x), Float32["n"], opset=20) for _ in range(2))
    assert first.functions[FunctionId("my", "leaky")] is not second.functions[FunctionId("my", "leaky")]
    assert encode(first) == encode(second)


def test_a_function_is_called_in_bodies_too(run: Run) -> None:
    def fn(x):
        return op.Loop(2, None, x, body=lambda i, y: leaky(y))

    assert run(build(fn, Float32["n"], opset=20), x=f32([-4, 4]))[0].tolist() == [-1, 4]


def test_several_results() -> None:
    @function
    def both(x):
        return {"up": x + 1, "down": x - 1}

    def fn(x):
        up, down = both(x)
        assert isinstance(up, Var)
        return up * down

    (made,) = build(fn, Float32["n"]).functions.values()
    assert made.graph.outputs.names == ["up", "down"]


def test_a_function_sees_only_its_own() -> None:
    outside: list[Any] = []

    @function(domain="my")
    def fn(x):
        return x + outside[0]

    def model(x):
        outside.append(op.Relu(x))
        return fn(x)

    with pytest.raises(BuildError, match=r"function 'my.fn' reads 'relu', which is not its own") as raised:
        build(model, Float32["n"])
    assert "x + outside[0]" in str(raised.value)


def test_attributes_stay_in_their_function() -> None:
    kept: list[Any] = []

    @function
    def fn(x, *, alpha: float = 1.0):
        kept.append(alpha)
        return op.Elu(x, alpha=alpha)

    with pytest.raises(BuildError, match="attribute 'alpha' belongs to another function"):
        build(lambda x: op.Elu(fn(x), alpha=kept[0]), Float32["n"])

    @function
    def choosing(x, *, alpha: float = 1.0):
        return x if alpha else -x

    @function
    def comparing(x, *, mode: str = "a"):
        return x if mode == "a" else -x

    for fn, name in ((choosing, "alpha"), (comparing, "mode")):
        with pytest.raises(BuildError, match=f"attribute '{name}' is not known while the function is built"):
            build(lambda x: fn(x), Float32["n"])  # noqa: B023


def test_recursion_is_refused() -> None:
    @function(domain="my")
    def a(x):
        return b(x)

    @function(domain="my")
    def b(x):
        return a(x)

    with pytest.raises(BuildError, match=r"function 'my\.a' calls itself"):
        build(lambda x: a(x), Float32["n"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: leaky(x, alhpa=0.1), "did you mean 'alpha'"),
        (lambda x: leaky(x, alpha="a"), "attribute 'alpha' is of kind float"),
        (lambda x: leaky(x, x), "takes x, got 2 inputs"),
        (lambda x: twice(x), "function 'my.twice' needs attribute 'alpha'"),
    ],
)
def test_calls_that_do_not_fit_are_refused(call: Callable[..., object], message: str) -> None:
    with pytest.raises(BuildError, match=message) as raised:
        build(call, Float32["n"])
    assert "lambda x: " in str(raised.value)


def test_a_call_outside_of_a_build_is_refused() -> None:
    with pytest.raises(BuildError, match=r"function 'my\.leaky' outside of a build"):
        leaky(f32([1]))


def test_a_function_without_a_name_needs_one() -> None:
    with pytest.raises(BuildError, match="needs a name"):
        function(lambda x: x)
    assert str(function(name="same")(lambda x: x).id) == "local.same"


def test_definitions_that_do_not_fit_are_refused() -> None:
    def array(x, y=np.ones(3)):  # noqa: B008
        return x

    def default(x, y=2):
        return x

    def variadic(*xs):
        return xs[0]

    def no_kind(x, *, alpha):
        return x

    def wrong_default(x, *, alpha: float = "a"):  # type: ignore[assignment]
        return x

    cases: list[tuple[Callable[..., object], str]] = [
        (default, "input 'y' of a function has a default"),
        (array, "input 'y' of a function has a default"),
        (variadic, r"parameter '\*xs'"),
        (no_kind, "attribute 'alpha' has no kind"),
        (wrong_default, "attribute 'alpha' is of kind float"),
    ]
    for fn, message in cases:
        with pytest.raises(BuildError, match=message) as raised:
            function(fn)
        assert f"def {fn.__name__}(" in str(raised.value)
