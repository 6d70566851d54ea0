"""Proof by running: a built model is checked and evaluated by the onnx package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import inliner, shape_inference
from onnx.reference import ReferenceEvaluator

from ingot.format.encode import encode
from ingot.ir import Model

Run = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def run() -> Run:
    """`run(model, x=array)`: the outputs, after onnx has checked the model and every type in it."""
    return evaluated


@pytest.fixture(scope="session")
def check() -> Callable[[Model], Any]:
    """`check(model)`: the model as onnx's protobuf message, after onnx has checked it and every type in it."""
    return checked


def evaluated(model: Model, **inputs: np.ndarray[Any, Any]) -> list[Any]:
    proto = checked(model)
    if proto.functions:  # onnx's evaluator does not resolve references to attributes everywhere, its inliner does
        for nodes in (proto.graph.node, *(function.node for function in proto.functions)):
            state_defaults(nodes, proto.functions)
        proto = inliner.inline_local_functions(proto)
    return list(ReferenceEvaluator(proto).run(None, inputs))


def checked(model: Model) -> Any:
    proto = onnx.ModelProto.FromString(encode(model))
    typed = shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    known = {info.name: info for info in typed.graph.output}
    for output in proto.graph.output:  # onnx wants the shapes of a model's outputs, which inference finds
        if not output.type.HasField("tensor_type") or not output.type.tensor_type.HasField("shape"):
            output.CopyFrom(known[output.name])
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.shape.SetInParent()
    onnx.checker.check_model(proto, full_check=True)
    return proto


def state_defaults(nodes: Any, functions: Any) -> None:
    """Write the defaults of a function's attributes on the nodes that call it, which onnx's inliner does not."""
    for node in nodes:
        given = {attribute.name for attribute in node.attribute}
        for function in functions:
            if (function.domain, function.name, function.overload) == (node.domain, node.op_type, node.overload):
                node.attribute.extend(default for default in function.attribute_proto if default.name not in given)
        for attribute in node.attribute:
            state_defaults(attribute.g.node, functions)
