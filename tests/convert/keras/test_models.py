"""Models of Keras: whole networks, files, names, what is refused, layers of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    keras = pytest.importorskip("keras")
    pytest.importorskip("tensorflow")

from click.testing import CliRunner
from keras import Model
from keras import layers as L  # noqa: N812

import ingot
from convert.keras.cases import TEXTS, WORDS, filled, one
from ingot.builder import op
from ingot.cli.main import main
from ingot.convert import Request, converted
from ingot.convert.api import in_versions
from ingot.convert.keras import Conversion, convert_keras, register
from ingot.convert.verify import verify
from ingot.errors import ConvertError, InputError, VerifyError

pytestmark = pytest.mark.filterwarnings("ignore")


def equal(model: Any, example: Any = None, **named: Any) -> ingot.Model:
    """The converted model, which verification has found equal."""
    made, report = converted(model, example, Request(**named))
    assert report is not None
    return made


def kinds(model: ingot.Model) -> list[str]:
    return [node.op_type for node in model.graph]


def equal_in_onnxruntime(model: Any, example: Any = None) -> ingot.Model:
    """The same in an old opset, which onnxruntime reads and finds equal too."""
    onnxruntime = pytest.importorskip("onnxruntime")
    source = convert_keras(model, example, Request())
    made = in_versions(source.model, 18)
    verify(source, made)
    session = onnxruntime.InferenceSession(ingot.encode(made))
    for feeds in source.examples:
        for found, wanted in zip(session.run(None, feeds), source.original(feeds), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    return made


def settled(model: Any) -> Any:
    """A network as after training: statistics of some kind, other weights as they were made."""
    generator = np.random.default_rng(0)
    for variable in model.variables:
        if variable.name in ("moving_variance", "gamma"):
            variable.assign(generator.uniform(0.7, 1.3, variable.shape))
        elif variable.name in ("moving_mean", "beta"):
            variable.assign(generator.normal(0, 0.2, variable.shape))
    return model


def transformer() -> Any:
    x = keras.Input((None,), dtype="int32", name="tokens")
    y = L.Embedding(50, 16, mask_zero=True)(x)
    seen = L.MultiHeadAttention(4, 4, dropout=0.1)(y, y, use_causal_mask=True)
    y = L.LayerNormalization()(y + L.Dropout(0.1)(seen))
    wide = L.Dense(32, activation="gelu")(y)
    y = L.LayerNormalization()(y + L.Dense(16)(wide))
    return filled(keras.Model(x, L.Dense(3, activation="softmax", name="kind")(L.GlobalAveragePooling1D()(y))))


def many_inputs() -> Any:
    image, row = keras.Input((8, 8, 3), name="image"), keras.Input((5,), name="row")
    word = keras.Input((1,), dtype="string", name="word")
    seen = L.Flatten()(L.Conv2D(4, 3, activation="relu")(L.Rescaling(1 / 255)(image)))
    told = L.Flatten()(L.Embedding(7, 4)(L.StringLookup(vocabulary=WORDS)(word)))
    shared = L.Dense(6, activation="tanh")
    both = L.Concatenate()([shared(seen), shared(L.Dense(144)(row)), told])
    outputs = {"price": L.Dense(1)(both), "kind": L.Dense(3, activation="softmax")(both)}
    return filled(keras.Model({"image": image, "row": row, "word": word}, outputs))


@pytest.mark.parametrize(
    "build",
    [
        lambda: keras.applications.ResNet50(include_top=False, weights=None, input_shape=(32, 32, 3), pooling="avg"),
        lambda: keras.applications.MobileNetV3Small(include_top=False, weights=None, input_shape=(64, 64, 3)),
    ],
    ids=["ResNet", "MobileNet"],
)
def test_an_image_network_transposes_where_images_come_in_and_go_out_only(build: Any) -> None:
    model = settled(build())
    made = equal_in_onnxruntime(model)
    assert kinds(made).count("Transpose") == 1 + (len(model.output_shape) == 4)


def test_flattened_channels_are_read_by_weights_in_the_other_order() -> None:
    model = filled(
        keras.Sequential(
            [keras.Input((12, 12, 3)), L.Conv2D(4, 3), L.MaxPooling2D(), L.Flatten(), L.Dropout(0.5), L.Dense(3)]
        )
    )
    assert kinds(equal(model)) == ["Transpose", "Conv", "MaxPool", "Flatten", "Gemm"]


def test_a_channels_first_network_transposes_nothing() -> None:
    model = one(L.MaxPooling2D(data_format="channels_first"), 3, 8, 8)
    assert kinds(equal(model)) == ["MaxPool"]


def test_a_text_classifier_takes_words() -> None:
    words = keras.Input((None,), dtype="string", name="words")
    y = L.Embedding(8, 6, mask_zero=True)(L.StringLookup(vocabulary=WORDS, mask_token="")(words))
    model = filled(keras.Model(words, L.Dense(1, activation="sigmoid")(L.Bidirectional(L.LSTM(5))(y))))
    example = np.array([["apple", "fig", "", ""], ["what", "plum", "pear", ""]], object)
    assert "LSTM" in kinds(equal_in_onnxruntime(model, example))


def test_a_text_classifier_takes_whole_texts() -> None:
    text = L.TextVectorization(vocabulary=WORDS, output_sequence_length=6)
    parts = [keras.Input((1,), dtype="string"), text, L.Embedding(8, 6, mask_zero=True), L.LSTM(5), L.Dense(1)]
    equal(filled(keras.Sequential(parts)), TEXTS)


def test_a_transformer_takes_any_length() -> None:
    made = equal_in_onnxruntime(transformer())
    assert made.graph.inputs[0].name == "tokens"
    assert str(made.graph.inputs[0].type) == "int32[batch, tokens_1]"
    assert made.graph.outputs.names == ["kind"]


def test_a_model_of_several_inputs_and_outputs_has_their_names() -> None:
    made = equal_in_onnxruntime(many_inputs())
    assert [value.name for value in made.graph.inputs] == ["image", "row", "word"]
    assert made.graph.outputs.names == ["kind", "price"]


def test_a_layer_that_is_called_twice_has_its_weights_once() -> None:
    x, layer = keras.Input((4,)), L.Dense(4, name="shared")
    made = equal(filled(keras.Model(x, layer(layer(x)))))
    assert {value.name for value in made.graph.initializers.values()} == {"shared/kernel", "shared/bias"}


def test_models_in_models_are_followed() -> None:
    inner = keras.Sequential([keras.Input((4,)), L.Dense(5, activation="relu"), L.Dense(4)], name="inner")
    x = keras.Input((4,))
    made = equal(filled(keras.Model(x, inner(inner(x)) + x)))
    assert sum(value.name.endswith("kernel") for value in made.graph.initializers.values()) == 2
    assert [node.name.partition("/")[0] for node in made.graph][:3] == ["inner"] * 3


def test_weights_are_named_after_their_layer() -> None:
    x = keras.Input((4,), name="x")
    made = equal(keras.Model(x, L.Dense(2, name="head")(x)))
    assert {value.name for value in made.graph.initializers.values()} == {"head/kernel", "head/bias"}
    assert [node.name for node in made.graph] == ["head/Gemm"]


def test_names_sizes_and_opset_are_as_asked_for() -> None:
    model = one(L.LSTM(3), None, 4)
    axes = {"steps": {0: "rows", 1: "time"}}
    made = equal(model, opset_version=17, input_names=("steps",), output_names=("state",), dynamic_axes=axes)
    assert str(made.graph.inputs[0].type) == "float32[rows, time, 4]"
    assert made.graph.outputs.names == ["state"]
    assert made.opset == 17
    with pytest.raises(InputError, match="axis 2 of input 'steps' is 4 in the model"):
        equal(model, input_names=("steps",), dynamic_axes={"steps": {2: "width"}})


def test_the_states_of_a_stateful_layer_come_in_and_go_out() -> None:
    model = one(L.GRU(3, stateful=True, name="gru"), 5, 4, batch=2)
    made = equal(model)
    assert [value.name for value in made.graph.inputs][1:] == ["gru/state_0"]
    assert made.graph.outputs.names == ["gru", "gru/state_0/next"]
    session = ingot.Session(made)
    halves = np.random.default_rng(0).normal(size=(2, 2, 5, 4)).astype(np.float32)
    state = np.zeros((2, 3), np.float32)
    for half in halves:
        last, state = session.run(None, {made.graph.inputs[0].name: half, "gru/state_0": state})
    model.layers[-1].reset_state()
    for half in halves:
        wanted = model(half)
    np.testing.assert_allclose(last, np.asarray(wanted), rtol=1e-5, atol=1e-6)


def test_half_precision_is_kept() -> None:
    parts = [keras.Input((6,)), L.Dense(4, dtype="mixed_float16"), L.Dense(2, dtype="float32")]
    assert kinds(equal(filled(keras.Sequential(parts)))) == ["Cast", "Gemm", "Cast", "Gemm"]


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "float64"])
def test_a_network_is_computed_in_the_precision_that_it_has(policy: str) -> None:
    x = keras.Input((8, 8, 3))
    y = L.BatchNormalization(dtype=policy)(L.Conv2D(4, 3, dtype=policy, activation="relu")(x))
    y = Scale(dtype=policy)(L.GlobalAveragePooling2D(dtype=policy)(y))
    made = equal(filled(keras.Model(x, L.Dense(2, dtype=policy)(y))))
    assert str(made.graph.outputs[0].type).startswith(policy.removeprefix("mixed_"))


def test_operations_between_layers_are_followed() -> None:
    x = keras.Input((6, 4))
    y = keras.ops.concatenate([x[:, :3] * 2, keras.ops.flip(x[:, 3:], axis=1)], axis=1)
    y = keras.ops.where(y > 0, keras.ops.sqrt(keras.ops.abs(y)), keras.ops.exp(y) - 1)
    y = keras.ops.einsum("bij,bkj->bik", y, y) / keras.ops.sum(keras.ops.square(y), axis=(1, 2), keepdims=True)
    y = keras.ops.reshape(keras.ops.transpose(y, (0, 2, 1)), (-1, 36))
    values, places = keras.ops.top_k(y, 3)
    equal(keras.Model(x, [values, places, keras.ops.argmax(y, axis=-1), keras.ops.cumsum(y, axis=1)]))


class Scale(L.Layer):  # type: ignore[misc]
    """A layer that uses keras.ops."""

    def build(self, shape: Any) -> None:
        self.factor = self.add_weight(shape=(shape[-1],), name="factor")

    def call(self, x: Any) -> Any:
        return keras.ops.tanh(x) * self.factor


class Odd(L.Layer):  # type: ignore[misc]
    """A layer that uses what only TensorFlow has."""

    def call(self, x: Any) -> Any:
        import tensorflow as tf

        return tf.math.igamma(tf.abs(x) + 1.0, tf.abs(x))

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


class Network(Model):  # type: ignore[misc]
    """A model that is code."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = L.Dense(5), Scale()

    def call(self, x: Any, training: bool = False) -> Any:
        y = self.first(x)
        if training:
            y = y * 2
        return {"sum": self.last(y) + keras.ops.mean(y, axis=-1, keepdims=True), "y": y}


