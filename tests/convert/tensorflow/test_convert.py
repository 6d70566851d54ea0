"""SavedModels and functions: application-style models, control flow, names, sizes, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

import ingot
from ingot.convert import Request, Source, converted
from ingot.convert.api import in_versions
from ingot.convert.verify import verify
from ingot.errors import ConvertError, InputError

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

layers = keras.layers
FLOAT = np.float32
F = TypeVar("F", bound=Callable[..., Any])


def traced(*specs: Any) -> Callable[[F], F]:
    """tf.function, for the inputs given or for whatever it is called with."""

    def made(function: F) -> F:
        result: F = tf.function(function, input_signature=list(specs) or None)
        return result

    return made


def resnet() -> Any:
    def block(x: Any, filters: int, stride: int) -> Any:
        y = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(y))
        if stride != 1:
            x = layers.Conv2D(filters, 1, strides=stride)(x)
        return layers.ReLU()(layers.Add()([x, y]))

    image = layers.Input((16, 16, 3))
    x = layers.MaxPooling2D(3, 2, padding="same")(layers.Conv2D(4, 7, strides=2, padding="same")(image))
    x = layers.GlobalAveragePooling2D()(block(block(x, 4, 1), 8, 2))
    return keras.Model(image, layers.Dense(5, activation="softmax")(x))


def mobilenet() -> Any:
    image = layers.Input((None, None, 3))
    x = layers.ReLU(6.0)(layers.Conv2D(4, 3, strides=2, padding="same")(image))
    x = layers.BatchNormalization()(layers.DepthwiseConv2D(3, strides=2, padding="same")(x))
    x = layers.SeparableConv2D(8, 3, padding="same")(layers.Activation("hard_swish")(x))
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="same")(layers.UpSampling2D(2)(x))
    return keras.Model(image, layers.Conv2D(3, 1)(layers.GlobalAveragePooling2D(keepdims=True)(x)))


def text_classifier() -> Any:
    words = layers.Input((None,), dtype="string")
    x = layers.StringLookup(vocabulary=["good", "bad", "film", "a"])(words)
    x = layers.Bidirectional(layers.LSTM(3))(layers.Embedding(6, 4)(x))
    return keras.Model(words, layers.Dense(1, activation="sigmoid")(x))


def transformer() -> Any:
    tokens = layers.Input((None,), dtype="int32")
    x = layers.Embedding(12, 8)(tokens)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True))
    x = layers.LayerNormalization()(x + layers.Dense(8)(layers.Dense(16, activation="gelu")(x)))
    return keras.Model(tokens, layers.Dense(12)(x))


def several_inputs() -> Any:
    numbers = layers.Input((4,), name="numbers")
    words = layers.Input((None,), dtype="int32", name="words")
    image = layers.Input((6, 6, 1), name="image")
    parts = [
        layers.Dense(3)(numbers),
        layers.GlobalMaxPooling1D()(layers.Embedding(10, 3)(words)),
        layers.Flatten()(layers.Conv2D(2, 3)(image)),
    ]
    x = layers.Concatenate()(parts)
    return keras.Model([numbers, words, image], {"score": layers.Dense(2)(x), "extra": layers.Dense(1)(x)})


@pytest.fixture(scope="module")
def source_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[], Any]], Source]:
    """What the SavedModel of an application-style model is converted to, each once."""
    from ingot.convert.tensorflow import convert_tensorflow

    @cache
    def source(build: Callable[[], Any]) -> Source:
        keras.utils.set_random_seed(0)
        path = tmp_path_factory.mktemp(build.__name__)
        build().export(os.fspath(path), verbose=False)
        return convert_tensorflow(path, None, Request())

    return source


def in_onnxruntime(model: ingot.Model, feeds: dict[str, Any], path: Path) -> list[Any]:
    engine = pytest.importorskip("onnxruntime")
    ingot.save(model, path)
    found: list[Any] = engine.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    return found


@pytest.mark.parametrize("build", [resnet, mobilenet, text_classifier, transformer, several_inputs])
def test_saved_models_verify_and_agree_in_onnxruntime_at_opset_18(
    build: Callable[[], Any], source_of: Callable[..., Source], tmp_path: Path
) -> None:
    source = source_of(build)
    made = in_versions(source.model, 18)
    assert made.opset == 18
    assert verify(source, made).examples > 1
    for feeds in source.examples[:2]:
        for wanted, found in zip(
            source.original(feeds), in_onnxruntime(made, feeds, tmp_path / "model.onnx"), strict=True
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_sizes_that_are_not_known_are_symbols_and_channels_last_costs_one_transpose(
    source_of: Callable[..., Source],
) -> None:
    made = source_of(resnet).model
    assert [str(value.type) for value in made.inputs] == ["float32[batch, 16, 16, 3]"]
    assert [str(value.type) for value in made.outputs] == ["float32[batch, 5]"]
    assert [node.op_type for node in made.graph].count("Transpose") == 1


def test_first_axes_that_the_original_only_takes_alike_are_one_batch(source_of: Callable[..., Source]) -> None:
    made = source_of(several_inputs).model
    assert {str(value.type) for value in made.outputs} == {"float32[batch, 2]", "float32[batch, 1]"}
    assert [value.name for value in made.outputs] == ["extra", "score"]


def test_a_recurrent_layer_is_a_loop_of_known_length_that_stacks_its_own_results() -> None:
    layer = layers.LSTM(4, return_sequences=True)
    layer.build((None, 5, 3))
    function = tf.function(layer.call, input_signature=[tf.TensorSpec([None, 5, 3], tf.float32)])
    made = ingot.convert(function)
    [loop] = [node for node in made.graph if node.applies("Loop")]
    assert len(loop.inputs) == 4  # the number of turns, a condition that always holds, and two states
    assert len(loop.outputs) == 3
    assert str(made.outputs[0].type) == "float32[batch, 5, 4]"


@traced()
def branches(rows: Any) -> Any:
    total = tf.zeros_like(rows[0])
    for at in tf.range(tf.shape(rows)[0]):
        if rows[at, 0] > 0.0:
            total += rows[at]
        else:
            total -= rows[at] * 0.5
    return total


@traced()
def until_large(x: Any) -> Any:
    return tf.while_loop(
        lambda i, y: tf.logical_and(i < 10, tf.reduce_max(y) < 50.0), lambda i, y: (i + 2, y * 1.7), [0, x]
    )


@traced()
def nested(x: Any) -> Any:
    out = tf.zeros_like(x)
    for i in tf.range(3):
        for j in tf.range(i + 1):
            out += x * tf.cast(i * j, tf.float32)
            if tf.reduce_sum(out) > 5.0:
                break
    return out


@traced()
def growing(x: Any) -> Any:
    written = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    at = 0
    while tf.reduce_sum(x) < 10.0:
        x = x + 1.0
        written = written.write(at, x)
        at += 1
    return written.stack(), at


@traced()
def backwards(x: Any) -> Any:
    written = tf.TensorArray(tf.float32, size=5)
    for i in tf.range(5):
        written = written.write(4 - i, x + tf.cast(i, tf.float32))
    return written.stack()


@traced()
def mapped(x: Any) -> Any:
    return tf.map_fn(lambda row: tf.cond(tf.reduce_sum(row) > 0, lambda: row * 2, lambda: -row), x)


@traced()
def scanned(x: Any) -> Any:
    return tf.scan(lambda total, row: total * 0.5 + row, x)


@traced()
def longer(x: Any) -> Any:
    y = x
    for _ in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None, 3]))])
        y = tf.concat([y, x], 0)
    return y


@pytest.mark.parametrize("function", [branches, until_large, nested, growing, backwards, mapped, scanned, longer])
def test_control_flow_verifies_and_agrees_in_onnxruntime(function: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(FLOAT)
    made, _ = converted(function, (x,), Request(opset_version=18))
    wanted = [each.numpy() for each in tf.nest.flatten(function(x))]
    feeds = {made.inputs[0].name: x}
    for one, other in zip(wanted, in_onnxruntime(made, feeds, tmp_path / "model.onnx"), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


def test_a_loop_over_an_open_axis_takes_its_turns_from_the_shape() -> None:
    x = np.ones((4, 3), FLOAT)
    made = ingot.convert(branches, (x,), dynamic_axes={"rows": {0: "rows"}})
    assert str(made.inputs[0].type) == "float32[rows, 3]"
    [found] = ingot.Session(made).run(None, {"rows": np.ones((7, 3), FLOAT)})
    assert found.tolist() == [7.0, 7.0, 7.0]


def test_arithmetic_on_shapes_becomes_what_reshape_says_by_itself() -> None:
    @traced(tf.TensorSpec([None, 4, 6], tf.float32))
    def heads(x: Any) -> Any:
        sizes = tf.shape(x)
        return tf.reshape(x, [sizes[0], sizes[1], 2, 3])

    made = ingot.convert(heads)
    assert [node.op_type for node in made.graph] == ["Reshape"]
    assert str(made.outputs[0].type) == "float32[batch, 4, 2, 3]"


class Scaled(tf.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable(np.eye(3, dtype=FLOAT) * 2, name="weight")
        self.bias = tf.Variable(np.ones(3, FLOAT), name="bias")

    @traced(tf.TensorSpec([None, 3], tf.float32, name="rows"))
    def score(self, rows: Any) -> Any:
        return {"score": tf.matmul(rows, self.weight) + self.bias, "twice": tf.matmul(rows, self.weight)}

    @traced(tf.TensorSpec([], tf.float32))
    def half(self, number: Any) -> Any:
        return {"half": number / 2.0}

    def __call__(self, x: Any) -> Any:
        return tf.matmul(x, self.weight)


def test_signatures_name_inputs_and_outputs_and_variables_keep_their_names(tmp_path: Path) -> None:
    module = Scaled()
    tf.saved_model.save(module, tmp_path / "saved", signatures={"score": module.score, "half": module.half})
    made = ingot.convert(tmp_path / "saved", signature="score")
    assert [value.name for value in made.inputs] == ["rows"]
    assert [value.name for value in made.outputs] == ["score", "twice"]
    assert sorted(made.graph.initializers) == ["bias", "weight"]
    with pytest.raises(InputError, match="2 signatures"):
        ingot.convert(tmp_path / "saved")
    with pytest.raises(InputError, match="no signature 'scores'"):
        ingot.convert(tmp_path / "saved", signature="scores")


def test_modules_concrete_functions_and_loaded_models_are_taken(tmp_path: Path) -> None:
    module = Scaled()
    x = np.ones((2, 3), FLOAT)
    tf.saved_model.save(module, tmp_path / "saved", signatures=module.score)
    loaded = tf.saved_model.load(tmp_path / "saved")
    for model, example in (
        (module, x),
        (tf.function(module.score).get_concrete_function(tf.TensorSpec([None, 3], tf.float32)), None),
        (loaded, None),
        (loaded.signatures["serving_default"], {"rows": x}),
    ):
        made = ingot.convert(model, example)
        assert ingot.Session(made).run(None, {made.inputs[0].name: x})[0].shape == (2, 3)


def test_names_can_be_given() -> None:
    module = Scaled()
    made = ingot.convert(module.score, input_names=["in"], output_names=["a", "b"])
    assert [value.name for value in (*made.inputs, *made.outputs)] == ["in", "a", "b"]


def test_a_dict_is_keywords_where_the_function_has_them_and_else_an_argument() -> None:
    @traced()
    def summed(parts: Any) -> Any:
        return {"sum": parts["a"] + parts["b"]}

    @traced()
    def both(a: Any, b: Any) -> Any:
        return {"sum": a + b}

    example = {"a": np.ones(3, FLOAT), "b": np.full(3, 2, FLOAT)}
    for function in (summed, both):
        made = ingot.convert(function, example)
        feeds = dict(zip((value.name for value in made.inputs), example.values(), strict=True))
        assert ingot.Session(made).run(["sum"], feeds)[0].tolist() == [3.0, 3.0, 3.0]


def test_an_example_that_does_not_fit_is_refused() -> None:
    module = Scaled()
    with pytest.raises(InputError, match="'rows' has shape"):
        ingot.convert(module.score, np.ones((2, 4), FLOAT))
    with pytest.raises(InputError, match="2 tensors, the model takes 1"):
        ingot.convert(module.score, (np.ones((2, 3), FLOAT), np.ones(3, FLOAT)))
    with pytest.raises(InputError, match="needs an example"):
        ingot.convert(tf.function(lambda x: x + 1))


def test_everything_without_a_rule_is_listed_with_the_line_it_comes_from() -> None:
    @traced()
    def odd(x: Any) -> Any:
        return tf.linalg.inv(x), tf.random.uniform([3]) + x, tf.math.bessel_i0(x)

    with pytest.raises(ConvertError) as caught:
        ingot.convert(odd, np.eye(3, dtype=FLOAT))
    assert caught.value.message == "3 pieces of the TensorFlow model cannot be converted"
    inverse, uniform, bessel = caught.value.where
    assert "MatrixInverse: factors matrices" in inverse
    assert f"{__file__}:" in inverse
    assert "RandomUniform: draws random numbers" in uniform
    assert "BesselI0: no rule for it" in bessel
    assert caught.value.hint == "give the rule of 'BesselI0' in custom_translation_table"


def test_a_rule_of_ones_own_is_used() -> None:
    from ingot.builder import Var, op

    def bessel(_: Any, x: Var) -> Var:
        squares = op.Mul(x, x)
        return op.Add(np.float32(1), op.Div(squares, np.float32(4)))

    @traced()
    def near_zero(x: Any) -> Any:
        return tf.math.bessel_i0(x)

    made = ingot.convert(near_zero, np.full(3, 0.01, FLOAT), custom_translation_table={"BesselI0": bessel})
    assert [node.op_type for node in made.graph] == ["Mul", "Div", "Add"]


def test_a_function_that_changes_a_variable_is_refused() -> None:
    count = tf.Variable(0.0)

    @traced()
    def counting(x: Any) -> Any:
        count.assign_add(1.0)
        return x * count

    with pytest.raises(ConvertError) as caught:
        ingot.convert(counting, np.ones(3, FLOAT))
    assert "AssignAddVariableOp: changes a variable" in caught.value.where[0]


def test_a_function_that_calls_back_into_python_is_refused_before_it_is_run() -> None:
    called = []

    def noted(array: Any) -> Any:
        called.append(array)
        return array

    @traced()
    def calls(x: Any) -> Any:
        return tf.numpy_function(noted, [x], tf.float32)

    with pytest.raises(ConvertError, match="cannot be converted"):
        ingot.convert(calls, np.ones(3, FLOAT))
    assert called == []


def test_a_saved_model_that_would_write_a_file_as_it_is_loaded_is_not_loaded(tmp_path: Path) -> None:
    target = tmp_path / "written"

    class Table(tf.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(tf.constant(["a"]), tf.constant([1], tf.int64)), 0
            )
            plain = self.table._initialize

            def initialize() -> Any:
                tf.io.write_file(os.fspath(target), "from outside")
                return plain()

            self.table._initialize = initialize

        @traced(tf.TensorSpec([None], tf.string))
        def __call__(self, x: Any) -> Any:
            return self.table.lookup(x)

    tf.saved_model.save(Table(), tmp_path / "saved")
    target.unlink(missing_ok=True)
    with pytest.raises(ConvertError) as caught:
        ingot.convert(tmp_path / "saved")
    assert "WriteFile: loading the SavedModel would run it" in caught.value.where[0]
    assert not target.exists()


def test_a_directory_that_is_no_saved_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConvertError, match="no kind of file"):
        ingot.convert(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff\xff not a model")
    with pytest.raises(InputError, match="no SavedModel that can be read"):
        ingot.convert(tmp_path)


def test_the_first_value_that_differs_is_named() -> None:
    from ingot.builder import Var, op

    def wrong(_: Any, x: Var) -> Var:
        return op.Tanh(x)

    @traced()
    def chain(x: Any) -> Any:
        return tf.sqrt(tf.sigmoid(tf.square(x, name="squares"), name="squashed"), name="rooted")

    with pytest.raises(ingot.VerifyError) as caught:
        ingot.convert(chain, np.ones(3, FLOAT), custom_translation_table={"Sigmoid": wrong})
    assert "the first value that differs is 'squashed'" in caught.value.where[1]


def test_the_command_converts_a_saved_model(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from ingot.cli.main import main

    module = Scaled()
    tf.saved_model.save(module, tmp_path / "saved", signatures=module.score)
    output = tmp_path / "model.onnx"
    result = CliRunner().invoke(main, ["convert", os.fspath(tmp_path / "saved"), "-o", os.fspath(output)])
    assert result.exit_code == 0, result.output
    assert output.exists()
    assert "takes rows: float32[batch, 3]" in result.output
