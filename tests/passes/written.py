"""Graphs as a few lines, before and after a pass, and what they compute held against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import ingot
from ingot.infer import infer
from ingot.infer.driver import Facts
from ingot.ir.model import nested_graphs

HEADER = '<ir_version: 14, opset_import: ["" : 28, "com.microsoft" : 1]>\n'
Pass = Callable[[ingot.Model, Facts], int]


def parsed(text: str) -> ingot.Model:
    """A model of the newest operators from the text of its graph, with functions after it."""
    return ingot.parse_model(HEADER + text)


def applied(each: Pass, model: ingot.Model | str) -> tuple[int, list[str]]:
    """How much a pass changed, and the nodes after it; AssertionError if a result is another than before."""
    model = parsed(model) if isinstance(model, str) else model
    before = model.copy()
    names = model.graph.inputs.names, model.graph.outputs.names
    count = each(model, infer(model))
    ingot.verify(model)
    assert (model.graph.inputs.names, model.graph.outputs.names) == names
    compare(before, model)
    return count, lines(model)


def lines(model: ingot.Model) -> list[str]:
    """Each node as `y = Op(x, [1, 2])`, small constants as what they hold, subgraphs after the graph around them."""
    return [
        f"{', '.join(value.name or '_' for value in node.outputs)} = {node.op_type}"
        f"({', '.join(_shown(value) for value in node.inputs)})"
        for graph in nested_graphs(model.graph)
        for node in graph
    ]


def compare(before: ingot.Model, after: ingot.Model, feeds: Mapping[str, Any] | None = None) -> None:
    """AssertionError if two models give other results on the same inputs, by more than rounding."""
    given = random_feeds(before) if feeds is None else feeds
    old, new = (ingot.Session(model).run(None, given) for model in (before, ingot.decode(ingot.encode(after))))
    for one, other in zip(old, new, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype.kind in "biuO":
            np.testing.assert_array_equal(other, one)
        else:
            np.testing.assert_allclose(other.astype(np.float64), one.astype(np.float64), rtol=1e-4, atol=2e-5)


def random_feeds(model: ingot.Model, sizes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Inputs of the types a model declares; a size by name is what `sizes` says, else 3."""
    generator = np.random.default_rng(0)
    feeds: dict[str, Any] = {}
    for value in model.inputs:
        assert isinstance(value.type, ingot.TensorType)
        assert value.type.shape is not None
        shape = [dim if isinstance(dim, int) else (sizes or {}).get(str(dim), 3) for dim in value.type.shape]
        dtype = value.type.dtype.numpy
        if dtype.kind in "biu":
            feeds[value.name] = generator.integers(0, 2, shape).astype(dtype)
        else:
            feeds[value.name] = generator.standard_normal(shape).astype(dtype)
    return feeds


def _shown(value: ingot.Value | None) -> str:
    if value is None:
        return ""
    if isinstance(value.constant, ingot.Tensor) and not value.is_input and value.constant.size <= 8:
        return str(value.constant.tolist())
    return value.name
