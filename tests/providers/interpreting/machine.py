"""The loop IR interpreted, one element after another: what fused kernels mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from ingot.dims import Dim, evaluate
from ingot.dtypes import Array
from ingot.loops.ir import (
    Apply,
    Buffer,
    CheckedIndex,
    Contraction,
    For,
    Index,
    Inside,
    Kernel,
    Let,
    Literal,
    Load,
    Local,
    Nest,
    Position,
    Scalar,
    Select,
    Statement,
    Store,
    Update,
    Var,
)
from ingot.prim.functions import FUNCTIONS


class Machine:
    """The memory of one kernel, and the variables and locals of where it is."""

    def __init__(
        self, sizes: Mapping[str, int], addresses: Mapping[Buffer, int], memory: Callable[[int, int], memoryview]
    ) -> None:
        self._sizes = sizes
        self._bytes_at = memory
        self._memory = {buffer: self._view(buffer, address) for buffer, address in addresses.items()}
        self._variables: dict[Var, int] = {}
        self._locals: dict[str, Any] = {}

    def run(self, kernel: Kernel) -> None:
        with np.errstate(all="ignore"):
            for nest in kernel.nests:
                match nest:
                    case Nest():
                        for _ in self._over(nest.rows):
                            for stage in nest.stages:
                                self._run(stage.starts)
                                for _ in self._over(stage.inner):
                                    self._run(stage.body)
                    case Contraction():
                        self._contract(nest)
                    case tuple():
                        self._run(nest)
                    case _:
                        raise AssertionError(f"no schedule made a {type(nest).__name__}")

    def _contract(self, nest: Contraction) -> None:
        for _ in self._over((*nest.batch, *nest.m, *nest.n)):
            total = nest.dtype.numpy.type(0)
            for _ in self._over(nest.k):
                right = self._packed(nest) if nest.packed else self._value(nest.rhs)
                total = total + self._value(nest.lhs) * right
            self._locals["sum"] = total
            self._run(nest.body)

    def _packed(self, nest: Contraction) -> Any:
        """Constant weights lie as [batch, k, n]."""
        place = 0
        for var in (*nest.batch, *nest.k, *nest.n):
            place = place * self._size(var.extent) + self._variables[var]
        return self._memory[nest.rhs.buffer].reshape(-1)[place]

    def _run(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            match statement:
                case For():
                    for _ in self._over((statement.var,)):
                        self._run(statement.body)
                case Let():
                    self._locals[statement.name] = self._value(statement.value)
                case Update():
                    before = self._locals[statement.name]
                    self._locals[statement.name] = FUNCTIONS[statement.function].compute(
                        before, self._value(statement.value)
                    )
                case Store():
                    self._memory[statement.buffer][self._index(statement.index)] = self._value(statement.value)

    def _value(self, value: Scalar) -> Any:
        match value:
            case Literal():
                return value.dtype.numpy.type(value.value)
            case Local():
                return self._locals[value.name]
            case Position():
                return np.int64(self._index(value.index))
            case Load():
                inside = all(map(self._holds, value.where))
                fill = value.dtype.numpy.type(value.fill)
                return self._memory[value.buffer][self._index(value.index)] if inside else fill
            case Apply(function="cast"):
                return np.asarray(self._value(value.arguments[0])).astype(value.dtype.numpy)[()]
            case Apply():
                return FUNCTIONS[value.function].compute(*map(self._value, value.arguments))
            case Select():
                return self._value(value.value) if all(map(self._holds, value.where)) else value.fill
            case CheckedIndex():
                return self._value(value.value)
        raise AssertionError(f"no fused kernel has a {type(value).__name__}")

    def _holds(self, condition: Inside) -> bool:
        return 0 <= self._index(condition.index) < self._size(condition.size)

    def _index(self, index: Index) -> int:
        total = self._size(index.offset)
        for term, factor in index.terms:
            total += (self._variables[term] if isinstance(term, Var) else int(self._value(term))) * self._size(factor)
        return total

    def _over(self, variables: Sequence[Var]) -> Iterator[None]:
        for values in product(*(range(self._size(var.extent)) for var in variables)):
            self._variables.update(zip(variables, values, strict=True))
            yield

    def _size(self, size: Dim) -> int:
        return size if isinstance(size, int) else evaluate(size, self._sizes)

    def _view(self, buffer: Buffer, address: int) -> Array:
        count = self._size(buffer.elements)
        if not count or not address:
            return np.zeros(0, buffer.dtype.numpy)
        return np.frombuffer(self._bytes_at(address, count * buffer.dtype.numpy.itemsize), buffer.dtype.numpy)
