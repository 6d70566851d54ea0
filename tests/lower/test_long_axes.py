"""Chains of nodes that move elements, along an axis of some thousands, are compiled to what the reference does.

Random graphs have short axes for the most part: loops that are divided, and rows that are filled in advance, have
lengths beyond which they go another way.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

from ingot import Model, Session, build, op
from ingot.builder import Float16, Float32, Float64, Int8, Int64

EACH = 20
_KINDS: dict[str, Any] = {"f2": Float16, "f4": Float32, "f8": Float64, "i1": Int8, "i8": Int64}
_SHORT, _LONG = (1, 1, 2, 3, 4, 7, 16, 17), (2100, 2176, 2177, 3000, 4097, 5000)
_MOST_ELEMENTS = 400_000
_MOST_AXES = 4
_END = 2**31


class _Chain:
    """The nodes that a random generator draws, one after another."""

    def __init__(self, draw: random.Random, kind: str) -> None:
        self.draw, self.kind = draw, kind
        self.steps: tuple[Callable[[Any, int], Any], ...] = (
            self.pad, self.pad, self.pad, self.concat, self.rotate, self.transpose, self.slice, self.reverse,
            self.negate, self.choose, self.repeat, self.stack, self.multiply,
        )  # fmt: skip

    def pad(self, x: Any, rank: int) -> Any:
        pads = [self.draw.choice((0, 0, 0, 1, 2, 3)) for _ in range(2 * rank)]
        mode = self.draw.choice(("constant", "constant", "constant", "edge", "wrap"))
        value = np.array(self.draw.choice((0, 3)), self.kind) if mode == "constant" else None
        return op.Pad(x, np.array(pads), value, mode=mode)

    def concat(self, x: Any, rank: int) -> Any:
        axis = self.axis(rank)
        other = op.Neg(x) if self.draw.random() < 0.5 else op.Slice(x, [0], [1], [axis])
        return op.Concat(*self.draw.sample((x, other), 2), axis=axis)

    def rotate(self, x: Any, rank: int) -> Any:
        axis = self.axis(rank)
        return op.Concat(op.Slice(x, [1], [_END], [axis]), op.Slice(x, [0], [1], [axis]), axis=axis)

    def transpose(self, x: Any, rank: int) -> Any:
        return op.Transpose(x, perm=self.draw.sample(range(rank), rank))

    def slice(self, x: Any, rank: int) -> Any:
        first, end, step = self.draw.choice((0, 1)), self.draw.choice((-1, _END)), self.draw.choice((1, 1, 2, 3))
        return op.Slice(x, [first], [end], [self.axis(rank)], [step])

    def reverse(self, x: Any, rank: int) -> Any:
        return op.Slice(x, [-1], [-_END], [self.axis(rank)], [-1])

    def negate(self, x: Any, _rank: int) -> Any:
        return op.Neg(x)

    def choose(self, x: Any, _rank: int) -> Any:
        return op.Where(op.Less(x, np.array(1, self.kind)), x, op.Neg(x))

    def repeat(self, x: Any, rank: int) -> Any:
        axis = self.axis(rank)
        return op.Tile(x, np.array([2 if each == axis else 1 for each in range(rank)]))

    def stack(self, x: Any, rank: int) -> Any:
        return op.Concat(op.Unsqueeze(x, [rank]), op.Unsqueeze(op.Neg(x), [rank]), axis=rank)

    def multiply(self, x: Any, rank: int) -> Any:
        return op.Mul(x, op.ReduceMax(x, [self.axis(rank)], keepdims=1))

    def axis(self, rank: int) -> int:
        return self.draw.randrange(rank)


def _drawn(seed: int) -> tuple[Model, np.ndarray[Any, Any]]:
    """A model of up to four nodes and its input."""
    draw = random.Random(seed)
    kind, rank = draw.choice(list(_KINDS)), draw.choice((1, 2, 2, 3, 4))
    long = max(0, rank - draw.choice((1, 2, 2, 3)))
    shape = [draw.choice(_LONG if axis == long else _SHORT) for axis in range(rank)]
    while prod(shape) > _MOST_ELEMENTS:
        shape[draw.choice([axis for axis in range(rank) if axis != long])] = 1
    is_open = draw.random() < 0.4
    sizes: list[int | str] = [f"size{axis}" if is_open else size for axis, size in enumerate(shape)]
    chain, nodes = _Chain(draw, kind), draw.randint(1, 4)

    def model(x: Any) -> Any:
        axes = rank
        for _ in range(nodes):
            step = draw.choice(chain.steps)
            if step == chain.stack:
                if axes > _MOST_AXES:
                    continue
                axes += 1
                x = step(x, axes - 1)
            else:
                x = step(x, axes)
        return x

    return build(model, _KINDS[kind][tuple(sizes)], opset=21), np.random.default_rng(seed).integers(-3, 4, shape)


@pytest.mark.parametrize("first", range(0, 400, EACH))
def test_chains_along_a_long_axis_compute_what_the_reference_does(first: int) -> None:
    for seed in range(first, first + EACH):
        model, numbers = _drawn(seed)
        x = numbers.astype(model.graph.inputs[0].type.dtype.numpy)  # type: ignore[union-attr]
        [expected] = Session(model, providers=("reference",)).run(None, {"x": x})
        for threads in (1, 2):
            session = Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)
            for _ in range(2):
                [result] = session.run(None, {"x": x})
                assert np.array_equal(result, expected), f"the chain of seed {seed}, with {threads} threads"
