"""Control flow: operators that take graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.sizes import Size
from ingot.dtypes import DType


@rule("cond")
def cond(site: Site, condition: Any, yes: Any, no: Any, operands: Sequence[Any] = ()) -> Any:
    test = operand(condition, DType.BOOL)
    if isinstance(condition, Var) and condition.rank:
        test = op.Reshape(test, np.zeros(0, np.int64))
    return _several(
        op.If(
            test,
            then=lambda: _values(site.subgraph(yes, tuple(operands))),
            else_=lambda: _values(site.subgraph(no, tuple(operands))),
        )
    )


@rule("while_loop")
def while_loop(site: Site, test: Any, body: Any, carried: Sequence[Any], more: Sequence[Any] = ()) -> Any:
    """Runs while the test holds of what is carried."""

    def holds(states: Sequence[Any]) -> Any:
        condition = site.subgraph(test, (*states, *more))[0]
        condition = operand(condition, DType.BOOL)
        return op.Reshape(condition, np.zeros(0, np.int64))

    def step(turn: Var, *states: Var) -> Any:
        own = [
            Size(state) if isinstance(start, Size | int) else state
            for state, start in zip(states, carried, strict=True)
        ]
        new = site.subgraph(body, (*own, *more))
        return holds(new), *_values(new)

    starts = _values(list(carried))
    return _several(op.Loop(None, holds(carried), *starts, body=step))


@rule("scan")
def scan(site: Site, body: Any, init: Sequence[Any], xs: Sequence[Var], more: Sequence[Any] = ()) -> Any:
    """Along the first axis of `xs`; gives the last states, then what was collected."""

    def step(*states_now: Var) -> Any:
        return _values(site.subgraph(body, (*states_now, *more)))

    return _several(op.Scan(_values(list(init)), list(xs), body=step))


@rule("map_impl", "map")
def map_(site: Site, body: Any, xs: Sequence[Var], more: Sequence[Any] = ()) -> Any:
    """For each slice along the first axis of `xs`."""
    return _several(op.Scan([], list(xs), body=lambda *items: _values(site.subgraph(body, (*items, *more)))))


@rule("wrap_with_set_grad_enabled")
def with_grad(site: Site, enabled: bool, body: Any, *operands: Any) -> Any:
    return tuple(site.subgraph(body, operands))


@rule("wrap_with_autocast")
def with_autocast(
    site: Site, device: str, dtype: Any, enabled: bool, cached: bool | None, body: Any, *operands: Any
) -> Any:
    return tuple(site.subgraph(body, operands))


@rule("invoke_subgraph")
def invoke(site: Site, body: Any, name: str, *operands: Any) -> Any:
    return tuple(site.subgraph(body, operands))


def _values(results: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        result.var if isinstance(result, Size) else np.array(result) if isinstance(result, int | float) else result
        for result in results
    )


def _several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)
