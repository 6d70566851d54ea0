"""The operations of keras.ops give what Keras gives: a few models of many of them each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    keras = pytest.importorskip("keras")
    pytest.importorskip("tensorflow")

from ingot.convert import Request, converted
from ingot.convert.keras.rule import rules

pytestmark = pytest.mark.filterwarnings("ignore")
k = keras.ops
Made = Callable[[Any], Any]

ELEMENTS: list[Made] = [
    k.abs, k.absolute, k.arctan, k.arcsinh, k.ceil, k.cos, k.cosh, k.erf, k.exp, k.floor, k.negative, k.reciprocal,
    k.sign, k.sin, k.sinh, k.square, k.tan, k.tanh, k.expm1, k.exp2, k.round, k.trunc, k.deg2rad, k.rad2deg, k.copy,
    k.isnan, k.isinf, k.isfinite, k.logical_not, k.nan_to_num, k.stop_gradient, k.erfc, lambda x: k.log(k.abs(x)),
    lambda x: k.log1p(k.abs(x)), lambda x: k.log2(k.abs(x)), lambda x: k.log10(k.abs(x)),
    lambda x: k.sqrt(k.abs(x)), lambda x: k.rsqrt(k.abs(x)), lambda x: k.arcsin(k.tanh(x)),
    lambda x: k.arccos(k.tanh(x)), lambda x: k.arctanh(k.tanh(x) * 0.9), lambda x: k.arccosh(k.abs(x) + 1.5),
    lambda x: k.clip(x, -0.5, 0.7), lambda x: k.round(x, 2), lambda x: k.cast(x, "int32"),
    lambda x: k.cast(x * 3, "bool"), lambda x: k.add(x, 2), lambda x: x - 1.5, lambda x: 3 / x, lambda x: x // 0.3,
    lambda x: x % 0.3, lambda x: k.abs(x) ** 1.5, lambda x: k.maximum(x, 0.1), lambda x: k.minimum(x, k.cos(x)),
    lambda x: k.logaddexp(x, -x), lambda x: k.hypot(x, k.cos(x)), lambda x: k.arctan2(x, k.cos(3 * x)),
    lambda x: k.divide_no_nan(x, k.relu(x)), lambda x: k.equal(x, x), lambda x: k.not_equal(x, 0), lambda x: x > 0,
    lambda x: x <= 0.5, lambda x: k.logical_and(x > 0, x < 1), lambda x: k.logical_or(x > 1, x < 0),
    lambda x: k.logical_xor(x > 0, x < 1), lambda x: k.where(x > 0, x, 0), lambda x: k.isclose(x, x + 1e-9),
    lambda x: k.bitwise_and(k.cast(x * 9, "int32"), np.int32(6)), lambda x: k.bitwise_not(k.cast(x * 9, "int32")),
    lambda x: k.left_shift(k.cast(x * 9, "int32"), np.int32(2)),
    lambda x: k.right_shift(k.cast(x * 9, "int32"), np.int32(1)),
    lambda x: k.cast(x * 9, "int32") // 4, lambda x: k.cast(x * 9, "int32") % 4, k.zeros_like, k.ones_like,
    lambda x: k.full_like(x, 3), lambda x: k.arctan2(k.relu(x), -k.relu(x)), lambda x: k.expm1(x * 1e-8) * 1e8,
    lambda x: k.log1p(x * 1e-8) * 1e8, lambda x: (2**31 - 1 - k.cast(x * 9, "int32") % 3) // 2,
]  # fmt: skip

REDUCED: list[Made] = [
    k.sum, lambda x: k.mean(x, axis=1), lambda x: k.max(x, axis=(1, 2), keepdims=True), lambda x: k.min(x, axis=-1),
    lambda x: k.prod(x, axis=1), lambda x: k.any(x > 1, axis=1), lambda x: k.all(x > -1, axis=(1, 2)),
    lambda x: k.std(x, axis=1), lambda x: k.var(x, axis=1, keepdims=True), lambda x: k.logsumexp(x, axis=-1),
    lambda x: k.argmax(x, axis=1), lambda x: k.argmin(x, axis=-1), lambda x: k.cumsum(x, axis=1),
    lambda x: k.sort(x, axis=1), lambda x: k.argsort(x, axis=-1), lambda x: k.count_nonzero(k.relu(x), axis=1),
    lambda x: k.norm(x, axis=-1), lambda x: k.average(x, axis=1), lambda x: k.ptp(x, axis=-1),
    lambda x: k.moments(x, axes=[1])[1], lambda x: k.top_k(x, 2)[1],
    lambda x: k.average(x, axis=2, weights=np.array([1.0, 2, 3, 4], "float32")), lambda x: k.norm(x, ord=1, axis=1),
    lambda x: k.normalize(x, axis=1), lambda x: k.normalize(x, order=1),
]  # fmt: skip

MOVED: list[Made] = [
    lambda x: k.reshape(x, (-1, 4, 3)), lambda x: k.transpose(x, (0, 2, 1)), lambda x: k.swapaxes(x, 0, -1),
    lambda x: k.moveaxis(x, 1, -1), lambda x: k.expand_dims(x, 1), lambda x: k.squeeze(k.expand_dims(x, 2), 2),
    k.ravel, lambda x: k.concatenate([x, x + 1], axis=-1), lambda x: k.stack([x, -x], axis=1),
    lambda x: k.split(x, 3, axis=1)[1], lambda x: k.split(x, [1, 3], axis=2)[1], lambda x: k.unstack(x, axis=2)[3],
    lambda x: k.tile(x, (1, 2, 1)), lambda x: k.repeat(x, 2, axis=1), lambda x: k.flip(x, axis=2),
    lambda x: k.roll(x, 2, axis=1), lambda x: k.pad(x, ((0, 0), (1, 2), (0, 1))),
    lambda x: k.pad(x, ((0, 0), (1, 2), (0, 0)), mode="reflect"), lambda x: x[:, 1], lambda x: x[:, ::2, 1:3],
    lambda x: x[:, -1:, None], lambda x: x[..., 0], lambda x: k.take(x, [2, 0], axis=1),
    lambda x: k.take_along_axis(x, k.argsort(x, axis=1), axis=1), k.tril, lambda x: k.triu(x, 1),
    lambda x: k.diff(x, axis=1), lambda x: k.diagonal(x, axis1=1, axis2=2), lambda x: k.hstack([x, x]),
    lambda x: k.append(x, x, axis=1), lambda x: k.slice(x, (0, 1, 1), (1, 2, 2)), lambda x: k.fliplr(x),
]  # fmt: skip

PRODUCTS: list[Made] = [
    lambda x: k.matmul(x, k.transpose(x, (0, 2, 1))), lambda x: k.einsum("bij,bkj->bik", x, x),
    lambda x: k.dot(x, np.ones((4, 2), "float32")), lambda x: k.tensordot(x, np.ones((3, 4, 2), "float32"), axes=2),
    lambda x: k.outer(x[0], x[1]), lambda x: k.vdot(x, x), lambda x: k.inner(x, np.ones((5, 4), "float32")),
    lambda x: k.one_hot(k.argmax(x, axis=1), 3), lambda x: k.multi_hot(k.argmax(x, axis=1), 3),
    lambda x: k.layer_normalization(x, np.ones(4, "float32"), np.ones(4, "float32")),
    lambda x: k.rms_normalization(x), lambda x: k.max_pool(x, 2), lambda x: k.average_pool(x, 2, padding="same"),
    lambda x: k.softmax(x, axis=1), lambda x: k.conv(x, np.ones((2, 4, 3), "float32"), padding="same"),
    lambda x: k.leaky_relu(x, 0.3), k.relu6,
    lambda x: k.batch_normalization(x, np.ones(4, "float32"), np.ones(4, "float32"), axis=-1), k.hard_silu,
    k.log_sigmoid, lambda x: k.depthwise_conv(x, np.ones((2, 4, 2), "float32")), k.soft_shrink, k.celu, k.glu,
    k.sparse_plus, k.squareplus,
    lambda x: k.separable_conv(x, np.ones((2, 4, 1), "float32"), np.ones((1, 4, 2), "float32")), k.gelu, k.silu,
    k.selu,
    lambda x: k.threshold(x, 0.2, 0.1),
    lambda x: k.dot_product_attention(*[k.reshape(x, (-1, 3, 2, 2))] * 3, is_causal=True),
    lambda x: k.in_top_k(k.argmin(x[:, 0], axis=-1), x[:, 1], 2),
    lambda x: k.image.resize(k.reshape(x, (-1, 2, 2, 3)), (3, 5)),
    lambda x: k.det(k.matmul(x, k.transpose(x, (0, 2, 1)))),
    lambda x: k.image.rgb_to_grayscale(k.reshape(x, (-1, 2, 2, 3))),
    lambda x: k.stft(k.reshape(x, (-1, 12)), 4, 2, 4)[1],
    lambda x: k.nn.depth_to_space(k.reshape(x, (-1, 1, 3, 4)), 2),
    lambda x: k.cast(k.scatter([[0], [2]], x[:2, 0], (4, 4)), "float32"),
]  # fmt: skip


@pytest.mark.parametrize(
    "operations", [ELEMENTS, REDUCED, MOVED, PRODUCTS], ids=["elements", "sums", "views", "products"]
)
def test_operations_give_what_keras_gives(operations: list[Made]) -> None:
    x = keras.Input((3, 4))
    model = keras.Model(x, [operation(x) for operation in operations])
    example = np.random.default_rng(5).normal(size=(2, 3, 4)).astype(np.float32)
    _, report = converted(model, example, Request())
    assert report is not None
    assert len(report.outputs) == len(operations)


def test_as_many_operations_have_rules_as_keras_has_layers_and_more() -> None:
    assert sum(name.startswith("ops.") for name in rules()) > 180
