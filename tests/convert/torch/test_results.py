"""What modules take and give back: keywords that are no tensors, classes, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import ingot

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn


@dataclass
class Registered:
    first: Any
    second: Any


@dataclass
class Unknown:
    first: Any


class Named(NamedTuple):
    left: Any
    right: Any


class Call(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: Any, *, scale: Any = 2, flag: bool = True, mask: Any = None) -> Any:
        x = x * scale if flag else x
        return self.fn(x if mask is None else x * mask)


def test_a_registered_dataclass_and_a_named_tuple_name_the_outputs() -> None:
    torch.export.register_dataclass(Registered)
    made = ingot.export(Call(lambda x: Registered(x + 1, x)), torch.ones(3))
    assert [value.name for value in made.outputs] == ["first", "second"]
    made = ingot.export(Call(lambda x: Named(x + 1, x)), torch.ones(3))
    assert [value.name for value in made.outputs] == ["left", "right"]


def test_a_class_that_torch_does_not_know_is_refused_with_how_to_register_it() -> None:
    with pytest.raises(ingot.ConvertError) as caught:
        ingot.export(Call(Unknown), torch.ones(3))
    assert "register_dataclass" in str(caught.value.hint)


def test_keywords_that_are_numbers_bools_or_none_are_fixed() -> None:
    made = ingot.export(Call(lambda x: x), torch.ones(3), kwargs={"scale": 3, "flag": True, "mask": None})
    assert [value.name for value in made.inputs] == ["x"]
    assert ingot.Session(made).run(None, {"x": torch.ones(3).numpy()})[0].tolist() == [3, 3, 3]


def test_numbers_among_the_results_are_constants_and_none_is_left_out() -> None:
    made = ingot.export(Call(lambda x: (x, None, 3, True)), torch.ones(3))
    assert [str(value.type) for value in made.outputs] == ["float32[3]", "int64[]", "bool[]"]


def test_a_string_among_the_results_is_refused() -> None:
    with pytest.raises(ingot.ConvertError, match="output 'note' is a str"):
        ingot.export(Call(lambda x: {"x": x, "note": "hello"}), torch.ones(3))


def test_a_tied_weight_is_not_stored_turned_as_well() -> None:
    class Tied(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(7, 4)
            self.head = nn.Linear(4, 7, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: Any) -> Any:
            return self.head(self.embed(ids))

    made = ingot.export(Tied(), torch.tensor([[1, 2], [3, 4]]))
    assert list(made.graph.initializers) == ["embed.weight"]


def test_autocast_computes_in_the_type_it_says() -> None:
    class Cast(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, y: Any) -> Any:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                made = x @ y
            return made.float() + 1

    made = ingot.export(Cast(), (torch.randn(3, 4), torch.randn(4, 5)))
    assert any(node.applies("MatMul") and "bfloat16" in str(node.output.type) for node in made.nodes())
