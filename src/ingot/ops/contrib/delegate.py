"""Rules that ask those of another operator, with inputs and attributes as it takes them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from ingot import prim
from ingot.ops.define import Operator
from ingot.ops.facts import Fact
from ingot.ops.index import MODULES
from ingot.prim.tensor import SizeReader

Translate: TypeAlias = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]
"""From the inputs and attributes of one operator to those of another."""


def delegate(operator: Operator, to: Operator, translate: Translate) -> None:
    """Attach rules to infer and to lower `operator`, whose inputs in their order are some of those of `to`."""

    def infer(*inputs: Fact, **attributes: Any) -> Any:
        arguments, named = translate(*inputs, **attributes)
        return to.rules["infer"](*arguments, **named)

    def lower(
        *inputs: Any, facts: tuple[Fact, ...], inferred: tuple[Fact, ...], read: SizeReader, **attributes: Any
    ) -> Any:
        if "lower" not in complete(to).rules:
            raise prim.Refused(f"{to.name} has no rule")
        arguments, named = translate(*inputs, **attributes)
        known, _ = translate(*facts, **attributes)
        return to.apply("lower", arguments, named, facts=known, inferred=inferred, read=read)

    operator.infer(infer)
    operator.lower(lower)


def complete(operator: Operator) -> Operator:
    """An operator of this package with all of its rules: those that other modules attach are imported."""
    for module in MODULES[operator.domain][operator.name].split():
        import_module(f"ingot.ops.{module}")
    return operator
