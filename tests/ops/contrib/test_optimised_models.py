"""Models that onnxruntime has saved optimised, with operators that only it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from ops.contrib.peer import MICROSOFT, agrees, of_one_node, on_ingot, on_onnxruntime, same

RNG = np.random.default_rng(13)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def codes(*shape: int, dtype: Any = np.uint8) -> Any:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def optimised(model: ModelProto, path: Path) -> list[tuple[str, str]]:
    """The operators of a model after onnxruntime has saved it to `path` with all that it does for this machine."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = ModelProto.FromString(path.read_bytes())
    return [(node.domain, node.op_type) for node in found.graph.node]


def network(channels: int, last: Any = ()) -> tuple[ModelProto, dict[str, Any]]:
    """Convolutions of few and many channels, by channel and in pools, with an addition, and what `last` adds."""
    held = {
        "w1": floats(channels, 3, 3, 3),
        "b1": floats(channels),
        "w2": floats(channels, channels, 1, 1),
        "w3": floats(channels, 1, 3, 3),
        "b3": floats(channels),
        "w4": floats(channels + 4, channels, 3, 3),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"]),
        helper.make_node("Add", ["c2", "r1"], ["a1"]),
        helper.make_node("Relu", ["a1"], ["r2"]),
        helper.make_node("Conv", ["r2", "w3", "b3"], ["c3"], pads=[1] * 4, group=channels),
        helper.make_node("LeakyRelu", ["c3"], ["r3"], alpha=0.1),
        helper.make_node("MaxPool", ["r3"], ["m"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
        helper.make_node("Conv", ["m", "w4"], ["c4"], pads=[1] * 4),
        *last,
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 17, 18])]
    output = nodes[-1].output[0]
    results = [helper.make_empty_tensor_value_info(output)]
    held["scales"] = np.array([1, 1, 2, 2], np.float32)
    initializers = [numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "g", inputs, results, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return model, {"x": floats(2, 3, 17, 18)}


ENDS = {
    "mean": [helper.make_node("GlobalAveragePool", ["c4"], ["y"])],
    "greatest": [helper.make_node("GlobalMaxPool", ["c4"], ["y"])],
    "means": [helper.make_node("AveragePool", ["m"], ["y"], kernel_shape=[2, 2], pads=[1, 0, 1, 0])],
    "joined": [helper.make_node("Concat", ["m", "m"], ["y"], axis=1)],
    "nearest": [
        helper.make_node(
            "Resize", ["m", "", "scales"], ["y"], coordinate_transformation_mode="asymmetric", nearest_mode="floor"
        )
    ],
    "linear": [helper.make_node("Resize", ["m", "", "scales"], ["y"], mode="linear")],
    "last": [helper.make_node("Transpose", ["c4"], ["y"], perm=[0, 2, 3, 1])],
}


@pytest.mark.parametrize(("end", "channels"), [*((end, 32) for end in ENDS), ("mean", 8), ("joined", 16), ("last", 20)])
def test_a_model_saved_for_this_machine_gives_the_same(channels: int, end: str, tmp_path: Path) -> None:
    model, feeds = network(channels, ENDS[end])
    names = optimised(model, tmp_path / "optimised.onnx")
    assert ("com.microsoft.nchwc", "Conv") in names
    expected = on_onnxruntime(model, feeds)
    saved = ModelProto.FromString((tmp_path / "optimised.onnx").read_bytes())
    for results in on_ingot(saved, feeds):
        same(results, expected, 1e-3, 1e-4)


@pytest.mark.parametrize(("filters", "channels", "group"), [(32, 24, 1), (24, 32, 1), (32, 8, 2)])
def test_filters_whose_numbers_fit_blocks_of_eight_alone_are_read_so(filters: int, channels: int, group: int) -> None:
    x, w = floats(1, channels * group, 5, 5), floats(filters, channels, 3, 3)
    blocked = w.reshape(filters // 8, 8, channels // 8, 8, 3, 3).transpose(0, 2, 4, 5, 3, 1).reshape(w.shape)
    plain = of_one_node("FusedConv", (x, w), 1, MICROSOFT, (1,), {"group": group})
    saved = of_one_node("Conv", (x, np.ascontiguousarray(blocked)), 1, "com.microsoft.nchwc", (1,), {"group": group})
    for expected, results in zip(on_ingot(plain, {"x0": x}), on_ingot(saved, {"x0": x}), strict=True):
        same(results, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_pools_with_channels_last(dtype: Any) -> None:
    x = codes(2, 7, 8, 5, dtype=dtype)
    agrees("NhwcMaxPool", x, kernel_shape=[2, 3], pads=[1, 1, 0, 1], strides=[2, 1])
    agrees("NhwcMaxPool", x, kernel_shape=[3, 3], dilations=[2, 1], ceil_mode=1, strides=[2, 2])


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize(("group", "by_filter"), [(1, True), (2, False), (6, True)])
def test_convolutions_of_bytes(last: int, group: int, by_filter: bool) -> None:
    x = codes(2, 7, 8, 6) if last else codes(2, 6, 7, 8)
    w = codes(12, 6 // group, 3, 3, dtype=np.int8)
    w_scale = RNG.uniform(0.01, 0.02, 12 if by_filter else ()).astype(np.float32)
    args = [x, np.float32(0.05), np.uint8(120), w, w_scale, np.zeros(12 if by_filter else (), np.int8)]
    more = [np.float32(0.4), np.uint8(100), RNG.integers(-99, 99, 12).astype(np.int32)]
    inputs = [np.asarray(each) for each in (*args, *more)]
    agrees("QLinearConv", *inputs, constant=(3, 5, 8), channels_last=last, group=group, pads=[1, 1, 0, 1], steps=1)
