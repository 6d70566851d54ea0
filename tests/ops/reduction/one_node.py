"""Models of one node: evaluated through upgrade and inference, and inferred from what is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import ingot
from ingot.dtypes import DType
from ingot.infer import infer
from ingot.ops.catalog import standard
from ingot.ops.facts import Fact
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import upgrade


def evaluate(op_type: str, *inputs: Any, opset: int = 28, outputs: int = 1, **attributes: Any) -> Any:
    """What a node computes; what was inferred is checked against it. An input may be None."""
    arrays = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs) if x is not None}
    declared = [
        helper.make_tensor_value_info(name, int(DType.of(array.dtype)), array.shape) for name, array in arrays.items()
    ]
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    model = ingot.from_onnx(_model(op_type, names, declared, outputs, opset, {}, attributes))
    upgrade(model)
    facts = infer(model)
    before = {name: array.copy() for name, array in arrays.items()}
    results = Evaluation(model, standard()).run(arrays)
    for name, array in arrays.items():
        assert array.tobytes() == before[name].tobytes(), f"{name} was changed"
    for value, result in zip(model.graph.outputs, results, strict=True):
        assert isinstance(result, np.ndarray)
        fact = facts[value]
        assert fact.dtype is None or fact.dtype == DType.of(result.dtype)
        if fact.shape is not None:
            assert len(fact.shape) == result.ndim, f"{fact} is not {result.shape}"
            for inferred, size in zip(fact.shape, result.shape, strict=True):
                assert not isinstance(inferred, int) or inferred == size, f"{fact} is not {result.shape}"
    return results[0] if outputs == 1 else results


def inferred(
    op_type: str,
    types: Sequence[tuple[str, Sequence[int | str | None] | None] | None],
    constants: Mapping[int, Any] | None = None,
    *,
    outputs: int = 1,
    **attributes: Any,
) -> Any:
    """What is known of the outputs, as text; inputs are declared or None, those in `constants` are initialisers."""
    held = {index: np.asarray(value) for index, value in (constants or {}).items()}
    declared = [
        helper.make_tensor_value_info(f"x{i}", int(DType.of(type_[0])), None if type_[1] is None else list(type_[1]))
        for i, type_ in enumerate(types)
        if type_ is not None and i not in held
    ]
    names = [f"x{i}" for i in range(max(len(types), *(index + 1 for index in held), 0))]
    names = ["" if i < len(types) and types[i] is None and i not in held else name for i, name in enumerate(names)]
    initializers = {f"x{i}": array for i, array in held.items()}
    model = ingot.from_onnx(_model(op_type, names, declared, outputs, 28, initializers, attributes))
    facts: dict[Any, Fact] = infer(model, name_sizes=False)
    found = [str(facts[value]) for value in model.graph.outputs]
    return found[0] if outputs == 1 else found


def _model(
    op_type: str,
    names: Sequence[str],
    declared: Sequence[Any],
    outputs: int,
    opset: int,
    initializers: Mapping[str, Any],
    attributes: Mapping[str, Any],
) -> Any:
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, **attributes)
    graph = helper.make_graph(
        [node],
        "one node",
        list(declared),
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in results],
        [numpy_helper.from_array(array, name) for name, array in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
