"""Random graphs compute what the reference does, bit by bit the same with one thread and two, compiled once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lower.compared import Tally, check
from lower.random_nodes import random_model
from lower.shares import small_shares

EACH = 25


@pytest.fixture(scope="module", autouse=True)
def _small_shares() -> Iterator[None]:
    with small_shares():
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 500, EACH))
def test_random_graphs_compute_what_the_reference_does(first: int) -> None:
    tally = Tally()
    for seed in range(first, first + EACH):
        try:
            check(random_model(seed), tally)
        except Exception as error:
            raise AssertionError(f"the graph of seed {seed}: {error}") from error
    assert tally.elements > 4 * tally.vague  # of all, 99 % are compared; a graph of large numbers may hide more


def test_the_same_seed_draws_the_same_graph() -> None:
    one, other = random_model(7), random_model(7)
    assert [node.op_type for node in one.model.graph] == [node.op_type for node in other.model.graph]
    assert all(
        (one.feeds(one.bindings[0])[name] == array).all() for name, array in other.feeds(other.bindings[0]).items()
    )
