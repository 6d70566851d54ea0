# mypy: disable-error-code="valid-type, name-defined, syntax, no-untyped-def, no-untyped-call, misc, operator"
# mypy: disable-error-code="index, return-value, unreachable, redundant-expr, typeddict-item"
# ruff: noqa: B008, F821
"""A function becomes a model: inputs, constants, outputs, names, versions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest

from ingot.builder import OPSET, Float32, Float64, Int64, Optional, Sequence, Var, build, ir_version_of, op
from ingot.builder.versions import domain_version_of
from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.errors import BuildError
from ingot.format.encode import encode
from ingot.ir import IR_VERSION, Model, Tensor, TensorType
from ingot.version import __version__

Run = Callable[..., list[Any]]
f32: Callable[[Any], Any] = partial(np.array, dtype=np.float32)

coefficients = np.arange(8, dtype=np.float32).reshape(4, 2)
bias = np.array([1, -1], np.float32)


def ops(model: Model) -> list[str]:
    return [node.op_type for node in model.graph]


@build(opset=20)
def linear(x: Float32["batch", 4]):
    """A linear model.

    With two outputs.
    """
    return op.Add(op.MatMul(x, coefficients), bias)


def test_the_linear_model_of_the_introduction(run: Run) -> None:
    assert isinstance(linear, Model)
    assert linear.graph.name == "linear"
    assert linear.doc_string == "A linear model.\n\nWith two outputs."
    assert linear.graph.inputs[0].type == TensorType(DType.FLOAT32, (symbol("batch"), 4))
    assert ops(linear) == ["MatMul", "Add"]
    assert linear.graph.initializers["coefficients"].constant is not None
    assert [v.name for v in linear.graph.initializers.values()] == ["coefficients", "bias"]
    assert [v.name for node in linear.graph for v in node.outputs] == ["matmul", "add"]
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_allclose(run(linear, x=x)[0], x @ coefficients + bias, rtol=1e-6)


def test_who_made_the_model_and_for_which_versions() -> None:
    assert (linear.producer_name, linear.producer_version) == ("ingot", __version__)
    assert linear.opset_imports == {"": 20}
    assert linear.ir_version == 9


def test_the_same_function_gives_the_same_bytes() -> None:
    def fn(x):
        y = op.If(op.ReduceSum(x, keepdims=0) > 0, then=lambda: x + 1, else_=lambda: x - 1)
        return op.Concat(y, x[::-1], np.zeros(3, np.float32), axis=0)

    first = encode(build(fn, Float32["n"]))
    assert all(encode(build(fn, Float32["n"])) == first for _ in range(3))


def test_the_ir_version_is_that_of_the_release_of_the_opset() -> None:
    for _, ir, opset, *_ in onnx.helper.VERSION_TABLE:
        assert ir_version_of(opset) == ir
        assert build(lambda x: op.Relu(x), Float32["n"], opset=opset).ir_version == ir
    assert ir_version_of(OPSET) == IR_VERSION
    assert build(lambda x: op.Relu(x), Float32["n"], opset=20, ir_version=8).ir_version == 8


def test_a_domain_nobody_declared_is_imported_as_it_was_released() -> None:
    assert [domain_version_of(domain, 17) for domain in ("", "ai.onnx", "ai.onnx.ml", "com.own")] == [17, 17, 3, 1]


def test_the_newest_opset_is_the_default() -> None:
    @build
    def model(x: Float32["n"]):
        return op.Relu(x)

    assert model.opset == OPSET == 28
    with pytest.raises(BuildError, match="opset 29 is not known"):
        build(opset=29)


def test_initialisers_are_inputs_too_where_the_ir_version_demands_it(run: Run) -> None:
    model = build(lambda x: op.Add(x, bias), Float32[2], opset=8)
    assert model.ir_version == 3
    assert [value.name for value in model.graph.inputs] == ["x", "bias"]
    assert [value.name for value in model.inputs] == ["x"]
    np.testing.assert_array_equal(run(model, x=f32([1, 2]))[0], [2, 1])


def test_a_plain_call_with_types() -> None:
    model = build(lambda x, y: x + y, Float32["n"], Float32["n"], opset=21, outputs=["z"], name="adder", doc_string="d")
    assert [str(value.type) for value in model.graph.inputs] == ["float32[n]", "float32[n]"]
    assert (model.graph.name, model.doc_string, model.graph.outputs.names) == ("adder", "d", ["z"])
    assert build(lambda x: x + 1, inputs={"x": Float32[...]}).graph.name == "main"


def test_types_given_replace_annotations() -> None:
    def fn(x: Float32["n"], y: Float32["n"]):
        return x + y

    model = build(fn, Float64["n"], inputs={"y": Float64["n"]})
    assert [value.type.dtype for value in model.graph.inputs] == [DType.FLOAT64] * 2  # type: ignore[union-attr]


def test_string_annotations_see_local_names() -> None:
    size = 3
    Local = Float32  # noqa: N806

    @build(opset=20)
    def model(x: 'Local["n", size]') -> "Local[3]":
        return op.ReduceSum(x, [0], keepdims=0)

    assert model.graph.inputs[0].type == Float32["n", 3]
    assert model.graph.outputs[0].type == Float32[3]


def test_several_outputs_by_position_by_name_and_by_dict() -> None:
    def pair(x):
        return x + 1, op.Relu(x)

    def named(x):
        return {"up": x + 1, "positive": op.Relu(x)}

    assert build(pair, Float32["n"]).graph.outputs.names == ["add", "relu"]
    assert build(pair, Float32["n"], outputs=["a", "b"]).graph.outputs.names == ["a", "b"]
    assert build(named, Float32["n"]).graph.outputs.names == ["up", "positive"]
    with pytest.raises(BuildError, match="1 names for 2 results"):
        build(pair, Float32["n"], outputs=["a"])
    with pytest.raises(BuildError, match="drop one of them"):
        build(named, Float32["n"], outputs=["a", "b"])


def test_the_return_annotation_declares_types() -> None:
    def one(x: Float32["n"]) -> Float32["n"]:
        return op.Relu(x)

    def two(x: Float32["n"]) -> tuple[Float32["n"], Int64]:
        return op.Relu(x), op.Shape(x)

    def named(x: Float32["n"]) -> {"y": Float32["n"], "size": Int64[1]}:
        return op.Relu(x), op.Shape(x)

    def reordered(x: Float32["n"]) -> {"y": Float32["n"], "size": Int64[1]}:
        return {"size": op.Shape(x), "y": op.Relu(x), "more": op.Abs(x)}

    def missing(x: Float32["n"]) -> {"y": Float32["n"], "size": Int64[1]}:
        return {"size": op.Shape(x)}

    got = [(v.name, str(v.type)) for v in build(reordered).graph.outputs]
    assert got == [("size", "int64[1]"), ("y", "float32[n]"), ("more", "None")]
    with pytest.raises(BuildError, match="output 'y' is not returned"):
        build(missing)
    assert build(one).graph.outputs[0].type == Float32["n"]
    assert [str(value.type) for value in build(two).graph.outputs] == ["float32[n]", "int64[...]"]
    assert [(v.name, str(v.type)) for v in build(named).graph.outputs] == [("y", "float32[n]"), ("size", "int64[1]")]


def test_an_annotation_for_type_checkers_declares_nothing() -> None:
    def fn(x: Var) -> Var:
        return op.Relu(x)

    def several(x: Var) -> tuple[Var, ...]:
        return op.Relu(x), x

    assert build(fn, Float32["n"]).graph.outputs[0].type is None
    assert len(build(several, Float32["n"]).graph.outputs) == 2


def test_a_return_annotation_that_is_not_so_is_refused() -> None:
    def wrong(x: Float32["n"]) -> Int64["n"]:
        return x + 1

    def more(x: Float32["n"]) -> tuple[Float32["n"], Float32["n"]]:
        return x + 1

    with pytest.raises(BuildError, match=r"'add' is float32\[n\], declared as int64\[n\]"):
        build(wrong)
    with pytest.raises(BuildError, match="2 types for 1 results"):
        build(more)


def test_an_output_name_wins_over_a_name_that_was_only_free() -> None:
    model = build(lambda x: (op.Relu(x) - bias, op.Abs(x)), Float32[2], outputs=["relu", "sub"])
    assert [v.name for node in model.graph for v in node.outputs] == ["relu_1", "relu", "sub"]
    with pytest.raises(BuildError, match="output 'x' has the name of an input"):
        build(lambda x: x + 1, Float32["n"], outputs=["x"])
    model = build(lambda x: x + bias, Float32[2], outputs=["bias"])
    assert list(model.graph.initializers) == ["bias_1"]


def test_inputs_constants_and_repeated_values_are_returned_through_identity(run: Run) -> None:
    def fn(x):
        y = x + 1
        return x, y, y, bias, 3.0

    model = build(fn, Float32["n"], opset=20)
    assert ops(model) == ["Add", "Identity", "Identity", "Identity", "Identity"]
    x = f32([1, 2])
    for got, want in zip(run(model, x=x), [x, x + 1, x + 1, bias, np.float32(3)], strict=True):
        np.testing.assert_array_equal(got, want)


def test_an_array_as_default_is_an_input_with_an_initialiser(run: Run) -> None:
    @build(opset=20)
    def model(x: Float32["n", 2], w: Float32[2] = bias, scale: Float32[()] = 2.0, shift=f32([7])):
        return x * w * scale + shift

    assert model.graph.inputs.names == ["x", "w", "scale", "shift"]
    assert [value.name for value in model.inputs] == ["x"]
    assert set(model.graph.initializers) == {"w", "scale", "shift"}
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(run(model, x=x)[0], x * bias * 2 + 7)
    np.testing.assert_array_equal(run(model, x=x, scale=np.float32(3))[0], x * bias * 3 + 7)
    with pytest.raises(BuildError, match=r"the default of 'w' is float32\[2\], declared as float32\[n, 2\]"):

        @build
        def other(x: Float32[2], w: Float32["n", 2] = bias):
            return x + w

    with pytest.raises(BuildError, match=r"the default of 'w' is float64\[2\], declared as float32\[2\]"):

        @build
        def wrong(x: Float32[2], w: Float32[2] = np.ones(2)):
            return x + w


def test_other_defaults_stay_what_they_are() -> None:
    def fn(x: Float32["n"], times=3, bias: Float32["n"] = None, *, negate: bool = False):
        assert times == 3
        assert bias is None or isinstance(bias, Var)
        for _ in range(times):
            x = x * 2 if bias is None else x + bias
        return -x if negate else x

    assert ops(build(fn)) == ["Mul"] * 3
    model = build(fn, inputs={"bias": Float32["n"]})
    assert ops(model) == ["Add"] * 3
    assert model.graph.inputs.names == ["x", "bias"]


def test_keyword_only_parameters_are_inputs_too() -> None:
    @build
    def model(x: Float32["n"], /, *, y: Float32["n"]):
        return x - y

    assert model.graph.inputs.names == ["x", "y"]


def test_equal_arrays_are_stored_once_and_named_ones_by_identity() -> None:
    twin = bias.copy()

    def fn(x):
        x = x + bias + bias
        x = x + twin
        x = x * f32([5, 6]) + f32([5, 6])
        return x + 1 + 1.0

    model = build(fn, Float32[2])
    assert [v.name for v in model.graph.initializers.values()] == ["bias", "twin", "constant", "constant_1"]


def test_large_unnamed_arrays_are_not_compared() -> None:
    def fn(x):
        large = np.zeros(1000, np.float32)
        return x + large + large + np.zeros(1000, np.float32)

    assert len(build(fn, Float32[1000]).graph.initializers) == 2


def test_constants_keep_the_name_of_their_tensor() -> None:
    weights = [Tensor(bias, name="layer/weight")]
    model = build(lambda x: x + weights[0], Float32[2])
    assert list(model.graph.initializers) == ["layer/weight"]


def test_constants_of_nested_functions_and_closures_are_named() -> None:
    table = np.arange(3)

    def make():
        def helper(x):
            return op.Gather(table, x)

        return build(lambda x: op.If(x > 0, then=lambda: helper(x) * factor[0], else_=lambda: x), Int64[()])

    factor = [np.int64(2)]
    assert "constant" in make().graph.initializers
    assert (
        "table"
        in build(
            lambda x: op.If(x > 0, then=lambda: op.Gather(table, x), else_=lambda: x), Int64[()]
        ).graph.initializers
    )


def test_large_initialisers_share_the_callers_memory() -> None:
    large = np.zeros(1000, np.float32)
    constant = build(lambda x: x + large, Float32[1000]).graph.initializers["large"].constant
    assert isinstance(constant, Tensor)
    assert np.shares_memory(constant.numpy(), large)


def test_a_small_array_is_what_it_was_when_it_was_used(run: Run) -> None:
    def fn(x):
        buffer = np.zeros(2, np.float32)
        for i in range(3):
            buffer[:] = i
            x = x + buffer
        return x

    assert run(build(fn, Float32[2], opset=20), x=f32([0, 1]))[0].tolist() == [3, 4]


def test_inputs_may_be_sequences_and_optionals(run: Run) -> None:
    @build(opset=20)
    def model(items: Sequence[Float32["n"]], maybe: Optional[Float32["n"]]):
        return op.SequenceLength(items), items[0] + items[-1], op.OptionalHasElement(maybe)

    two = [f32([1]), f32([2])]
    got = run(model, items=two, maybe=f32([1]))
    assert [np.asarray(item).tolist() for item in got] == [2, [3], True]


def test_omitted_inputs_and_several_results(run: Run) -> None:
    def fn(x):
        low = op.Clip(x, None, 3.0)
        a, b, c = op.Split(low, outputs=3, num_outputs=3, name="parts")
        values, _, inverse = op.Unique(x, outputs=["kept", None, "inverse"])
        return a - b + c, op.Gather(values, inverse), op.Clip(x, None, None)

    model = build(fn, Float32[3], opset=20)
    clip, split, unique, *_, last = model.graph.nodes
    assert clip.inputs[1] is None
    assert len(last.inputs) == 1
    assert (split.name, [v.name for v in split.outputs]) == ("parts", ["parts_0", "parts_1", "parts_2"])
    assert [v.name for v in unique.outputs] == ["kept", "", "inverse"]
    got = run(model, x=f32([1, 2, 4]))
    assert [item.tolist() for item in got] == [[2.0], [1.0, 2.0, 4.0], [1.0, 2.0, 4.0]]


def test_name_is_a_stem() -> None:
    model = build(lambda x: op.Relu(op.Relu(x, name="act"), name="act"), Float32["n"])
    assert [(node.name, node.output.name) for node in model.graph] == [("act", "act"), ("act", "act_1")]


def test_other_domains_are_imported_as_declared_or_in_version_1() -> None:
    def fn(x):
        y = op.domain("com.microsoft").Gelu(x)
        y = op.domain("custom")["odd-name"](y)
        y = op.domain("ai.onnx").Relu(y)
        return op.domain("ai.onnx.ml").Normalizer(y)

    model = build(fn, Float32["n"], opset=20, opsets={"com.microsoft": 3, "unused": 2})
    assert model.opset_imports == {"": 20, "com.microsoft": 3, "unused": 2, "custom": 1, "ai.onnx.ml": 4}
    assert [node.domain for node in model.graph] == ["com.microsoft", "custom", "", "ai.onnx.ml"]


def test_attributes_of_every_kind(run: Run) -> None:
    def fn(x):
        y = op.Cast(x, to=Float64)
        y = op.Cast(y, to=np.float32, saturate=None)
        y = op.Cast(y, to=DType.FLOAT32)
        y = op.Cast(y, to=np.dtype("float32"))
        y = op.Transpose(y, perm=[1, 0])
        y = op.LeakyRelu(y, alpha=0.5)
        z = op.Constant(value=f32([2]))
        empty = op.Optional(type=Float32["n"])
        return y * z, op.OptionalHasElement(empty)

    model = build(fn, Float32[2, 2], opset=20)
    x = f32([[1, -2], [3, -4]])
    got = run(model, x=x)
    np.testing.assert_array_equal(got[0], [[2, 6], [-2, -4]])
    assert "saturate" not in model.graph.nodes[1]


def test_locations_are_noted_only_when_asked_for() -> None:
    def fn(x):
        return op.Relu(x)

    line = fn.__code__.co_firstlineno + 1
    (node,) = build(fn, Float32["n"], locations=True).graph.nodes
    assert node.metadata == {"location": f"{__file__}:{line}"}
    assert not build(fn, Float32["n"]).graph.nodes[0].metadata


def test_a_model_may_be_built_while_another_is() -> None:
    def outer(x):
        inner = build(lambda y: op.Exp(y), Float32["n"])
        assert ops(inner) == ["Exp"]
        return op.Log(x)

    assert ops(build(outer, Float32["n"])) == ["Log"]


def test_methods_and_partials_can_be_built() -> None:
    class Layer:
        def __init__(self) -> None:
            self.weight = bias

        def __call__(self, x: Float32[2]):
            return x * self.weight

        def forward(self, x: Float32[2]):
            return x + self.weight

    assert ops(build(Layer().forward)) == ["Add"]
    assert ops(build(Layer())) == ["Mul"]
    assert ops(build(partial(lambda k, x: x * k, 2.0), Float32[2])) == ["Mul"]
