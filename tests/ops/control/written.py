"""Models written as text: upgraded, inferred and evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import parser

import ingot
from ingot.infer import infer
from ingot.ir.model import Model
from ingot.ops.catalog import standard
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import upgrade


def model(graph: str, *, opset: int = 28) -> Model:
    """The model of a graph, in the newest opset."""
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {graph}')
    made = ingot.from_onnx(proto)
    upgrade(made)
    return made


def run(graph: str, *, opset: int = 28, **feeds: Any) -> list[Any]:
    """What a graph computes; what was inferred is checked against it."""
    made = model(graph, opset=opset)
    facts = infer(made)
    results = Evaluation(made, standard()).run(feeds)
    for value, result in zip(made.graph.outputs, results, strict=True):
        fact = facts[value]
        if isinstance(result, np.ndarray) and fact.shape is not None:
            assert len(fact.shape) == result.ndim, f"{fact} is not {result.shape}"
            for known, size in zip(fact.shape, result.shape, strict=True):
                assert not isinstance(known, int) or known == size, f"{fact} is not {result.shape}"
    return results


def types(graph: str, *, opset: int = 28) -> list[str]:
    """What is known of the outputs, as text."""
    made = model(graph, opset=opset)
    facts = infer(made, name_sizes=False)
    return [str(facts[value]) for value in made.graph.outputs]


def f32(*numbers: Any) -> Any:
    return np.asarray(numbers, np.float32)


def i64(*numbers: Any) -> Any:
    return np.asarray(numbers, np.int64)
