"""Models for every public layer of Keras, with an example where one is needed."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
from keras import layers as L  # noqa: N812

Case = tuple[Any, Any]
"""A model, and what it is called with; None where it says itself what it takes."""

WORDS = ["apple", "pear", "plum", "fig", "quince"]
TEXTS = np.array([["The apple, the PEAR!"], ["a plum; (fig)"], [""], ["quince quince nothing-else"]], object)


def filled(model: Any, seed: int = 0) -> Any:
    """A model whose weights are numbers of some kind, variances positive."""
    generator = np.random.default_rng(seed)
    for variable in model.variables:
        if (
            "seed" in variable.path
            or "state" in variable.path
            or not str(variable.dtype).startswith(("float", "bfloat"))
        ):
            continue
        values = generator.normal(size=variable.shape) * 0.3
        variable.assign(np.abs(values) + 0.5 if "variance" in variable.name else values)
    return model


def one(layer: Any, *shape: int | None, dtype: str = "float32", batch: int | None = None, **call: Any) -> Any:
    """A model of one layer."""
    x = keras.Input(shape, dtype=dtype, batch_size=batch)
    return filled(keras.Model(x, layer(x, **call)))


def two(layer: Any, *shapes: tuple[int | None, ...]) -> Any:
    """A model of one layer of several inputs."""
    xs = [keras.Input(shape) for shape in shapes]
    return filled(keras.Model(xs, layer(xs)))


def masked(layer: Any, *after: Any) -> Case:
    """A layer behind a mask that leaves steps out at the front, in the middle and at the end."""
    x = keras.Input((None, 4))
    y = layer(L.Masking()(x))
    for each in after:
        y = each(y)
    model = filled(keras.Model(x, y))
    example = np.random.default_rng(1).normal(size=(4, 6, 4)).astype(np.float32)
    example[0, 4:] = 0
    example[1, :2] = 0
    example[2, 2:4] = 0
    return model, example


def images(scale: float = 255.0, *shape: int) -> Any:
    return (np.random.default_rng(2).random((2, *(shape or (8, 8, 3)))) * scale).astype(np.float32)


def _convolutions() -> Iterator[tuple[str, Callable[[], Any]]]:
    for axes, shape in ((1, (9, 4)), (2, (9, 8, 4)), (3, (5, 6, 7, 4))):
        for padding in ("valid", "same"):
            for more in ({"strides": 2}, {"dilation_rate": 2, "activation": "relu"}):
                conv = getattr(L, f"Conv{axes}D")
                yield (
                    f"Conv{axes}D",
                    partial(lambda c, p, m, s: one(c(6, 3, padding=p, **m), *s), conv, padding, more, shape),
                )
        conv = getattr(L, f"Conv{axes}D")
        yield f"Conv{axes}D", partial(lambda c, s: one(c(6, 3, groups=2, use_bias=False), *s), conv, shape)
        for padding in ("valid", "same"):
            for more in ({"strides": 2}, {"strides": 3, "output_padding": 1}, {"dilation_rate": 2}):
                back = getattr(L, f"Conv{axes}DTranspose")
                if axes == 3 and "dilation_rate" in more:
                    continue  # TensorFlow has none
                yield (
                    f"Conv{axes}DTranspose",
                    partial(lambda c, p, m, s: one(c(5, 3, padding=p, **m), *s), back, padding, more, shape),
                )
        for mode in ("Max", "Average"):
            pool = getattr(L, f"{mode}Pooling{axes}D")
            for padding in ("valid", "same"):
                yield (
                    f"{mode}Pooling{axes}D",
                    partial(lambda c, p, s: one(c(3, strides=2, padding=p), *s), pool, padding, shape),
                )
            everything = getattr(L, f"Global{mode}Pooling{axes}D")
            for keepdims in (False, True):
                yield (
                    f"Global{mode}Pooling{axes}D",
                    partial(lambda c, k, s: one(c(keepdims=k), *s), everything, keepdims, shape),
                )
            for size in (1, 2, 3) if mode == "Average" else (2, 3):  # of one window TensorFlow's oneDNN divides by zero
                adaptive = getattr(L, f"Adaptive{mode}Pooling{axes}D")
                yield f"Adaptive{mode}Pooling{axes}D", partial(lambda c, n, s: one(c(n), *s), adaptive, size, shape)
    yield "Conv1D", lambda: one(L.Conv1D(3, 3, padding="causal", dilation_rate=2), None, 4)
    yield "Conv2D", lambda: one(L.Conv2D(3, 3, strides=2, padding="same"), None, None, 4)
    yield "Conv2D", lambda: one(L.Conv2D(3, 2, padding="same"), 6, 6, 4)
    for axes, shape in ((1, (9, 4)), (2, (9, 9, 4))):
        for padding in ("valid", "same"):
            for more in ({"strides": 2}, {"depth_multiplier": 2}, {"dilation_rate": 2}):
                deep = getattr(L, f"DepthwiseConv{axes}D")
                yield (
                    f"DepthwiseConv{axes}D",
                    partial(lambda c, p, m, s: one(c(3, padding=p, **m), *s), deep, padding, more, shape),
                )
                apart = getattr(L, f"SeparableConv{axes}D")
                yield (
                    f"SeparableConv{axes}D",
                    partial(lambda c, p, m, s: one(c(5, 3, padding=p, **m), *s), apart, padding, more, shape),
                )
    yield "GlobalAveragePooling1D", lambda: masked(L.GlobalAveragePooling1D())


def _recurrent() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in ("LSTM", "GRU", "SimpleRNN"):
        kind = getattr(L, name)
        more: dict[str, Any]
        for more in (
            {},
            {"return_sequences": True, "go_backwards": True},
            {"return_state": True, "return_sequences": True, "use_bias": False},
            {"activation": "relu", "unroll": True},
            {"activation": "gelu", "return_sequences": True},
        ):
            yield name, partial(lambda k, m: one(k(5, **m), 6, 4), kind, more)
        for more in (
            {},
            {"return_sequences": True},
            {"return_sequences": True, "go_backwards": True},
            {"activation": "selu"},
        ):
            yield name, partial(lambda k, m: masked(k(5, **m)), kind, more)
        yield name, partial(lambda k: one(k(5, stateful=True, return_sequences=True), 6, 4, batch=2), kind)
        yield name, partial(lambda k: (_begun(k), None), kind)
    for mode in ("concat", "sum", "ave", "mul", None):
        yield "Bidirectional", partial(_both, L.LSTM(5, return_sequences=True), mode)
    yield "Bidirectional", lambda: one(L.Bidirectional(L.GRU(5, return_state=True)), 6, 4)
    yield "Bidirectional", lambda: one(L.Bidirectional(L.SimpleRNN(5)), None, 4)
    yield "Bidirectional", lambda: masked(L.Bidirectional(L.GRU(5, return_sequences=True)))
    yield "Bidirectional", lambda: masked(L.Bidirectional(L.LSTM(5)))
    yield "GRU", lambda: one(L.GRU(5, reset_after=False), 6, 4)
    yield "GRU", lambda: one(L.GRU(5, reset_after=False, activation="gelu"), 6, 4)
    yield "LSTM", lambda: one(L.LSTM(5, recurrent_activation="hard_sigmoid"), None, 4)
    yield "RNN", lambda: one(L.RNN(L.LSTMCell(5)), 6, 4)
    yield (
        "RNN",
        lambda: one(L.RNN([L.GRUCell(5), L.SimpleRNNCell(3)], return_sequences=True, return_state=True), None, 4),
    )
    yield "RNN", lambda: masked(L.RNN([L.LSTMCell(5), L.LSTMCell(3)], return_sequences=True))
    for axes, shape in ((1, (3, 8, 2)), (2, (3, 8, 6, 2)), (3, (3, 4, 5, 6, 2))):
        conv = getattr(L, f"ConvLSTM{axes}D")
        yield (
            f"ConvLSTM{axes}D",
            partial(lambda c, s: one(c(3, 3, padding="same", return_sequences=True), *s), conv, shape),
        )
        yield (
            f"ConvLSTM{axes}D",
            partial(lambda c, s: one(c(3, 2, strides=2, return_state=True, go_backwards=True), *s), conv, shape),
        )
    step, five, three = np.ones((2, 4), np.float32), np.ones((2, 5), np.float32), np.ones((2, 3), np.float32)
    yield "LSTMCell", lambda: (L.LSTMCell(5), (step, [five, five]))
    yield "GRUCell", lambda: (L.GRUCell(5), (step, [five]))
    yield "SimpleRNNCell", lambda: (L.SimpleRNNCell(5), (step, [five]))
    yield (
        "StackedRNNCells",
        lambda: (L.StackedRNNCells([L.SimpleRNNCell(5), L.LSTMCell(3)]), (step, [[five], [three, three]])),
    )
    yield "TimeDistributed", lambda: one(L.TimeDistributed(L.Dense(3)), None, 4)
    yield "TimeDistributed", lambda: one(L.TimeDistributed(L.Conv2D(3, 3)), 4, 8, 8, 2)
    yield "TimeDistributed", lambda: masked(L.TimeDistributed(L.Dense(3)), L.LSTM(4))
    yield "Masking", lambda: masked(L.Dense(3), L.LSTM(4))


def _both(layer: Any, mode: str | None) -> Any:
    return one(L.Bidirectional(layer, merge_mode=mode), 6, 4)


def _begun(kind: Any) -> Any:
    count = 2 if kind is L.LSTM else 1
    x, states = keras.Input((6, 4)), [keras.Input((5,)) for _ in range(count)]
    return filled(keras.Model([x, *states], kind(5, return_state=True)(x, initial_state=states)))


def _attention() -> Iterator[tuple[str, Callable[[], Any]]]:
    def own(layer: Any, **call: Any) -> Any:
        x, y = keras.Input((None, 8)), keras.Input((5, 8))
        return filled(keras.Model([x, y], layer(x, y, **call)))

    for name, options in (("MultiHeadAttention", {"num_heads": 4, "key_dim": 3}), ("GroupQueryAttention", None)):
        kind = getattr(L, name)
        named = options or {"head_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2}
        yield name, partial(lambda k, n: own(k(**n)), kind, named)
        yield name, partial(lambda k, n: own(k(**n), use_causal_mask=True), kind, named)
        yield name, partial(lambda k, n: own(k(**n), return_attention_scores=True), kind, named)
        yield name, partial(lambda k, n: masked(_itself(k(**n))), kind, named)
    yield "MultiHeadAttention", lambda: own(L.MultiHeadAttention(2, 3, value_dim=5, output_shape=7, use_bias=False))
    yield "MultiHeadAttention", lambda: _over_axes(L.MultiHeadAttention(2, 3, attention_axes=(2, 3)))
    for name in ("Attention", "AdditiveAttention"):
        kind = getattr(L, name)
        yield name, partial(lambda k: two(k(use_scale=True), (4, 8), (5, 8)), kind)
        yield name, partial(lambda k: two(k(), (4, 8), (5, 8), (5, 8)), kind)
        yield name, partial(lambda k: masked(_itself(k(), as_list=True)), kind)
    yield "Attention", lambda: two(L.Attention(score_mode="concat", use_scale=True), (4, 8), (5, 8))


def _itself(layer: Any, *, as_list: bool = False) -> Callable[[Any], Any]:
    return lambda x: layer([x, x]) if as_list else layer(x, x)


def _over_axes(layer: Any) -> Any:
    x = keras.Input((2, 3, 4, 8))
    return filled(keras.Model(x, layer(x, x)))


def _plain() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in sorted(dir(keras.activations)):
        function = getattr(keras.activations, name)
        if not inspect.isfunction(function) or name in ("get", "serialize", "deserialize", "threshold"):
            continue
        yield "Activation", partial(lambda n: one(L.Activation(n), 6), name)
    yield "Activation", lambda: one(L.Activation(lambda x: keras.ops.tanh(x) * 2), 6)
    yield "Dense", lambda: one(L.Dense(3, activation="relu"), 6)
    yield "Dense", lambda: one(L.Dense(3, use_bias=False), None, 6)
    yield "Dense", lambda: one(L.Dense(3, dtype="float64"), 6)
    yield "Dense", lambda: one(L.Dense(3, dtype="mixed_float16"), 6)
    yield "Dense", lambda: _quantized()
    yield "EinsumDense", lambda: one(L.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d"), None, 6)
    yield "EinsumDense", lambda: one(L.EinsumDense("ab...,bc->ac...", (3,)), 6, 5)
    yield "EinsumDense", lambda: one(L.EinsumDense("abx,xyz->abyz", (None, 2, 3), activation="tanh"), 4, 6)
    yield "Embedding", lambda: one(L.Embedding(9, 4), None, dtype="int32")
    yield (
        "Embedding",
        lambda: filled(keras.Sequential([keras.Input((5,)), L.Embedding(9, 4, mask_zero=True), L.LSTM(3)])),
    )
    yield "ReversibleEmbedding", lambda: one(L.ReversibleEmbedding(9, 4), 5, dtype="int32")
    yield "ReversibleEmbedding", lambda: _reversed()
    yield "Identity", lambda: one(L.Identity(), 4)
    yield "Lambda", lambda: one(L.Lambda(lambda x: keras.ops.mean(x, axis=-1, keepdims=True) + x), 5)
    yield "InputLayer", lambda: keras.Sequential([L.InputLayer((4,)), L.ReLU()])
    for more in (
        {},
        {"negative_slope": 0.1},
        {"max_value": 1.0},
        {"threshold": 0.3, "max_value": 6, "negative_slope": 0.2},
    ):
        yield "ReLU", partial(lambda m: one(L.ReLU(**m), 6), more)
    yield "LeakyReLU", lambda: one(L.LeakyReLU(0.2), 6)
    yield "ELU", lambda: one(L.ELU(0.7), 6)
    yield "PReLU", lambda: one(L.PReLU(shared_axes=[1, 2]), 5, 6, 3)
    yield "Softmax", lambda: one(L.Softmax(axis=1), 5, 6)
    yield "Softmax", lambda: one(L.Softmax(axis=(1, 2)), 5, 6)
    for name in ("Dropout", "AlphaDropout", "GaussianDropout", "GaussianNoise"):
        yield name, partial(lambda n: one(getattr(L, n)(0.3), 6), name)
    yield "ActivityRegularization", lambda: one(L.ActivityRegularization(0.1), 6)
    for axes in (1, 2, 3):
        yield (
            f"SpatialDropout{axes}D",
            partial(lambda a: one(getattr(L, f"SpatialDropout{a}D")(0.3), *([4] * a), 3), axes),
        )


def _quantized() -> Any:
    model = one(L.Dense(3), 6)
    model.quantize("int8")
    return model


def _reversed() -> Any:
    x = keras.Input((4,))
    layer = L.ReversibleEmbedding(9, 4)
    layer.build()
    return filled(keras.Model(x, layer(x, reverse=True)))


def _normalisations() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "BatchNormalization", lambda: one(L.BatchNormalization(), 6)
    yield "BatchNormalization", lambda: one(L.BatchNormalization(scale=False), 4, 5, 6)
    yield "BatchNormalization", lambda: one(L.BatchNormalization(axis=2, center=False), 4, 5, 6)
    yield "BatchNormalization", lambda: one(L.BatchNormalization(dtype="float16"), 4, 5, 6)
    yield "LayerNormalization", lambda: one(L.LayerNormalization(), None, 6)
    yield "LayerNormalization", lambda: one(L.LayerNormalization(axis=[1, 3]), 4, 5, 6)
    yield "LayerNormalization", lambda: one(L.LayerNormalization(center=False, scale=False), 4, 6)
    for groups in (1, 2, -1):
        yield "GroupNormalization", partial(lambda g: one(L.GroupNormalization(g), 5, 4, 6), groups)
    yield "GroupNormalization", lambda: one(L.GroupNormalization(2, axis=1, scale=False), 6, 4, 5)
    yield "RMSNormalization", lambda: one(L.RMSNormalization(), None, 6)
    yield "UnitNormalization", lambda: one(L.UnitNormalization(), 5, 6)
    yield "UnitNormalization", lambda: one(L.UnitNormalization(axis=[1, 2]), 5, 6)
    yield "SpectralNormalization", lambda: one(L.SpectralNormalization(L.Conv2D(3, 3)), 8, 8, 2)


def _merging() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in ("Add", "Average", "Maximum", "Minimum", "Multiply", "Concatenate"):
        yield name, partial(lambda n: two(getattr(L, n)(), (4, 6), (4, 6), (4, 6)), name)
        yield name, partial(lambda n: _merged_masks(getattr(L, n)()), name)
    yield "Add", lambda: two(L.Add(), (4, 6), (6,))
    yield "Subtract", lambda: two(L.Subtract(), (4, 6), (4, 6))
    yield "Concatenate", lambda: two(L.Concatenate(axis=1), (4, 6), (3, 6))
    yield "Dot", lambda: two(L.Dot(axes=1), (6,), (6,))
    yield "Dot", lambda: two(L.Dot(axes=(2, 1), normalize=True), (4, 6), (6, 5))


def _merged_masks(layer: Any) -> Case:
    x = keras.Input((6, 4))
    one, other = L.Masking()(x), L.Masking(mask_value=1.0)(x)
    model = filled(keras.Model(x, L.LSTM(3)(layer([one, other]))))
    example = np.random.default_rng(3).normal(size=(3, 6, 4)).astype(np.float32)
    example[0, 3:] = 0
    example[1, 4:] = 1
    return model, example


def _reshaping() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "Reshape", lambda: one(L.Reshape((3, -1)), 6, 4)
    yield "Reshape", lambda: one(L.Reshape((-1, 2)), None, 4)
    yield "Flatten", lambda: one(L.Flatten(), 3, 4, 5)
    yield "Flatten", lambda: one(L.Flatten(data_format="channels_first"), 3, 4, 5)
    yield "Permute", lambda: one(L.Permute((2, 3, 1)), 3, 4, 5)
    yield "RepeatVector", lambda: one(L.RepeatVector(3), 5)
    for axes, shape in ((1, (8, 2)), (2, (8, 7, 2)), (3, (8, 7, 6, 2))):
        crop, pad, up = (getattr(L, f"{kind}{axes}D") for kind in ("Cropping", "ZeroPadding", "UpSampling"))
        pairs: Any = (1, 2) if axes == 1 else ((1, 2), (0, 3), (2, 0))[:axes]
        yield f"Cropping{axes}D", partial(lambda k, p, s: one(k(p), *s), crop, pairs, shape)
        yield f"ZeroPadding{axes}D", partial(lambda k, p, s: one(k(p), *s), pad, pairs, shape)
        yield f"UpSampling{axes}D", partial(lambda k, s: one(k(2), *s), up, shape)
    for way in ("bilinear", "bicubic", "lanczos3"):
        yield "UpSampling2D", partial(lambda w: one(L.UpSampling2D((2, 3), interpolation=w), 5, 4, 2), way)
    yield "UpSampling2D", lambda: one(L.UpSampling2D(2, interpolation="bilinear"), None, None, 2)


def _preprocessing() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "Normalization", lambda: one(L.Normalization(mean=[1.0, 2, 3], variance=[2.0, 1, 4]), 3)
    yield "Normalization", lambda: one(_adapted(L.Normalization(axis=None)), 4)
    yield "Normalization", lambda: one(L.Normalization(mean=1.0, variance=4.0, invert=True), 4)
    yield "Rescaling", lambda: (one(L.Rescaling(1 / 127.5, -1), 8, 8, 3), images())
    yield "Rescaling", lambda: (one(L.Rescaling([0.1, 0.2, 0.3]), 8, 8, 3, dtype="uint8"), images().astype(np.uint8))
    for mode in ("int", "one_hot", "multi_hot", "count"):
        yield (
            "Discretization",
            partial(lambda m: one(L.Discretization([-1.0, 0.0, 0.5], output_mode=m), 1 if m == "one_hot" else 4), mode),
        )
    for mode in ("one_hot", "multi_hot", "count"):
        yield (
            "CategoryEncoding",
            partial(
                lambda m: one(L.CategoryEncoding(5, output_mode=m), 1 if m == "one_hot" else 4, dtype="int32"), mode
            ),
        )
    words = np.array([["apple", "nothing", ""], ["fig", "plum", "pear"]], object)
    for mode in ("int", "multi_hot", "count"):
        yield (
            "StringLookup",
            partial(lambda m: (one(L.StringLookup(vocabulary=WORDS, output_mode=m), 3, dtype="string"), words), mode),
        )
    yield (
        "StringLookup",
        lambda: (one(L.StringLookup(vocabulary=WORDS, output_mode="one_hot"), 1, dtype="string"), words[:, :1]),
    )
    yield "StringLookup", lambda: (one(L.StringLookup(vocabulary=WORDS, mask_token=""), 3, dtype="string"), words)
    yield "StringLookup", lambda: one(L.StringLookup(vocabulary=WORDS, invert=True), 3, dtype="int64")
    yield (
        "StringLookup",
        lambda: (
            one(
                L.StringLookup(vocabulary=WORDS, output_mode="tf_idf", idf_weights=[1.0, 2, 3, 4, 5]), 3, dtype="string"
            ),
            words,
        ),
    )
    numbers = np.array([[3, 7, -1], [100, 5, 0]], np.int64)
    more: dict[str, Any]
    for more in ({}, {"mask_token": 0}, {"num_oov_indices": 3}, {"output_mode": "multi_hot"}):
        yield (
            "IntegerLookup",
            partial(lambda m: (one(L.IntegerLookup(vocabulary=[3, 5, 7], **m), 3, dtype="int64"), numbers), more),
        )
    yield "IntegerLookup", lambda: one(L.IntegerLookup(vocabulary=[3, 5, 7], invert=True), 3, dtype="int64")
    yield "Hashing", lambda: (one(L.Hashing(1), 3, dtype="string"), words)
    for more in (
        {},
        {"output_sequence_length": 3},
        {"standardize": None},
        {"output_mode": "multi_hot"},
        {"output_mode": "count", "standardize": "lower"},
        {"output_mode": "tf_idf", "idf_weights": [1.0, 2, 3, 4, 5]},
    ):
        yield (
            "TextVectorization",
            partial(lambda m: (one(L.TextVectorization(vocabulary=WORDS, **m), 1, dtype="string"), TEXTS), more),
        )
    for way in ("nearest", "bilinear", "bicubic", "lanczos5"):
        yield "Resizing", partial(lambda w: (one(L.Resizing(11, 5, interpolation=w), 8, 8, 3), images()), way)
    yield "Resizing", lambda: (one(L.Resizing(4, 5, antialias=True), 8, 8, 3), images())
    yield "Resizing", lambda: (one(L.Resizing(4, 6, crop_to_aspect_ratio=True), 8, 8, 3), images())
    yield "Resizing", lambda: (one(L.Resizing(4, 6, pad_to_aspect_ratio=True), 8, 8, 3), images())
    yield "CenterCrop", lambda: (one(L.CenterCrop(4, 5), 8, 8, 3), images())
    yield "CenterCrop", lambda: (one(L.CenterCrop(9, 5), 8, 8, 3), images())
    yield "Pipeline", lambda: (one(L.Pipeline([L.Rescaling(0.1), L.RandomFlip()]), 8, 8, 3), images())
    yield "MaxNumBoundingBoxes", lambda: (one(L.MaxNumBoundingBoxes(3), 8, 8, 3), images())
    yield "AutoContrast", lambda: (one(L.AutoContrast(), 8, 8, 3), images())
    yield (
        "ContrastLimitedAdaptiveHistogramEqualization",
        lambda: (
            one(L.ContrastLimitedAdaptiveHistogramEqualization(tile_grid_size=(2, 2)), 8, 8, 3, batch=2),
            images(),
        ),
    )
    for name in dir(L):
        if name.startswith("Random") or name in ("AugMix", "CutMix", "MixUp", "RandAugment", "Solarization"):
            yield name, partial(lambda n: (one(_at_random(n), 8, 8, 3), images()), name)
    yield "Equalization", lambda: (L.Equalization(), images())  # Keras cannot have it in a graph
    for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft"):
        yield (
            "STFTSpectrogram",
            partial(lambda m: one(L.STFTSpectrogram(mode=m, frame_length=8, frame_step=4), 32, 1), mode),
        )
    yield "MelSpectrogram", lambda: one(L.MelSpectrogram(16, 4, num_mel_bins=6, sampling_rate=100, min_freq=1), 64)


def _at_random(name: str) -> Any:
    given: dict[str, tuple[Any, ...]] = {
        "RandomColorJitter": (),
        "RandomCrop": (4, 5),
        "RandomHue": (0.3,),
        "RandomPosterization": (4,),
        "RandomTranslation": (0.1, 0.2),
        "RandomBrightness": (0.2,),
        "RandomContrast": (0.2,),
        "RandomColorDegeneration": (0.2,),
        "RandomSaturation": (0.2,),
        "RandomSharpness": (0.2,),
        "RandomRotation": (0.2,),
        "RandomZoom": (0.2,),
    }
    return getattr(L, name)(*given.get(name, ()))


def _adapted(layer: Any) -> Any:
    layer.adapt(np.random.default_rng(0).normal(2, 3, size=(50, 4)).astype(np.float32))
    return layer


NOT_EXPRESSIBLE: dict[str, Callable[[], Any]] = {
    "Hashing": lambda: (one(L.Hashing(5), 3, dtype="string"), np.array([["a", "b", "c"]], object)),
    "HashedCrossing": lambda: _crossed(),
}
"""What must be refused, with a reason."""


def _crossed() -> Case:
    one, other = keras.Input((1,), dtype="string"), keras.Input((1,), dtype="string")
    words = np.array([["a"], ["b"]], object)
    return keras.Model([one, other], L.HashedCrossing(5)((one, other))), [words, words]


NO_MEANING = {
    "FlaxLayer": "a function of Flax in a layer",
    "InputSpec": "is no layer",
    "JaxLayer": "a function of JAX in a layer",
    "Layer": "what layers inherit from",
    "TFSMLayer": "a SavedModel of TensorFlow in a layer",
    "TorchModuleWrapper": "a module of PyTorch in a layer",
    "Wrapper": "what layers around layers inherit from",
}
"""What has nothing of its own to convert."""


def cases() -> dict[str, list[Callable[[], Any]]]:
    """Every case by the name of its layer."""
    found: dict[str, list[Callable[[], Any]]] = {}
    for family in (
        _plain, _convolutions, _recurrent, _attention, _normalisations, _merging, _reshaping, _preprocessing,
    ):  # fmt: skip
        for name, make in family():
            found.setdefault(name, []).append(make)
    return found


def public() -> list[str]:
    """The names of the classes in keras.layers, one for each class."""
    found: dict[type, str] = {}
    for name in dir(L):
        kind = getattr(L, name)
        if inspect.isclass(kind) and (kind not in found or name == kind.__name__):
            found[kind] = name
    found_names = {name if name != "GroupedQueryAttention" else "GroupQueryAttention" for name in found.values()}
    return sorted(found_names)
