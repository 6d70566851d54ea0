"""Random graphs of views, transposes, sums, products and branches compute what they did."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ingot
from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.ir import Graph, Model, Node, TensorType, Value
from ingot.ir.types import Shape
from ingot.passes.optimise import optimise

SIZE = 5
UNARY = ("Relu", "Neg", "Abs", "Sigmoid", "Identity", "Tanh", "Dropout")


class Maker:
    """A graph in the making: each step adds a few nodes to what is there."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        n = symbol("n")
        self.graph = Graph(
            [Value("x", TensorType(DType.FLOAT32, (n, 3, 4))), Value("z", TensorType(DType.FLOAT32, (2, n, 4)))]
        )
        self.shapes: dict[Value, Shape] = {
            v: v.type.shape for v in self.graph.inputs if isinstance(v.type, TensorType) and v.type.shape
        }
        steps = (
            self.unary,
            self.transpose,
            self.axis,
            self.reshape,
            self.arithmetic,
            self.product,
            self.convolution,
            self.branch,
        )
        for _ in range(self.random.randint(4, 22)):
            value = self.random.choice(list(self.shapes)[-6:])
            self.random.choice(steps)(value, self.shapes[value])
        computed = [value for value in self.shapes if value.producer is not None]
        self.graph.outputs.extend(dict.fromkeys(self.random.choices(computed, k=3)) if computed else [])

    def constant(self, array: object) -> Value:
        return self.graph.add_initializer(self.graph.fresh_name("c"), np.asarray(array))

    def node(self, op_type: str, inputs: list[Value], shape: Shape | None, **attributes: object) -> Value:
        made = self.graph.append(Node(op_type, inputs, 1, attributes)).output
        if shape is not None:
            self.shapes[made] = shape
        return made

    def unary(self, value: Value, shape: Shape) -> None:
        self.node(self.random.choice(UNARY), [value], shape)

    def transpose(self, value: Value, shape: Shape) -> None:
        order = self.random.sample(range(len(shape)), len(shape))
        self.node("Transpose", [value], tuple(shape[axis] for axis in order), perm=order)

    def axis(self, value: Value, shape: Shape) -> None:
        if 1 in shape and self.random.random() < 0.5:
            place = shape.index(1)
            self.node("Squeeze", [value, self.constant([place])], (*shape[:place], *shape[place + 1 :]))
        else:
            place = self.random.randint(0, len(shape))
            self.node("Unsqueeze", [value, self.constant([place])], (*shape[:place], 1, *shape[place:]))

    def reshape(self, value: Value, shape: Shape) -> None:
        whole = self.node("Shape", [value], None)
        if shape[-1] != 4:
            self.node("Reshape", [value, whole], shape)
            return
        front = self.node("Slice", [whole, self.constant([0]), self.constant([len(shape) - 1])], None)
        target = self.node("Concat", [front, self.constant([2, 2])], None, axis=0)
        self.node("Reshape", [value, target], (*shape[:-1], 2, 2))

    def arithmetic(self, value: Value, shape: Shape) -> None:
        other = self.random.choice([each for each in self.shapes if self.shapes[each] == shape])
        if self.random.random() < 0.6:
            sizes = [dim if isinstance(dim, int) and self.random.random() < 0.5 else 1 for dim in shape]
            plain = self.random.choice([1.0, 0.0, -0.0, 2.5])
            array = np.full((), plain) if self.random.random() < 0.5 else self.numbers.uniform(0.5, 2, sizes)
            other = self.constant(array.astype(np.float32))
        inputs = [value, other] if self.random.random() < 0.7 else [other, value]
        self.node(self.random.choice(["Add", "Mul", "Sub", "Max"]), inputs, shape)

    def product(self, value: Value, shape: Shape) -> None:
        if isinstance(shape[-1], int) and len(shape) > 1:
            weight = self.numbers.standard_normal((shape[-1], 4)) * 0.3
            result = self.node("MatMul", [value, self.constant(weight.astype(np.float32))], (*shape[:-1], 4))
            self.node(
                "Add", [result, self.constant(self.numbers.standard_normal(4).astype(np.float32))], (*shape[:-1], 4)
            )

    def convolution(self, value: Value, shape: Shape) -> None:
        if len(shape) in (3, 4) and isinstance(shape[1], int):
            weight = self.numbers.standard_normal((3, shape[1], *[1] * (len(shape) - 2))) * 0.3
            result = self.node("Conv", [value, self.constant(weight.astype(np.float32))], (shape[0], 3, *shape[2:]))
            rows = [self.constant(self.numbers.uniform(0.5, 1.5, 3).astype(np.float32)) for _ in range(4)]
            self.node("BatchNormalization", [result, *rows], self.shapes[result])

    def branch(self, value: Value, shape: Shape) -> None:
        if self.random.random() < 0.5:
            condition = self.constant(self.random.random() < 0.5)
        else:
            most = self.node("ReduceMax", [value], None, keepdims=0)
            condition = self.node("Greater", [most, self.constant(np.float32(0.3))], None)
        self.node("If", [condition], shape, then_branch=self.inner(value), else_branch=self.inner(value))

    def inner(self, value: Value) -> Graph:
        first = Node(self.random.choice(UNARY), [value], 1)
        second = Node(self.random.choice(UNARY), [first.output], 1)
        return Graph([], [second.output], [first, second], name="branch")


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_graphs_compute_what_they_did(first: int) -> None:
    for seed in range(first, first + 50):
        maker = Maker(seed)
        model = Model(maker.graph, {"": 28}, ir_version=14)
        ingot.uniquify(model)
        feeds = {"x": maker.numbers.standard_normal((SIZE, 3, 4)), "z": maker.numbers.standard_normal((2, SIZE, 4))}
        given = {name: array.astype(np.float32) for name, array in feeds.items()}
        before = ingot.Session(model).run(None, given)
        for level in (1, 2):
            small = model.copy()
            optimise(small, level)
            ingot.verify(small)
            assert small.graph.outputs.names == model.graph.outputs.names
            for one, other in zip(before, ingot.Session(small).run(None, given), strict=True):
                assert one.shape == other.shape, seed
                if level == 1:
                    assert one.tobytes() == other.tobytes(), seed
                else:
                    np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-4 * max(1, np.abs(one).max(initial=0)))
