"""Rules: which function writes which layer of Keras, and which operation of keras.ops, by their classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from ingot.convert import rules as tables
from ingot.convert.rules import P, R, RuleTable, modules_in

_PACKAGES = ("ingot.convert.keras.layers", "ingot.convert.keras.operations")


@dataclass(frozen=True, slots=True, eq=False)
class Rule(tables.Rule[P, R]):
    """`(conversion, layer, *args, **kwargs) -> values`: what the layer's `call` gives for these arguments."""


@dataclass(frozen=True, slots=True, eq=False)
class Refusal(tables.Rule[P, R]):
    """`(layer) -> str | None`: why a layer cannot be expressed; None if nothing speaks against it."""


_registered: list[Rule[..., Any]] = []


def rule(*names: str) -> Callable[[Callable[P, R]], Rule[P, R]]:
    """Make a function the rule of Keras' layers of these names; operations of keras.ops are called `ops.Name`.

    It takes the conversion, the layer and what the layer is called with: tensors as `Var`s, in the structure that
    `call` takes them, and everything else as it is. Where it has a parameter `mask`, or `name_mask` for an argument
    `name`, it is given the masks that Keras would give; `training` is left out.
    """
    return lambda function: Rule(names, function)


def refusal(*names: str) -> Callable[[Callable[P, R]], Refusal[P, R]]:
    """Make a function the refusal of layers of these names."""
    return lambda function: Refusal(names, function)


def register(kind: type, function: Callable[..., Any]) -> None:
    """Make a rule for layers of your own: `register(MyLayer, fn)`.

    `fn(conversion, layer, x)` returns what `layer.call(x)` gives, written with `ingot.builder.op`.
    """
    _registered.append(Rule((_key(kind),), function))
    rules.cache_clear()


@cache
def rules() -> RuleTable[str, Rule[..., Any]]:
    """The rules of this package, and those that were registered in their place or beside them."""
    return RuleTable[str, Rule[..., Any]].collect(Rule, modules_in(*_PACKAGES)).overridden(_registered)


@cache
def refusals() -> RuleTable[str, Refusal[[Any], str | None]]:
    return RuleTable.collect(Refusal, modules_in(*_PACKAGES))


def find_rule(operation: Any) -> Rule[..., Any] | None:
    """The rule of a layer or operation: of its class, or of one whose `call` it inherits."""
    return rules().for_class(type(operation), _key, overrides=lambda kind: "call" in vars(kind))


def reason_against(operation: Any) -> str | None:
    """Why a layer cannot be expressed; None if nothing speaks against it."""
    refused = refusals().for_class(type(operation), _key)
    return None if refused is None else refused(operation)


def _key(kind: type) -> str:
    """A class by its name where it is Keras', operations under `ops.`; else with its module."""
    module, name = kind.__module__, kind.__qualname__
    if module.startswith(("keras.src.ops.", "keras.src.activations")):
        return f"ops.{name}"
    return name if module.partition(".")[0] == "keras" else f"{module}.{name}"
