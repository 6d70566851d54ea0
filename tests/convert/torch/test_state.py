"""What a module keeps from call to call: buffers it changes are inputs with a default, and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.convert import Request, converted

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn


class Cache(nn.Module):  # type: ignore[misc,name-defined]
    """Keys of the words so far."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 4, 3))

    def forward(self, x: Any, at: Any) -> Any:
        self.keys.index_copy_(1, at, x * 2)
        return self.keys.sum(-1)


def test_a_cache_that_is_written_in_place_is_carried_from_run_to_run() -> None:
    module = Cache()
    made = ingot.export(module, (torch.ones(1, 1, 3), torch.tensor([0])))
    assert [value.name for value in made.graph.inputs] == ["x", "at", "keys"]
    assert [value.name for value in made.outputs] == ["output", "keys.updated"]
    session = ingot.Session(made)
    keys: dict[str, Any] = {}
    for place in range(4):
        x = torch.full((1, 1, 3), float(place))
        feeds = {"x": x.numpy(), "at": np.array([place]), **keys}
        found, updated = session.run(None, feeds)
        keys = {"keys": updated}
        np.testing.assert_allclose(found, module(x, torch.tensor([place])).numpy())


def test_converting_leaves_the_buffers_of_the_module_as_they_were() -> None:
    module = Cache()
    ingot.export(module, (torch.ones(1, 1, 3), torch.tensor([0])))
    assert not module.keys.any()


def test_outputs_are_named_with_or_without_the_buffers() -> None:
    arguments = (torch.ones(1, 1, 3), torch.tensor([0]))
    few = ingot.export(Cache(), arguments, output_names=["scores"])
    every = ingot.export(Cache(), arguments, output_names=["scores", "new_keys"])
    assert [value.name for value in few.outputs] == ["scores", "keys.updated"]
    assert [value.name for value in every.outputs] == ["scores", "new_keys"]


def test_an_input_that_is_changed_in_place_stays_an_input() -> None:
    class Changing(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x.add_(1) * 2

    made = ingot.export(Changing(), torch.ones(3))
    assert len(made.outputs) == 1


def test_an_output_drawn_at_random_is_compared_by_its_shape() -> None:
    class Noisy(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x + torch.randn_like(x), x * 2

    _, report = converted(Noisy(), torch.ones(3), Request())
    assert report is not None
    assert [output.drawn for output in report.outputs] == [True, False]
    assert "drawn at random" in str(report)


class Scaled(nn.Module):  # type: ignore[misc,name-defined]
    """A scale and an offset as they are before training."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.offset = nn.Parameter(torch.zeros(3))

    def forward(self, x: Any) -> Any:
        return x * self.scale + self.offset


def test_weights_that_change_nothing_yet_stay() -> None:
    made = ingot.convert(Scaled(), torch.ones(2, 3))
    assert sorted(made.graph.initializers) == ["offset", "scale"]