def test_a_layer_of_ones_own_is_followed_through_keras_ops() -> None:
    made = equal(one(Scale(name="scale"), 6))
    assert kinds(made) == ["Tanh", "Mul"]
    assert "scale/factor" in {value.name for value in made.graph.initializers.values()}


def test_a_model_that_is_code_is_followed_through_its_call() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    made = equal(Network(), rows)
    assert made.graph.inputs[0].name == "x"
    assert kinds(made).count("Gemm") == 1
    with pytest.raises(InputError, match="what the Network takes is not known"):
        ingot.convert(Network())


class Rounded(L.Layer):  # type: ignore[misc]
    """A layer of TensorFlow's operators."""

    def call(self, x: Any) -> Any:
        import tensorflow as tf

        return tf.math.rint(x * 3)


def test_code_of_tensorflow_goes_by_way_of_its_graph() -> None:
    class Rounding(Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.last = L.Conv2D(4, 3, padding="same"), Rounded()

        def call(self, x: Any) -> Any:
            return self.last(self.conv(x))

    made = equal(Rounding(), np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32))
    assert kinds(made).count("Conv") == 1
    assert "Round" in kinds(made)
    words = keras.Input((None, 4), name="x")
    made = equal(filled(keras.Model(words, L.Dense(3)(Rounded()(words)))))
    assert made.graph.inputs[0].name == "x"


