"""Rules: what an operator of torch is in ONNX, one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from ingot.convert import rules as tables
from ingot.convert.rules import NO_RULE, P, R, RuleTable, modules_in
from ingot.convert.torch.dtypes import dtype_of, real_of
from ingot.convert.torch.sizes import dim_of
from ingot.dims import Dim
from ingot.dtypes import DType

COMPLEX = "complex "
"""Before the name of an overload, in the table of rules: its rule where an argument or the result is complex."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule(tables.Rule[P, R]):
    """A function that writes the nodes of some operators, whose overloads' names are its keys."""

    pairs: bool = False
    """Whether it takes complex tensors too, as `Pair`s."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a rule is applied: the call in the exported program, and what its symbols are called.

    A rule is called with the site and the arguments of the call: tensors as `Var`s, complex ones as `Pair`s, sizes that
    are not known as `Size`s, everything else as torch has it.
    """

    node: Any
    names: Mapping[str, Dim]
    subgraph: Callable[[Any, tuple[Any, ...]], list[Any]]
    """Writes the body of a higher-order operator here, for these arguments; returns its results."""

    @property
    def result(self) -> Any:
        """What torch knows of the result: a fake tensor, a symbolic number, or a tuple of them."""
        return self.node.meta.get("val")

    @property
    def dtype(self) -> DType:
        """The element type of the result, or of the first of several; that of its parts if it is complex."""
        result = self.result
        return real_of(dtype_of((result[0] if isinstance(result, tuple | list) else result).dtype))

    def argument(self, position: int) -> Any:
        """What torch knows of an argument: a fake tensor, a number, or None."""
        args = self.node.args
        argument = args[position] if position < len(args) else None
        return argument.meta.get("val") if isinstance(argument, torch.fx.Node) else argument

    def shape(self, position: int) -> tuple[Dim | None, ...]:
        """The shape of a tensor argument."""
        return tuple(dim_of(size, self.names) for size in self.argument(position).shape)

    def promoted(self, *positions: int) -> DType:
        """The element type that torch computes with when these arguments meet; that of its parts if it is complex."""
        return real_of(dtype_of(_common_type([self.argument(position) for position in positions])))


def _common_type(values: list[Any]) -> Any:
    """Torch's own rule of promotion over tensors and numbers."""
    first, *rest = values
    if not rest:
        return first.dtype if isinstance(first, torch.Tensor) else torch.tensor(first).dtype
    return torch.result_type(_plain(first), _plain(rest[0]))


def _plain(value: Any) -> Any:
    if isinstance(value, torch.SymInt):
        return 2
    if isinstance(value, torch.SymFloat):
        return 2.5
    return True if isinstance(value, torch.SymBool) else value


def rule(*targets: str) -> Callable[[Callable[P, R]], Rule[P, R]]:
    """Make a function the rule of the overloads named: `aten.add.Tensor`."""
    return lambda function: Rule(targets, function)


@cache
def rules() -> RuleTable[str, Rule[..., Any]]:
    """Every rule of this package by the overload it is for."""
    return RuleTable.collect(Rule, modules_in("ingot.convert.torch.rules"), _explain)


def _explain(target: str) -> str:
    return f"{NO_RULE} with complex numbers" if target.startswith(COMPLEX) else NO_RULE
