"""What a graph says in primitives against what the reference computes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

import ingot
from ingot.dtypes import Array
from ingot.infer import infer
from ingot.ir.model import Model
from ingot.lower.graph import lower_graph
from ingot.lower.program import Program
from ingot.ops.catalog import standard
from ingot.prim.evaluate import evaluate, read_sizes
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import upgrade


def agree(graph: str, rtol: float = 1e-6, atol: float = 0, /, **feeds: Any) -> None:
    """AssertionError unless every node of a graph, in text form, has a rule and the outputs are those of the reference.

    Sizes with names are what the arrays given have.
    """
    model, program = lowered(graph)
    assert not program.calls, refusal(graph)
    arrays = {name: np.asarray(array) for name, array in feeds.items()}
    sizes: dict[str, int] = {}
    for name, tensor in program.inputs.items():
        named = zip(tensor.shape, arrays[name].shape, strict=True)
        sizes.update({str(dim): size for dim, size in named if not isinstance(dim, int)})
    sizes = read_sizes(program.readings, arrays, sizes)
    results = evaluate([program.values[value] for value in model.graph.outputs], arrays, sizes)
    expected = Evaluation(model, standard()).run(arrays)
    for value, result, reference in zip(model.graph.outputs, results, expected, strict=True):
        _same(value.name, result, reference, rtol, atol)


def refusal(graph: str) -> str:
    """Why the first of the nodes that the reference runs is not said in primitives; empty if all are."""
    return next((f"{node.op_type}: {call.reason}" for node, call in lowered(graph)[1].calls.items()), "")


def lowered(graph: str) -> tuple[Model, Program]:
    model = ingot.parse_model(f'<ir_version: 13, opset_import: ["" : 28, "com.microsoft" : 1]> {graph}')
    upgrade(model)
    return model, lower_graph(model, infer(model), standard())


def _same(name: str, result: Array, reference: Array, rtol: float, atol: float) -> None:
    assert (result.dtype, result.shape) == (reference.dtype, reference.shape), name
    if reference.dtype.kind in "biu":
        np.testing.assert_array_equal(result, reference, name)
    else:
        wide, exact = result.astype(np.float64), reference.astype(np.float64)
        np.testing.assert_allclose(wide, exact, rtol=rtol, atol=atol, err_msg=name)
