"""The layers of networks, said in older versions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ops.nn.older import older, refusal

RNG = np.random.default_rng(0)
BFLOAT16 = ml_dtypes.bfloat16


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        ("GlobalAveragePool", {}),
        ("GlobalMaxPool", {}),
        ("GlobalLpPool", {"p": 3}),
        ("LpNormalization", {"axis": 1, "p": 1}),
        ("AveragePool", {"kernel_shape": [2, 2]}),
        ("MaxPool", {"kernel_shape": [2, 2]}),
        ("LpPool", {"kernel_shape": [2, 2]}),
    ],
)
def test_bfloat16_goes_through_float32(op_type: str, attributes: dict[str, Any]) -> None:
    said = older(op_type, numbers(2, 3, 4, 4, dtype=BFLOAT16), opset=22, to=21, **attributes)
    assert said == ["Cast", op_type, "Cast"]


def test_every_input_of_a_convolution_of_bfloat16_is_cast() -> None:
    x, w, b = (numbers(*shape, dtype=BFLOAT16) for shape in ((1, 2, 5), (3, 2, 2), (3,)))
    assert older("Conv", x, w, b, opset=22, to=13, pads=[1, 0]) == ["Cast", "Cast", "Cast", "Conv", "Cast"]
    assert "bfloat16" in refusal("Conv", x, w, opset=22, to=12)


def test_indices_of_a_pool_are_not_cast() -> None:
    x = numbers(1, 1, 4, 4, dtype=BFLOAT16)
    assert older("MaxPool", x, opset=22, to=21, outputs=2, kernel_shape=[2, 2]) == ["Cast", "MaxPool", "Cast"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_pool_of_bytes_in_padding_alone_is_the_least(dtype: Any) -> None:
    x = np.array([[[5]]], dtype)
    said = older("MaxPool", x, opset=12, to=11, kernel_shape=[2], dilations=[2], pads=[1, 2])
    assert said == ["Cast", "MaxPool", "Max", "Cast"]
    assert older("MaxPool", x, opset=12, to=11, kernel_shape=[1]) == ["Cast", "MaxPool", "Cast"]


@pytest.mark.parametrize("op_type", ["AveragePool", "MaxPool", "LpPool"])
def test_a_window_beyond_the_end_is_padding(op_type: str) -> None:
    x = numbers(2, 3, 5, 6)
    before = 17 if op_type == "LpPool" else 9
    how = {"kernel_shape": [2, 3], "strides": [2, 2], "ceil_mode": 1, "opset": 22, "to": before}
    assert older(op_type, x, **how, dims={0: ["n", "c", 5, 6]}) == [op_type]
    assert "spatial sizes" in refusal(op_type, x, **how, dims={0: [2, 3, "h", "w"]})


def test_a_window_beyond_padding_that_counts_is_a_convolution() -> None:
    x = numbers(2, 3, 5)
    how = {"kernel_shape": [3], "strides": [2], "pads": [1, 0], "count_include_pad": 1, "ceil_mode": 1}
    assert older("AveragePool", x, opset=22, to=9, **how) == ["Conv", "Div"]


def test_means_of_dilated_windows_are_a_convolution() -> None:
    x = numbers(2, 3, 7, 7)
    how = {"kernel_shape": [2, 3], "dilations": [2, 3], "pads": [1, 0, 0, 1]}
    assert older("AveragePool", x, opset=22, to=18, **how) == ["Conv", "Div"]
    half = older("AveragePool", np.full_like(x, 60000, np.float16), opset=22, to=18, rtol=1e-3, **how)
    assert half == ["Cast", "Conv", "Div", "Cast"]
    assert older("LpPool", x, opset=22, to=17, p=3, **how) == ["Abs", "Pow", "Conv", "Pow"]
    assert "dilations came with version 10" in refusal("MaxPool", x, opset=22, to=9, **how)


def test_dilations_of_one_are_left_out() -> None:
    assert older("AveragePool", numbers(1, 1, 4), opset=19, to=18, kernel_shape=[2], dilations=[1]) == ["AveragePool"]
    assert older("MaxPool", numbers(1, 1, 4), opset=10, to=9, kernel_shape=[2], dilations=[1]) == ["MaxPool"]


def test_padding_that_counts_comes_before_the_pool() -> None:
    x = numbers(1, 2, 4, 4)
    how = {"kernel_shape": [2, 2], "count_include_pad": 1, "opset": 7, "to": 6}
    assert older("AveragePool", x, pads=[1, 0, 1, 1], **how) == ["Pad", "AveragePool"]
    assert older("AveragePool", x, auto_pad="SAME_LOWER", **how) == ["Pad", "AveragePool"]
    assert older("AveragePool", x, **how) == ["AveragePool"]


def test_indices_came_later_than_the_pool() -> None:
    message = refusal("MaxPool", numbers(1, 1, 4), opset=8, to=7, outputs=2, kernel_shape=[2])
    assert "output 1 of MaxPool" in message


def test_orders_of_norms_were_floats() -> None:
    assert older("LpPool", numbers(1, 1, 4), opset=2, to=1, kernel_shape=[2], p=1) == ["LpPool"]
    assert older("GlobalLpPool", numbers(1, 1, 4), opset=2, to=1, p=3) == ["GlobalLpPool"]


def test_batch_normalization_of_several_types() -> None:
    x, parameters = numbers(2, 3, 4, dtype=np.float16), [numbers(3) for _ in range(3)]
    variance = np.abs(numbers(3))
    how = {"opset": 15, "rtol": 1e-2}
    assert older("BatchNormalization", x, *parameters, variance, to=14, **how) == ["Cast", "BatchNormalization", "Cast"]
    said = older("BatchNormalization", x.astype(BFLOAT16), *parameters, variance, to=13, **how)
    assert said == ["Cast", "BatchNormalization", "Cast"]


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (6, 3), (5,)])
def test_batch_normalization_in_training_is_written_out(shape: tuple[int, ...]) -> None:
    channels = shape[1] if len(shape) > 1 else 1
    parameters = [np.abs(numbers(channels)) for _ in range(4)]
    how = {"training_mode": 1, "momentum": 0.7, "outputs": 3, "dims": {0: ["n", *shape[1:]]}}
    said = older("BatchNormalization", numbers(*shape), *parameters, opset=15, to=9, **how)
    assert said.count("ReduceMean") == 3
    assert said.count("BatchNormalization") == 1


@pytest.mark.parametrize("to", [8, 6, 1])
def test_batch_normalization_outside_of_training_is_one_node(to: int) -> None:
    parameters = [np.abs(numbers(3)) for _ in range(4)]
    assert older("BatchNormalization", numbers(2, 3, 4), *parameters, opset=9, to=to) == ["BatchNormalization"]


@pytest.mark.parametrize("to", [11, 9, 6, 1])
def test_dropout_outside_of_training_is_one_node(to: int) -> None:
    x = np.array([[0, 1], [np.nan, -np.inf]], np.float32)
    assert older("Dropout", x, opset=13, to=to) == ["Dropout"]
    assert older("Dropout", x, np.float32(0.3), np.bool_(False), constants=(1, 2), opset=13, to=to) == ["Dropout"]
    assert older("Dropout", x, opset=13, to=to, outputs=2)[:1] == ["Dropout"]


def test_dropout_that_may_train_is_refused() -> None:
    x = numbers(2, 2)
    assert "training came with version 12" in refusal("Dropout", x, None, np.bool_(True), opset=13, to=11)
    assert "training" in refusal("Dropout", x, None, np.bool_(True), constants=(2,), opset=13, to=11)
    zero = {"constants": (1, 2), "opset": 13, "to": 11}
    assert older("Dropout", x, np.float32(0), np.bool_(True), **zero) == ["Dropout"]


def test_dropout_of_small_floats() -> None:
    x = np.array([1, np.inf, -0.5], ml_dtypes.float8_e5m2)
    assert older("Dropout", x, opset=22, to=21, outputs=2) == ["Cast", "Dropout", "Cast"]
    said = older("Dropout", numbers(3, dtype=BFLOAT16), np.asarray(0.25, BFLOAT16), opset=22, to=21)
    assert said == ["Cast", "Dropout"]


def test_a_softmax_of_an_axis_that_is_not_the_last_is_turned() -> None:
    assert older("Softmax", numbers(2, 3, 4), opset=13, to=11, axis=1) == ["Transpose", "Softmax", "Transpose"]
    assert older("LogSoftmax", numbers(2, 3, 4), opset=13, to=1, dims={0: ["a", "b", "c"]}) == ["LogSoftmax"]


def test_layer_normalization_of_every_type() -> None:
    said = older("LayerNormalization", numbers(2, 3, 4), numbers(4), opset=17, to=16, outputs=3)
    assert said == ["ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Reciprocal", "Mul", "Mul"]
    for dtype, rtol in ((np.float64, 1e-5), (np.float16, 2e-3), (BFLOAT16, 1e-2)):
        x, scale, b = (numbers(*shape, dtype=dtype) for shape in ((2, 3, 4), (3, 4), (4,)))
        older("LayerNormalization", x, scale, b, opset=17, to=16, axis=1, rtol=rtol, dims={0: ["n", "m", 4]})
    older("LayerNormalization", numbers(2, 4), numbers(4), opset=17, to=16, outputs=3, stash_type=16, rtol=1e-2)


def test_rms_normalization_has_the_type_of_its_scale() -> None:
    said = older("RMSNormalization", numbers(2, 3, 4), numbers(4), opset=23, to=22)
    assert said == ["Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]
    older("RMSNormalization", numbers(2, 4, dtype=np.float16), numbers(4), opset=23, to=17, rtol=1e-3)
    older("RMSNormalization", numbers(2, 4), numbers(4, dtype=BFLOAT16), opset=23, to=13, stash_type=11, rtol=1e-2)


@pytest.mark.parametrize("shape", [(2, 6, 3, 2), (0, 6, 3), (2, 6, 0), (3, 6)])
def test_group_normalization_of_any_shape(shape: tuple[int, ...]) -> None:
    scale, bias = numbers(6), numbers(6)
    for dims in (shape, ["n", 6, *shape[2:]], ["n", "c", *("hw"[: len(shape) - 2])]):
        older("GroupNormalization", numbers(*shape), scale, bias, opset=21, to=20, num_groups=3, dims={0: dims})
    fixed = older("GroupNormalization", numbers(2, 6, 5), scale, bias, opset=21, to=8, num_groups=2)
    assert "Shape" not in fixed


def test_group_normalization_with_one_scale_for_each_group() -> None:
    x, scale, bias = numbers(2, 6, 5), numbers(3), numbers(3)
    older("GroupNormalization", x, scale, bias, opset=18, to=17, num_groups=3)


def test_mean_variance_normalization_of_half_floats_keeps_its_epsilon() -> None:
    x = np.ones((2, 3, 4, 4), np.float16)
    assert older("MeanVarianceNormalization", x, opset=9, to=8)[0] == "Cast"


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turned", [0, 4])
def test_rotary_embedding_of_both_layouts(interleaved: int, turned: int) -> None:
    how = {"interleaved": interleaved, "rotary_embedding_dim": turned, "opset": 23, "to": 22}
    cos, sin = numbers(9, turned // 2 or 3), numbers(9, turned // 2 or 3)
    places = RNG.integers(0, 9, (2, 5))
    x = numbers(2, 4, 5, 6)
    older("RotaryEmbedding", x, cos, sin, places, dims={0: ["b", "h", "l", 6], 3: ["b", "l"]}, **how)
    flat = numbers(2, 5, 24)
    older("RotaryEmbedding", flat, cos, sin, places, num_heads=4, dims={0: ["b", "l", 24]}, **how)
    rows = cos[places], sin[places]
    older(
        "RotaryEmbedding", flat.astype(np.float16), *(r.astype(np.float16) for r in rows), num_heads=4, rtol=1e-2, **how
    )


@pytest.mark.parametrize("length", [0, 1, 5])
@pytest.mark.parametrize("past", [True, False])
def test_causal_convolution_of_any_length(length: int, past: bool) -> None:
    x, weight, bias = numbers(2, 3, length), numbers(3, 1, 4), numbers(3)
    state = numbers(2, 3, 3) if past else None
    for dims in ({}, {0: ["b", 3, "l"]}):
        said = older(
            "CausalConvWithState", x, weight, bias, state, opset=27, to=26, outputs=2, activation="silu", dims=dims
        )
        assert "Conv" in said


def test_linear_attention_is_a_scan() -> None:
    q, k, v = numbers(2, 5, 12), numbers(2, 5, 6), numbers(2, 5, 8)
    decay, beta = -np.abs(numbers(2, 5, 2)), np.abs(numbers(2, 5, 1))
    how = {"q_num_heads": 4, "kv_num_heads": 2, "outputs": 2, "opset": 27, "to": 26}
    dims = {index: ["b", "l", size] for index, size in ((0, 12), (1, 6), (2, 8), (4, 2), (5, 1))}
    assert "Scan" in older("LinearAttention", q, k, v, None, decay, beta, dims=dims, **how)
    older("LinearAttention", q, k, v, numbers(2, 2, 3, 4), update_rule="linear", **how)


def test_blocks_that_do_not_overlap_are_put_in_their_places() -> None:
    x, image, block = numbers(2, 3 * 4, 6), np.array([4, 6]), np.array([2, 2])
    how = {"constants": (1, 2), "dims": {0: ["n", 12, 6]}, "opset": 18}
    assert "ScatterND" in older("Col2Im", x, image, block, to=11, strides=[2, 2], **how)


def test_blocks_that_overlap_are_summed() -> None:
    image, block = np.array([4, 5]), np.array([2, 3])
    how = {"pads": [1, 0, 1, 1], "dilations": [1, 1], "strides": [1, 2], "constants": (1, 2)}
    x = numbers(2, 12, 5 * 2)
    older("Col2Im", x, image, block, opset=18, to=17, **how)
    older("Col2Im", x.astype(BFLOAT16), image, block, opset=18, to=17, rtol=1e-2, **how)
    assert "computed while the model runs" in refusal("Col2Im", x, image, block, opset=18, to=17)


@pytest.mark.parametrize("zero", [np.uint8(3), np.array([3, 250], np.uint8)])
def test_a_convolution_of_bytes_is_one_of_floats(zero: Any) -> None:
    x, w = (RNG.integers(0, 256, shape).astype(np.uint8) for shape in ((1, 2, 6), (2, 2, 3)))
    said = older("ConvInteger", x, w, np.uint8(7), zero, opset=10, to=9, pads=[1, 1])
    assert said[-2:] == ["Conv", "Cast"]


def test_a_quantised_convolution_rounds_to_even() -> None:
    x, w = np.arange(-8, 8, dtype=np.int8).reshape(1, 1, 16), np.array([[[1]], [[3]]], np.int8)
    scales = np.float32(0.5), np.array([1, 0.25], np.float32), np.float32(1)
    zeros = np.int8(0), np.zeros(2, np.int8), np.int8(-5)
    b = np.array([1, 2**30], np.int32)
    inputs = (x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], zeros[2], b)
    older("QLinearConv", *inputs, opset=10, to=9, rtol=0)
