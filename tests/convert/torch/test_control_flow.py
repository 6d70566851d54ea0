"""Control flow of torch in ONNX: branches, loops and scans, nested, with what they read from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ingot
from ingot.convert import Request, converted

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn


class Call(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn
        self.layer = nn.Linear(3, 3)

    def forward(self, *tensors: Any) -> Any:
        return self.fn(self.layer, *tensors)


def of(fn: Callable[..., Any], *tensors: Any, axes: Any = None) -> list[str]:
    """The operators of a function that converts and verifies, those inside others too."""
    torch.manual_seed(0)
    model, report = converted(Call(fn), tensors, Request(dynamic_axes=axes))
    assert report is not None
    return [node.op_type for node in model.nodes()]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_is_an_if_that_reads_weights_and_inputs(sign: int) -> None:
    def fn(layer: Any, x: Any, y: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: layer(x) + y, lambda x: {"only": x - y}["only"], (x,))

    assert "If" in of(fn, sign * torch.ones(2, 3), torch.randn(2, 3), axes=[{0: "n"}, {0: "n"}])


def test_branches_are_nested_and_give_several_results() -> None:
    def inner(a: Any, b: Any) -> Any:
        return torch.cond(a.max() > 1, lambda a, b: (a + b, a.sum()), lambda a, b: (a - b, b.sum()), (a, b))

    def fn(layer: Any, x: Any, y: Any) -> Any:  # noqa: ARG001
        return torch.cond(x.sum() > 0, inner, lambda a, b: (a * b, a.mean()), (x, y))

    assert of(fn, torch.ones(3) * 2, torch.randn(3)).count("If") == 2


def test_a_branch_on_a_size_is_decided_when_the_model_runs() -> None:
    def fn(layer: Any, x: Any) -> Any:  # noqa: ARG001
        return torch.cond(x.shape[0] > 6, lambda x: x + 1, lambda x: x - 1, (x,))

    assert "If" in of(fn, torch.randn(5, 3), axes=[{0: "n"}])  # verified with 7 and 8 rows as well


def test_a_loop_carries_tensors_and_reads_weights() -> None:
    from torch._higher_order_ops.while_loop import while_loop

    def fn(layer: Any, x: Any) -> Any:
        def proceeds(turn: Any, state: Any) -> Any:
            return (turn < 4) & (state.sum() < 100)

        return while_loop(proceeds, lambda turn, state: (turn + 1, torch.tanh(layer(state))), (torch.tensor(0), x))

    assert "Loop" in of(fn, torch.randn(2, 3), axes=[{0: "n"}])


def test_a_branch_inside_a_loop() -> None:
    from torch._higher_order_ops.while_loop import while_loop

    def step(turn: Any, x: Any) -> Any:
        return turn + 1, torch.cond(x.sum() > 0, lambda x: x - 1, lambda x: x + 2, (x,))

    def fn(layer: Any, x: Any) -> Any:  # noqa: ARG001
        return while_loop(lambda turn, x: turn < 3, step, (torch.tensor(0), x))  # noqa: ARG005

    assert {"Loop", "If"} <= set(of(fn, torch.randn(4)))


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"dim": 1}])
def test_a_scan_carries_and_collects(options: dict[str, Any]) -> None:
    from torch._higher_order_ops.scan import scan

    def fn(layer: Any, start: Any, x: Any) -> Any:  # noqa: ARG001
        return scan(lambda c, e: ({"sum": c["sum"] + e}, c["sum"] * e), {"sum": start}, x, **options)

    x = torch.randn(3, 4) if options.get("dim") else torch.randn(4, 3)
    assert "Scan" in of(fn, torch.zeros(3), x)


def test_a_cell_scanned_over_an_open_length() -> None:
    from torch._higher_order_ops.scan import scan

    def fn(layer: Any, state: Any, x: Any) -> Any:
        def step(state: Any, word: Any) -> Any:
            made = torch.tanh(layer(state) + word)
            return made, made.clone()

        return scan(step, state, x)

    assert "Scan" in of(fn, torch.zeros(2, 3), torch.randn(4, 2, 3), axes=[{0: "n"}, {0: "t", 1: "n"}])


def test_a_map_over_an_open_length_with_several_results() -> None:
    from torch._higher_order_ops.map import map as torch_map

    def fn(layer: Any, x: Any, y: Any) -> Any:  # noqa: ARG001
        return torch_map(lambda each, y: (each * y, each.sum()), x, y)

    assert "Scan" in of(fn, torch.randn(4, 3), torch.randn(3), axes=[{0: "n"}, {}])


def test_a_program_that_torch_cannot_take_apart_is_refused() -> None:
    from ingot.convert.torch.decompose import decomposed

    class Broken:
        def run_decompositions(self, table: Any) -> Any:
            raise RuntimeError(f"no way with {len(table)} operators")

    with pytest.raises(ingot.ConvertError, match="torch cannot take the program apart: no way"):
        decomposed(Broken(), ())
