"""Small models for the tests of the command line, and what its runner is called."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from click.testing import Result

from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.ir import Graph, Model, Node, Tensor, TensorType, Value

Run = Callable[..., Result]
"""Runs `ingot` with the arguments given; `input=` is what it reads from stdin."""


def classifier(*, name: str = "classifier", source: str = "x", result: str = "y") -> Model:
    """`y = Relu(x @ W + b)` with a symbolic batch, 4,096 + 128 bytes of weights and some metadata."""
    x = Value(source, TensorType(DType.FLOAT32, (symbol("batch"), 32)))
    weights = Value("W", constant=Tensor(np.arange(1024, dtype=np.float32).reshape(32, 32), name="W"))
    bias = Value("b", constant=Tensor(np.ones(32, np.float32), name="b"))
    product = Node("MatMul", [x, weights], ["product"], name="multiply")
    total = Node("Add", [product.output, bias], ["sum"], name="add")
    final = Node("Relu", [total.output], [Value(result, TensorType(DType.FLOAT32, (symbol("batch"), 32)))], name="relu")
    return Model(
        Graph([x], [final.output], [product, total, final], [weights, bias], name=name),
        {"": 18},
        ir_version=10,
        producer_name="tests",
        producer_version="1.0",
        doc_string="sorts pets",
        metadata={"author": "me", "labels": "cat\ndog"},
    )
