"""Small models for the tests of compat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

X = np.array([[1, -2, 3], [4, 5, -16]], np.float32)
"""What `add_relu` is fed."""


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    initializers: Sequence[onnx.TensorProto] = (),
    **more: Any,
) -> bytes:
    """A model of opset 17, as bytes."""
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers, doc_string="of the graph")
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    data: bytes = helper.make_model(graph, opset_imports=imports, ir_version=8, **more).SerializeToString()
    return data


def tensor(name: str, shape: Sequence[int | str | None] | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def weight(values: Sequence[float] = (1, 2, 3)) -> onnx.TensorProto:
    return helper.make_tensor("w", TensorProto.FLOAT, [len(values)], values)


def add_relu(*, overridable: bool = True, **more: Any) -> bytes:
    """`z = Relu(x + w)` for x of [n, 3]; w is [1, 2, 3], and may be fed if it is overridable."""
    nodes = [
        helper.make_node("Add", ["x", "w"], ["y"], name="add"),
        helper.make_node("Relu", ["y"], ["z"], name="relu"),
    ]
    inputs = [tensor("x", ["n", 3]), *([tensor("w", [3])] if overridable else [])]
    return model(nodes, inputs, [tensor("z", ["n", None])], [weight()], **more)


def external_add() -> bytes:
    """The same with w in a file `w.bin` that is nowhere."""
    proto = onnx.load_from_string(add_relu(overridable=False))
    stored = proto.graph.initializer[0]
    stored.ClearField("float_data")
    stored.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "4"), ("length", "12")):
        entry = stored.external_data.add()
        entry.key, entry.value = key, value
    data: bytes = proto.SerializeToString()
    return data


def one_node(
    op_type: str,
    inputs: Sequence[onnx.ValueInfoProto],
    output: onnx.ValueInfoProto,
    domain: str = "",
    **attributes: Any,
) -> bytes:
    names = [value.name for value in inputs]
    node = helper.make_node(op_type, names, [output.name], domain=domain, **attributes)
    return model([node], inputs, [output])
