"""Rules: what an operator of torch is in ONNX, one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import torch

from ingot.convert.torch.dtypes import dtype_of, real_of
from ingot.convert.torch.sizes import dim_of
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

COMPLEX = "complex "
"""Before the name of an overload, in the table of rules: its rule where an argument or the result is complex."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A function that writes the nodes of some operators, known by their overloads' names."""

    targets: tuple[str, ...]
    write: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.write(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Site:
    """Where a rule is applied: the call in the exported program, and what its symbols are called.

    A rule is called with the site and the arguments of the call: tensors as `Var`s, complex ones as `Pair`s, sizes that
    are not known as `Size`s, everything else as torch has it.
    """

    node: Any
    names: Mapping[str, Dim]
    subgraph: Callable[[Any, tuple[Any, ...]], list[Any]]
    """Writes the body of a higher-order operator here, for the arguments given; returns what it computes."""

    @property
    def result(self) -> Any:
        """What torch knows of the result: a fake tensor, a symbolic number, or a tuple of them."""
        return self.node.meta.get("val")

    @property
    def dtype(self) -> DType:
        """The element type of the result, or of the first of several; that of its parts if it is complex."""
        result = self.result
        return real_of(dtype_of((result[0] if isinstance(result, tuple | list) else result).dtype))

    def given(self, position: int) -> Any:
        """What torch knows of an argument: a fake tensor, a number, or None."""
        args = self.node.args
        found = args[position] if position < len(args) else None
        return found.meta.get("val") if isinstance(found, torch.fx.Node) else found

    def shape(self, position: int) -> tuple[Dim | None, ...]:
        """The shape of a tensor argument."""
        return tuple(dim_of(size, self.names) for size in self.given(position).shape)

    def promoted(self, *positions: int) -> DType:
        """The element type that torch computes with when these arguments meet; that of its parts if it is complex."""
        return real_of(dtype_of(_common_type([self.given(position) for position in positions])))


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


def rule(*targets: str) -> Callable[[Callable[..., Any]], Rule]:
    """Makes a function the rule of the overloads named: `aten.add.Tensor`."""
    return lambda write: Rule(targets, write)


@cache
def rules() -> dict[str, Rule]:
    """Every rule of this package by the overload it is for."""
    package = import_module("ingot.convert.torch.rules")
    found: dict[str, Rule] = {}
    for module in iter_modules(package.__path__, "ingot.convert.torch.rules."):
        for item in vars(import_module(module.name)).values():
            for each in item.values() if isinstance(item, dict) else [item]:
                if isinstance(each, Rule):
                    _add(found, each)
    return found


def _add(found: dict[str, Rule], new: Rule) -> None:
    for target in new.targets:
        if found.setdefault(target, new) is not new:
            raise TypeError(f"two rules for {target}")


def refuse(why: str) -> UnsupportedError:
    """The error of a rule that cannot say what it is asked."""
    return UnsupportedError(why)
