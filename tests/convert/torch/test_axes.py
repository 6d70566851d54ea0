"""Axes that stay open: their names, and the sizes that torch found they may have."""

from __future__ import annotations

from typing import Any

import pytest

import ingot
from ingot.convert import Request
from ingot.convert.torch import convert_torch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn
Dim = torch.export.Dim


class Sum(nn.Module):  # type: ignore[misc,name-defined]
    def forward(self, x: Any, y: Any) -> Any:
        return x + y[1:]


def test_axes_are_called_as_their_dims_and_derived_sizes_follow() -> None:
    rows = Dim("rows")
    made = ingot.export(
        Sum(), (torch.randn(3, 4), torch.randn(4, 4)), dynamic_shapes={"x": {0: rows}, "y": {0: rows + 1}}
    )
    assert [str(value.type) for value in made.inputs] == ["float32[rows, 4]", "float32[rows + 1, 4]"]


def test_dims_inside_arguments_are_found() -> None:
    class Nested(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, parts: Any) -> Any:
            return parts["a"] + parts["b"][0]

    shapes = {"parts": {"a": {0: (n := Dim("n"))}, "b": [(n, None)]}}
    example: Any = ({"a": torch.randn(3, 2), "b": [torch.randn(3, 2)]}, {})
    made = ingot.export(Nested(), example, dynamic_shapes=shapes)
    assert str(made.outputs[0].type) == "float32[n, 2]"


def test_the_bounds_of_a_size_are_metadata_and_examples_keep_to_them() -> None:
    class Double(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x * 2

    shapes = {"x": {0: Dim("rows", max=8)}}
    source = convert_torch(Double(), (torch.randn(7, 4),), Request(options={"dynamic_shapes": shapes}))
    assert source.model.metadata["size rows"] == "0 to 8"
    assert [feeds["x"].shape[0] for feeds in source.examples] == [7, 6, 5]


def test_a_size_that_the_module_needs_is_a_bound_too() -> None:
    class Four(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x[:4] + torch.ones(4, 2)

    made = ingot.export(Four(), torch.randn(6, 2), dynamic_axes={"x": {0: "n"}})
    assert made.metadata["size n"] == "at least 4"


def test_an_axis_that_the_module_fixes_is_refused_with_what_to_do() -> None:
    class Fixed(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x.reshape(2, 12)

    with pytest.raises(ingot.ConvertError) as caught:
        ingot.export(Fixed(), torch.randn(6, 4), dynamic_axes={"x": {0: "n"}})
    assert caught.value.hint is not None
    assert "leave the axis out of dynamic_axes" in caught.value.hint
