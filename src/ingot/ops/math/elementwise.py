"""The `lower` rule of operators that are one primitive function of elements."""

from __future__ import annotations

from collections.abc import Callable

from ingot import prim


def elementwise(function: str) -> Callable[..., prim.Tensor]:
    """The rule of an operator without attributes whose inputs, broadcast, are the arguments of `function`."""

    def rule(*operands: prim.Tensor) -> prim.Tensor:
        return prim.apply(function, *operands)

    return rule
