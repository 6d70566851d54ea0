"""Rules: what an operator of ONNX is in PyTorch, one function each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeAlias

from ingot.convert.to_torch.operand import Operand, Sizes
from ingot.errors import UnsupportedError

Made: TypeAlias = "str | Operand | Sizes | list[str | Operand | Sizes | None] | None"
"""What a rule returns: an expression, which gives all outputs where there are several; or one for each output.

None is for a rule that wrote its lines itself, and bound its outputs.
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """A function that writes the expression of some operators of one domain, in the newest meaning of each."""

    operators: tuple[str, ...]
    domain: str
    write: Callable[..., Made]
    widens: bool
    """Whether unsigned integers that torch computes nothing with are computed as int64."""
    widens_all: bool
    """Whether that is right of uint64 too, whose upper half int64 takes for negative."""
    orders: bool
    """Whether only the order of elements matters: then uint64 is right too, with its halves changed over."""


def rule(
    *operators: str, domain: str = "", widens: bool = False, widens_all: bool = False, orders: bool = False
) -> Callable[[Callable[..., Made]], Rule]:
    """Makes a function the rule of the operators named.

    It is called with the site, the node's inputs as operands, None where one is omitted, and the attributes by keyword.
    """
    return lambda write: Rule(operators, domain, write, widens or widens_all or orders, widens_all, orders)


@cache
def rules() -> dict[tuple[str, str], Rule]:
    """Every rule of this package by domain and operator."""
    package = import_module("ingot.convert.to_torch.rules")
    found: dict[tuple[str, str], Rule] = {}
    for module in iter_modules(package.__path__, "ingot.convert.to_torch.rules."):
        for item in vars(import_module(module.name)).values():
            for each in item if isinstance(item, list) else [item]:
                if isinstance(each, Rule):
                    _add(found, each)
    return found


def _add(found: dict[tuple[str, str], Rule], new: Rule) -> None:
    for name in new.operators:
        if found.setdefault((new.domain, name), new) is not new:
            raise TypeError(f"two rules for {name}")


_INSTEAD = {
    ("ai.onnx.preview.training", "Gradient"): "the module has gradients by itself: call backward on what it gives"
}


def no_rule(domain: str, name: str) -> str:
    """Why an operator has no rule."""
    if domain == "com.microsoft":
        return "it is onnxruntime's own, and has no rule"
    return _INSTEAD.get((domain, name), "torch has nothing like it")


def refuse(why: str) -> UnsupportedError:
    """The error of a rule that cannot say what it is asked."""
    return UnsupportedError(why)
