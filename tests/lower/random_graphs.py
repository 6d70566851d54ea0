"""Random models for the compiler: typed graphs of a seed, with named sizes, and arrays to run them with."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ingot
from ingot.dims import Dim, evaluate, symbol, symbols
from ingot.dtypes import Array, DType
from ingot.infer import infer
from ingot.ir import Graph, Model, Node, TensorType, Value

SIZES = (0, 1, 2, 3, 15, 16, 17, 63, 64, 65)
"""What a named size is bound to: nothing, one, and the neighbours of vector lengths."""

FIXED = (1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65)

MOST_ELEMENTS = 20_000
"""Elements of a value when every named size is the largest of SIZES."""

FLOATS = (DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16)
WIDE_INTEGERS = (DType.INT32, DType.INT64, DType.UINT32, DType.UINT64)
INTEGERS = (*WIDE_INTEGERS, DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
DTYPES = (*(DType.FLOAT32,) * 6, *FLOATS, *INTEGERS, DType.INT64, DType.INT32, DType.BOOL, DType.INT8, DType.UINT8)

Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A model, what its inputs are for some sizes, and whether it is free of decisions on floats that were rounded."""

    seed: int
    model: Model
    bindings: tuple[dict[str, int], ...]
    smooth: bool
    """No float decides anything: rounding otherwise changes results but little."""
    declared: bool
    """All declarations hold: tools that only take models of the standard take this one."""
    _feeds: Callable[[Mapping[str, int]], dict[str, Array]]

    def feeds(self, sizes: Mapping[str, int]) -> dict[str, Array]:
        """Inputs of the given sizes; the same for the same sizes."""
        return self._feeds(sizes)