def test_layers_of_ones_own_are_registered() -> None:
    class Doubled(Odd):
        def call(self, x: Any) -> Any:
            return super().call(x) * 0 + x * 2

    model = one(Doubled(), 4)
    with pytest.raises(ConvertError, match="there is no rule for it"):
        ingot.convert(model)

    def doubled(c: Conversion, layer: Any, x: Any) -> Any:
        del layer
        return x * c.number(2, x)

    register(Doubled, doubled)
    assert kinds(equal(model)) == ["Mul"]


@pytest.mark.parametrize(
    ("layer", "dtype", "reason"),
    [
        (L.StringLookup(vocabulary=WORDS, num_oov_indices=2), "string", "unknown words go to 2 places by FarmHash"),
        (L.StringLookup(vocabulary=WORDS, output_mode="count", sparse=True), "string", "a sparse tensor"),
        (L.IntegerLookup(vocabulary=[3, 5], output_mode="count", sparse=True), "int64", "a sparse tensor"),
    ],
)
def test_a_lookup_is_refused_where_unknown_words_are_hashed_or_its_output_is_sparse(
    layer: Any, dtype: str, reason: str
) -> None:
    example = np.full((2, 3), WORDS[0] if dtype == "string" else 3, object if dtype == "string" else dtype)
    with pytest.raises(ConvertError, match=reason):
        ingot.convert(one(layer, 3, dtype=dtype), example)


