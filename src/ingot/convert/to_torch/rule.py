"""Rules: what an operator of ONNX is in PyTorch, one function each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from ingot.convert import rules as tables
from ingot.convert.rules import P, R, RuleTable, modules_in
from ingot.convert.to_torch.operand import Operand, Sizes

Expression: TypeAlias = "str | Operand | Sizes | list[str | Operand | Sizes | None] | None"
"""What a rule returns: an expression, which gives all outputs where there are several; or one for each output.

None is for a rule that wrote its lines itself, and bound its outputs.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Rule(tables.Rule[P, R]):
    """A function that writes the expression of some operators, in the newest version of each.

    Its keys are domains and names: `("", "Add")`.
    """

    widens: bool = False
    """Whether unsigned integers that torch computes nothing with are computed as int64."""
    widens_all: bool = False
    """Whether that is right of uint64 too, whose upper half int64 takes for negative."""
    orders: bool = False
    """Whether only the order of elements matters: then uint64 is right too, with its halves changed over."""


def rule(
    *operators: str, domain: str = "", widens: bool = False, widens_all: bool = False, orders: bool = False
) -> Callable[[Callable[P, R]], Rule[P, R]]:
    """Make a function the rule of the operators named.

    It is called with the site, the node's inputs as operands, None where one is omitted, and the attributes by keyword.
    """
    keys = tuple((domain, name) for name in operators)
    return lambda function: Rule(keys, function, widens or widens_all or orders, widens_all, orders)


@cache
def rules() -> RuleTable[tuple[str, str], Rule[..., Expression]]:
    """Every rule of this package by domain and operator."""
    return RuleTable.collect(Rule, modules_in("ingot.convert.to_torch.rules"), _explain)


_INSTEAD = {
    ("ai.onnx.preview.training", "Gradient"): "the module has gradients by itself: call backward on what it gives"
}


def _explain(operator: tuple[str, str]) -> str:
    if operator[0] == "com.microsoft":
        return "it is onnxruntime's own, and has no rule"
    return _INSTEAD.get(operator, "torch has nothing like it")
