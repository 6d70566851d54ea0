"""Models of one node of any domain: evaluated as a file would be, or only inferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

import ingot
from ingot.dtypes import DType
from ingot.infer import infer
from ingot.ir.model import Model
from ingot.ops.catalog import standard
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import upgrade


def evaluate(
    op_type: str,
    *inputs: Any,
    domain: str = "ai.onnx.ml",
    version: int = 5,
    outputs: int = 1,
    upgraded: bool = True,
    **attributes: Any,
) -> Any:
    """What the node makes of arrays (None for one left out) after upgrade and inference, whose answer is checked."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    declared = {name: _declared(x) for name, x in zip(names, inputs, strict=True) if name}
    model = loaded(written(op_type, names, declared, outputs, domain, version, attributes))
    if upgraded:
        upgrade(model)
    infer(model)
    feeds = {name: x for name, x in zip(names, inputs, strict=True) if name}
    results = Evaluation(model, standard()).run(feeds)
    for value, result in zip(model.graph.outputs, results, strict=True):
        _agree(value.type, result)
    return results[0] if outputs == 1 else results


def inferred(
    op_type: str,
    inputs: Mapping[str, tuple[int, Sequence[int | str | None] | None]],
    *,
    domain: str = "ai.onnx.ml",
    version: int = 5,
    outputs: int = 1,
    **attributes: Any,
) -> Any:
    """The types inferred for the outputs, as text, where the inputs are of the given element types and shapes."""
    model = loaded(written(op_type, list(inputs), dict(inputs), outputs, domain, version, attributes))
    infer(model, name_sizes=False)
    found = [str(value.type) for value in model.graph.outputs]
    return found[0] if outputs == 1 else found


def operators_after_upgrade(
    op_type: str,
    inputs: Mapping[str, tuple[int, Sequence[int | str | None] | None]],
    *,
    version: int,
    outputs: int = 1,
    **attributes: Any,
) -> list[str]:
    model = loaded(written(op_type, list(inputs), dict(inputs), outputs, "ai.onnx.ml", version, attributes))
    upgrade(model)
    return [node.op_type for node in model.graph]


def written(
    op_type: str,
    names: Sequence[str],
    declared: Mapping[str, tuple[int, Sequence[int | str | None] | None]],
    outputs: int,
    domain: str,
    version: int,
    attributes: Mapping[str, Any],
) -> ModelProto:
    node = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    values = [helper.make_tensor_value_info(name, *declared[name]) for name in declared if declared[name][0]]
    graph = helper.make_graph(
        [node], "one", values, [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    )
    imports = [helper.make_opsetid("", 28)]
    if domain:
        imports.append(helper.make_opsetid(domain, version))
    return helper.make_model(graph, opset_imports=imports)


def loaded(model: ModelProto) -> Model:
    found = ingot.from_onnx(model)
    assert isinstance(found, Model)
    return found


def strings(*items: str) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array


def tensor(array: Any) -> TensorProto:
    dtype = DType.of(array.dtype)
    return helper.make_tensor("", int(dtype), array.shape, array.reshape(-1).tolist())


def _declared(x: Any) -> tuple[int, Sequence[int | str | None] | None]:
    return int(DType.of(x.dtype)), x.shape


def _agree(type_: Any, result: Any) -> None:
    if not isinstance(result, np.ndarray) or type_ is None:
        return
    assert type_.dtype is DType.of(result.dtype), (type_, result.dtype)
    if type_.shape is not None:
        assert len(type_.shape) == result.ndim, (type_, result.shape)
        for dim, size in zip(type_.shape, result.shape, strict=True):
            assert not isinstance(dim, int) or dim == size, (type_, result.shape)