def test_everything_that_cannot_be_converted_is_said_at_once() -> None:
    x = keras.Input((4,))
    y = keras.ops.erfinv(Odd(name="odd")(L.Dense(4)(x)))
    with pytest.raises(ConvertError, match="2 pieces of the Keras model") as caught:
        ingot.convert(keras.Model(x, y))
    assert "(in odd)" in str(caught.value)
    assert "Erfinv: no rule for it" in str(caught.value)
    assert "register(Layer, rule)" in str(caught.value)


def test_a_rule_that_is_wrong_is_found_with_the_layer_that_differs() -> None:
    class Wrong(L.Dense):  # type: ignore[misc]
        def call(self, x: Any, training: Any = None) -> Any:
            return super().call(x, training=training)

    x = keras.Input((4,))
    model = keras.Model(x, L.ReLU(name="last")(Wrong(3, name="wrong")(L.Dense(5, name="right")(x))))
    register(Wrong, lambda c, layer, x: op.MatMul(x, c.weight(layer.kernel)) + c.number(1, x))
    with pytest.raises(VerifyError, match="the first value that differs is 'wrong'"):
        ingot.convert(model)


def test_a_file_is_converted_on_the_command_line(tmp_path: Path) -> None:
    model = filled(keras.Sequential([keras.Input((8, 8, 2), name="image"), L.Conv2D(3, 3), L.Flatten(), L.Dense(2)]))
    for name in ("model.keras", "model.h5"):
        model.save(tmp_path / name)
        run = CliRunner().invoke(main, ["convert", str(tmp_path / name), "-o", str(tmp_path / "model.onnx")])
        assert run.exit_code == 0, run.output
        assert "apart" in run.stderr
        made = ingot.load(tmp_path / "model.onnx")
        assert made.graph.inputs[0].name == "image"


def test_code_in_a_file_is_loaded_only_where_it_is_trusted(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    keras.Sequential([keras.Input((3,)), L.Lambda(lambda x: x * 2)]).save(path)
    with pytest.raises(ConvertError, match="has Python code in it"):
        ingot.convert(path)
    assert kinds(ingot.convert(path, trust_pickle=True)) == ["Mul"]


def test_a_file_that_is_none_of_keras_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    path.write_bytes(b"nothing")
    with pytest.raises(ConvertError, match="cannot be loaded"):
        ingot.convert(path)


def test_an_example_that_does_not_fit_is_refused() -> None:
    model = one(L.Dense(2), 4)
    for example, said in (
        (np.zeros((2, 5), np.float32), r"has shape \['\?', 4\], the example \[2, 5\]"),
        (np.array([["a"] * 4], object), "is float32, the example has object"),
        ((np.zeros((2, 4)), np.zeros((2, 4))), "the example has 2 inputs, the model 1"),
    ):
        with pytest.raises(InputError, match=said):
            ingot.convert(model, example)


def test_keras_on_pytorch_is_converted_too() -> None:
    pytest.importorskip("torch")
    script = """
import keras, numpy as np, ingot
from keras import layers as L
x = keras.Input((None, 4))
y = L.Bidirectional(L.LSTM(3, return_sequences=True))(L.Masking()(x))
y = L.LayerNormalization()(L.MultiHeadAttention(2, 3)(y, y))
rows = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
rows[0, 3:] = 0
ingot.convert(keras.Model(x, L.Dense(2)(keras.ops.mean(y, axis=1))), rows)
image = keras.Input((9, 9, 3))
y = L.AveragePooling2D(2, padding="same")(L.SeparableConv2D(4, 3)(image))
y = L.Conv2DTranspose(3, 3, strides=2, padding="same")(y)
ingot.convert(keras.Model(image, L.BatchNormalization()(y)))
"""
    environment = {**os.environ, "KERAS_BACKEND": "torch", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
