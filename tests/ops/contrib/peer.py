"""Models of one node run by onnxruntime and by every provider, and compared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import GraphProto, ModelProto, TensorProto, helper

import ingot
from ingot.dtypes import DType

MICROSOFT = "com.microsoft"
PROVIDERS = {"reference": ("reference",), "cpu": ("cpu", "reference")}


def agrees(
    op_type: str,
    *inputs: Any,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    outputs: int = 1,
    domain: str = MICROSOFT,
    constant: Collection[int] = (),
    compiled: bool = True,
    steps: int = 0,
    **attributes: Any,
) -> list[Any]:
    """onnxruntime's results for arrays (None for an input left out), once both providers have given the same.

    Inputs whose places `constant` names are initialisers. `compiled` asserts that the compiler takes the node; integers
    may differ by `steps`.
    """
    model = of_one_node(op_type, inputs, outputs, domain, constant, attributes)
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in constant}
    expected = on_onnxruntime(model, feeds)
    for results in on_ingot(model, feeds, compiled=compiled):
        same(results, expected, rtol, atol, steps)
    return expected


def on_onnxruntime(model: ModelProto, feeds: dict[str, Any]) -> list[Any]:
    """What onnxruntime computes on one thread, the model as it is."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"], enable_fallback=False
    )
    return list(session.run(None, feeds))


def on_ingot(model: ModelProto, feeds: dict[str, Any], *, compiled: bool = True) -> list[list[Any]]:
    """What each provider computes; with `compiled`, the compiler has left nothing to the reference."""
    results = []
    for names in PROVIDERS.values():
        session = ingot.Session(model.SerializeToString(), providers=names, fallback=False)
        if compiled and names[0] == "cpu":
            assert session.compiled is not None
            calls = session.compiled.program.calls
            assert not calls, [call.reason for call in calls.values()]
        results.append(list(session.run(None, feeds)))
    return results


def same(results: Sequence[Any], expected: Sequence[Any], rtol: float, atol: float, steps: int = 0) -> None:
    """AssertionError unless arrays are of the same types and shapes and nearly the same elements."""
    assert len(results) == len(expected)
    for result, theirs in zip(results, expected, strict=True):
        assert result.shape == theirs.shape, (result.shape, theirs.shape)
        if theirs.dtype == object:
            assert result.tolist() == theirs.tolist()
            continue
        assert result.dtype == theirs.dtype
        if theirs.dtype.kind in "biu":
            assert np.abs(result.astype(np.int64) - theirs.astype(np.int64)).max(initial=0) <= steps
        else:
            np.testing.assert_allclose(result.astype(np.float64), theirs.astype(np.float64), rtol=rtol, atol=atol)


def of_one_node(
    op_type: str,
    inputs: Sequence[Any],
    outputs: int,
    domain: str,
    constant: Collection[int],
    attributes: dict[str, Any],
) -> ModelProto:
    """A model of one node, all of its sizes known."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    held = [_tensor(names[i], inputs[i]) for i in sorted(constant)]
    declared = [
        helper.make_tensor_value_info(name, int(DType.of(x.dtype)), x.shape)
        for i, (name, x) in enumerate(zip(names, inputs, strict=True))
        if name and i not in constant
    ]
    return model_of([node], declared, [f"y{i}" for i in range(outputs)], held, domain)


def model_of(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[str],
    held: Sequence[Any] = (),
    domain: str = MICROSOFT,
) -> ModelProto:
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph: GraphProto = helper.make_graph(list(nodes), "g", list(inputs), results, list(held))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    if domain not in ("", MICROSOFT):
        imports.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def _tensor(name: str, x: Any) -> TensorProto:
    if x.dtype == object:
        return helper.make_tensor(name, TensorProto.STRING, x.shape, [text.encode() for text in x.reshape(-1)])
    tensor = TensorProto(name=name, data_type=int(DType.of(x.dtype)), dims=x.shape)
    tensor.raw_data = np.ascontiguousarray(x).tobytes()
    return tensor