class Maker:
    """A graph in the making. `exact` are the values that hold the same bits whoever computes them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.names = [symbol("n"), symbol("m")][: self.random.choice([0, 1, 1, 1, 2])]
        self.graph = Graph()
        self.model = Model(self.graph, {"": 28}, ir_version=14)
        self.types: dict[Value, tuple[DType, Shape]] = {}
        self.exact: set[Value] = set()
        self.smooth = True
        self.special = self.random.random() < 0.15
        self.wide_numbers = self.random.random() < 0.15
        self.declared = True
        self.loose: list[Value] = []
        """Results whose sizes only a run knows."""
        self.sized: dict[str, tuple[DType, Shape]] = {}
        """The types of inputs that other nodes may not read."""
        self._limits: dict[str, Callable[[tuple[int, ...]], Array]] = {}
        self._arguments: dict[str, Callable[[np.random.Generator, Mapping[str, int]], Array]] = {}

    def drawn(self, outputs: Sequence[Value]) -> Drawn:
        self.graph.outputs.extend(outputs)
        for node in reversed(self.graph.nodes):  # what nobody reads may refuse to run
            if not any(value.uses or value.is_output for value in node.outputs):
                self.graph.remove(node)
        ingot.uniquify(self.model)
        names = [str(name) for name in self.names]
        bindings = [{name: self.random.choice((17, 16, 33)) for name in names}]
        if names:
            bindings += [{name: self.random.choice(SIZES) for name in names} for _ in range(3)]
        return Drawn(self.seed, self.model, tuple(bindings), self.smooth, self.declared, self._feeds)

    # --- values

    def shape(self) -> Shape:
        """Sizes for something new."""
        while True:
            rank = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 3, 4))
            found: list[Dim] = [self.random.choice(FIXED) for _ in range(rank)]
            for name in self.names:
                if found and self.random.random() < 0.8:
                    found[self.random.randrange(rank)] = name
            if self.fits(found):
                return tuple(found)

    def size(self, *plain: int) -> Dim:
        """One of some sizes, or one with a name."""
        found: list[Dim] = [*plain, *self.names]
        return self.random.choice(found)

    def fits(self, shape: Sequence[Dim | None]) -> bool:
        """Whether sizes are known and never become too large."""
        count = 1
        for size in shape:
            if size is None or not named([size]).issubset({"n", "m"}):
                return False
            count *= max(1, evaluate(size, {"n": max(SIZES), "m": max(SIZES)}))
        return count <= MOST_ELEMENTS and len(shape) <= 5

    def input(self, dtype: DType, shape: Shape, draw: Callable[[tuple[int, ...]], Array] | None = None) -> Value:
        """A new input of the model, by default of any numbers."""
        value = Value(f"x{len(self.graph.inputs)}", TensorType(dtype, shape))
        self.graph.inputs.append(value)
        self.types[value] = dtype, shape
        self.exact.add(value)
        if draw is not None:
            self._limits[value.name] = draw
        return value

    def argument(
        self, dtype: DType, shape: Shape, draw: Callable[[np.random.Generator, Mapping[str, int]], Array]
    ) -> Value:
        """A new input whose elements depend on the sizes of a run, and that other nodes do not read."""
        value = self.input(dtype, shape)
        self.sized[value.name] = self.types.pop(value)
        self._arguments[value.name] = draw
        return value

    def weight(self, array: Any) -> Value:
        """A constant of the model."""
        value = self.graph.add_initializer(self.graph.fresh_name("w"), np.asarray(array))
        self.types[value] = DType.of(np.asarray(array).dtype), np.shape(array)
        self.exact.add(value)
        return value

    def operand(self, dtype: DType, shape: Shape) -> Value:
        """Something of a type and sizes: what there is, a constant, or a new input."""
        known = [value for value, kind in self.types.items() if kind == (dtype, shape)]
        chance = self.random.random()
        if known and chance < 0.4:
            return self.random.choice(known)
        plain = [size for size in shape if isinstance(size, int)]
        if len(plain) == len(shape) and chance < 0.8:
            return self.weight(self.array(dtype, tuple(plain), self.numbers))
        return self.input(dtype, shape)

    def pick(self, allowed: Callable[[DType, Shape], bool] = lambda _dtype, _shape: True) -> Value | None:
        """Something there is, most likely new."""
        found = [value for value, kind in self.types.items() if allowed(*kind)]
        unread = [value for value in found if value.producer is not None and not value.uses]
        if unread and self.random.random() < 0.6:
            return self.random.choice(unread)
        return self.random.choice(found[-self.random.choice((1, 2, 4, 8)) :]) if found else None

    def broadcast(self, shape: Shape) -> Shape:
        """Sizes that are repeated to `shape`."""
        found: Shape = tuple(1 if self.random.random() < 0.3 else size for size in shape)
        if self.random.random() < 0.4:
            found = found[self.random.randint(0, len(found)) :]
        return found

    def node(
        self, op_type: str, inputs: Sequence[Value | None], *, outputs: int = 1, exact: bool, **attributes: Any
    ) -> list[Value]:
        """A node; its results are exact if what it computes is and its inputs were."""
        made = self.graph.append(Node(op_type, list(inputs), outputs, attributes))
        facts = infer(self.model)
        for value in made.outputs:
            dtype, shape = facts[value].dtype, facts[value].shape
            if exact and all(each is None or each in self.exact for each in inputs):
                self.exact.add(value)
            if dtype is not None and shape is not None and self.fits(shape):
                self.types[value] = dtype, tuple(size for size in shape if size is not None)
        return list(made.outputs)

    # --- numbers

    def array(self, dtype: DType, shape: tuple[int, ...], numbers: np.random.Generator) -> Array:
        kind = dtype.numpy
        if dtype is DType.BOOL:
            return numbers.random(shape) < 0.5
        if dtype in INTEGERS:
            info = np.iinfo(kind)
            low, high = (info.min, info.max) if self.wide_numbers else (max(info.min, -9), 10)
            return numbers.integers(low, high, shape, dtype=kind)
        found = np.asarray(numbers.standard_normal(shape) * 1.5)
        if self.special and found.size:
            odd = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1.0, 60000.0]
            where = numbers.random(shape) < 0.1
            found = np.where(where, numbers.choice(odd, shape), found)
        return np.asarray(found).astype(kind)

    def _feeds(self, sizes: Mapping[str, int]) -> dict[str, Array]:
        numbers = np.random.default_rng([self.seed, *sizes.values()])
        found: dict[str, Array] = {}
        for value in self.graph.inputs:
            dtype, dims = self.sized.get(value.name) or self.types[value]
            shape = tuple(evaluate(size, sizes) for size in dims)
            draw, argument = self._limits.get(value.name), self._arguments.get(value.name)
            if argument is not None:
                found[value.name] = argument(numbers, sizes)
            else:
                found[value.name] = self.array(dtype, shape, numbers) if draw is None else draw(shape)
        return found


def named(shape: Sequence[Dim]) -> frozenset[str]:
    """The names in sizes."""
    return frozenset(name for size in shape for name in symbols(size))
