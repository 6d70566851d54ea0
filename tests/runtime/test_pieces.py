"""What takes long on the reference is computed in pieces, between which a run may end."""

from __future__ import annotations

import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.ops.catalog import standard
from ingot.ops.limit import pieces, proceeding
from ingot.runtime.evaluate import Evaluation
from ingot.session import Interrupted

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'
CONCAT = "g (float[n, m] x) => (y) {{ y = Concat <axis: int = {}> (x, x, x) }}"
LRN = "g (float[n, c, m] x) => (y) {{ y = LRN <size: int = {}> (x) }}"
CASES = {
    "Concat along the first axis": (CONCAT.format(0), (30, 7)),
    "Concat along the last axis": (CONCAT.format(-1), (7, 30)),
    "Concat of a long axis along a short one": (CONCAT.format(0), (2, 200)),
    "LRN": (LRN.format(5), (2, 9, 6)),
    "LRN of a huge size": (LRN.format(2_000_000_001), (2, 9, 6)),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.ops.limit.PIECE", 16)
    monkeypatch.setattr("ingot.ops.tensor.concat.PIECE", 16)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("case", CASES)
def test_a_run_ends_between_the_pieces_of_one_node(case: str) -> None:
    graph, shape = CASES[case]
    asked = 0

    def proceed() -> None:
        nonlocal asked
        asked += 1
        if asked == 4:  # the first time is before the node
            raise Interrupted("enough")

    evaluation = Evaluation(parse_model(f"{HEADER} {graph}"), standard(), proceed=proceed)
    with pytest.raises(Interrupted, match="enough"):
        evaluation.run({"x": np.ones(shape, np.float32)})
    assert asked == 4


@pytest.mark.parametrize("case", CASES)
def test_pieces_give_what_the_whole_gives(case: str, request: pytest.FixtureRequest) -> None:
    graph, shape = CASES[case]
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    session = Session(parse_model(f"{HEADER} {graph}"), providers=("reference",))
    whole = session(x)
    request.getfixturevalue("small")
    np.testing.assert_allclose(session(x), whole, rtol=1e-6)


@pytest.mark.usefixtures("small")
def test_strings_are_joined_in_pieces() -> None:
    text = "g (string[n] x) => (y) { y = Concat <axis: int = 0> (x, x) }"
    words = np.array([f"word {number}" for number in range(40)], object)
    joined = Session(parse_model(f"{HEADER} {text}"), providers=("reference",))(words)
    assert joined.tolist() == [*words, *words]


def test_pieces_cover_everything_once() -> None:
    assert [place for piece in pieces(10, 2**19) for place in range(10)[piece]] == list(range(10))
    assert len(list(pieces(10, 2**19))) == 5
    assert len(list(pieces(10, 2**40))) == 10
    assert not list(pieces(0, 1))


def test_nobody_is_asked_outside_of_a_run() -> None:
    asked: list[int] = []
    with proceeding(lambda: asked.append(1)):
        list(pieces(2, 2**20))
    list(pieces(2, 2**20))
    assert len(asked) == 2
