"""The standard's node cases as PyTorch modules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

import torch

import ingot
from conformance.cases import node_cases
from conformance.known import KNOWN_TORCH
from convert.to_torch.cases import run_case

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", sorted(node_cases()))
def test_node_as_a_module(name: str) -> None:
    case = node_cases()[name]
    if name not in KNOWN_TORCH:
        run_case(case)
        return
    with pytest.raises((AssertionError, ingot.ConvertError)):
        run_case(case)


def test_what_does_not_go_through_is_what_torch_has_not() -> None:
    assert len(KNOWN_TORCH) <= 66
