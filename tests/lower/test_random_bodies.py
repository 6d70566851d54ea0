"""Random loops whose states grow, shrink and stay: with compiled bodies they make what the reference makes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import IngotError
from ingot.session import Session

SEEDS = 60


class Maker:
    """A body in the making: what there is by name, all of them rows of floats, and the lines of its text."""

    def __init__(self, seed: int, names: list[str], depth: int = 0) -> None:
        self.random = random.Random(seed)
        self.names = names
        self.lines: list[str] = []
        self.depth = depth

    def line(self, text: str) -> str:
        name = f"v{self.depth}_{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def pick(self) -> str:
        return self.random.choice(self.names)

    def step(self) -> None:
        r, pick = self.random, self.pick
        kinds = ["concat", "elementwise", "slice", "scale", "largest", "counter", "where", "nonzero", "cumulated", "if"]
        match r.choice([*kinds, "loop"] if self.depth < 2 else kinds):
            case "concat":
                made = self.line(f"Concat <axis = 0> ({pick()}, {pick()})")
            case "elementwise":
                x = pick()
                made = self.line(f"{r.choice(['Neg', 'Tanh', 'Abs', 'Identity', 'Sigmoid'])} ({x})")
            case "slice":
                made = self.line(f"Slice ({pick()}, {r.choice(['zero', 'one'])}, {r.choice(['two', 'last'])}, zero)")
            case "scale":
                made = self.line(f"Mul ({pick()}, {self.line(f'ReduceMax <keepdims = 1> ({self.filled(pick())})')})")
            case "largest":
                made = self.line(f"ReduceSum <keepdims = 1> ({pick()})")
            case "counter":
                number = self.line(f"Cast <to = 1> (i{self.depth})")
                made = self.line(f"Unsqueeze ({number}, zero)")
            case "where":
                x = pick()
                made = self.line(f"Where ({self.line(f'Greater ({x}, half)')}, {x}, half)")
            case "nonzero":
                x = pick()
                places = self.line(f"NonZero ({x})")
                made = self.line(f"Gather ({x}, {self.line(f'Squeeze ({places}, zero)')})")
            case "cumulated":
                made = self.line(f"CumSum ({pick()}, none)")
            case "if":
                then, otherwise = self.branch(), self.branch()
                odd = self.line(f"Cast <to = 9> ({self.line(f'Mod (i{self.depth}, pair)')})")
                made = self.line(f"If <then_branch = {then}, else_branch = {otherwise}> ({odd})")
            case _:
                made = self.line(self.loop())
        self.names = [*self.names, made]

    def filled(self, name: str) -> str:
        """Something with an element in it."""
        return self.line(f"Concat <axis = 0> ({name}, ones)")

    def branch(self) -> str:
        inner = Maker(self.random.randrange(1 << 30), self.names, self.depth)
        inner.lines = [""] * (100 * len(self.lines) + self.random.randrange(50, 90))
        first = len(inner.lines)
        inner.depth = self.depth
        for _ in range(self.random.choice((1, 1, 2))):
            x = self.random.choice(inner.names)
            kind = self.random.choice(["Neg ({0})", "Concat <axis = 0> ({0}, ones)", "Slice ({0}, zero, two, zero)"])
            inner.names = [*inner.names, inner.line(kind.format(x))]
        return f"g () => (float[o] {inner.names[-1]}) {{ {' '.join(inner.lines[first:])} }}"

    def loop(self) -> str:
        """A loop inside of this one, as often as this one ran before, or three times."""
        inner = Maker(self.random.randrange(1 << 30), [*self.names, f"s{self.depth + 1}"], self.depth + 1)
        return f"{inner.text()} ({self.random.choice([f'i{self.depth}', 'three'])}, , {self.random.choice(self.names)})"

    def text(self) -> str:
        for _ in range(self.random.choice((2, 3, 5))):
            self.step()
        kept = self.line(f"Slice ({self.names[-1]}, zero, most, zero)")
        d = self.depth
        return (
            f"Loop <body = b{d} (int64 i{d}, bool c{d}, float[p{d}] s{d}) => (bool o{d}, float[q{d}] {kept}) "
            f"{{ o{d} = Identity (c{d}) {' '.join(self.lines)} }}>"
        )


def model(seed: int) -> ingot.Model:
    body = Maker(seed, ["s0", "x", "w"])
    constants = (
        "int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] last = {-1}, int64[1] most = {40}, "
        "int64 none = {0}, int64 pair = {2}, int64 three = {3}, float half = {0.5}, float[1] ones = {1}, "
        "float[3] w = {0.25, -0.5, 0}"
    )
    text = f"g (int64 m, float[n] x) => (float[k] y) <{constants}> {{ y = {body.text()} (m, , x) }}"
    return ingot.parse_model(f'<ir_version: 13, opset_import: ["" : 28]> {text}')


def outcome(session: Session, feeds: dict[str, Any]) -> Any:
    try:
        return session.run(None, feeds)[0]
    except IngotError as error:
        return f"{type(error).__name__}: {error.message}"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_loop_agrees(seed: int) -> None:
    drawn = model(seed)
    reference = Session(drawn, providers=("reference",))
    one, two = (Session(drawn, providers=("cpu", "reference"), threads=n, fallback=False) for n in (1, 2))
    for trips, size in ((0, 3), (1, 0), (3, 2), (5, 17)):
        feeds = {"m": np.asarray(trips, np.int64), "x": np.linspace(-1, 1, size, dtype=np.float32)}
        expected, found, again = (outcome(each, feeds) for each in (reference, one, two))
        if isinstance(expected, str):
            assert found == again == expected
            continue
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert found.tobytes() == again.tobytes()
