"""The rules: which function writes which layer of Keras, and which operation of keras.ops, by their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

Rule: TypeAlias = Callable[..., Any]
"""`(conversion, layer, *args, **kwargs) -> values`: what the layer's `call` gives for these arguments."""
Function = TypeVar("Function", bound=Callable[..., Any])

_RULES: dict[str, Rule] = {}
_REFUSALS: dict[str, Callable[[Any], str | None]] = {}


def rule(*names: str) -> Callable[[Function], Function]:
    """Make a function the rule of Keras' layers of these names; operations of keras.ops are called `ops.Name`.

    It takes the conversion, the layer and what the layer is called with: tensors as `Var`s, in the structure that
    `call` takes them, and everything else as it is. Where it has a parameter `mask`, or `name_mask` for an argument
    `name`, it is given the masks that Keras would give; `training` is left out.
    """

    def registered(function: Function) -> Function:
        for name in names:
            _RULES[name] = function
        return function

    return registered


def register(kind: type, function: Rule) -> None:
    """Make a rule for layers of your own: `register(MyLayer, fn)`.

    `fn(conversion, layer, x)` returns what `layer.call(x)` gives, written with `ingot.builder.op`.
    """
    _RULES[_key(kind)] = function


def refusal(*names: str) -> Callable[[Function], Function]:
    """Make a function say why a layer of these classes cannot be expressed: a reason, or None if it can."""

    def registered(function: Function) -> Function:
        for name in names:
            _REFUSALS[name] = function
        return function

    return registered


def find_rule(operation: Any) -> Rule | None:
    """The rule of a layer or operation: of its class, or of one whose `call` it inherits."""
    for kind in type(operation).__mro__:
        found = _RULES.get(_key(kind))
        if found is not None:
            return found
        if "call" in vars(kind):
            return None  # it says something of its own that no rule knows
    return None


def reason_against(operation: Any) -> str | None:
    """Why a layer cannot be expressed; None if nothing speaks against it."""
    for kind in type(operation).__mro__:
        if _key(kind) in _REFUSALS:
            return _REFUSALS[_key(kind)](operation)
    return None


def known() -> frozenset[str]:
    """What there are rules for."""
    return frozenset(_RULES)


def _key(kind: type) -> str:
    """A class by its name where it is Keras', operations under `ops.`; else with its module."""
    module, name = kind.__module__, kind.__qualname__
    if module.startswith(("keras.src.ops.", "keras.src.activations")):
        return f"ops.{name}"
    return name if module.partition(".")[0] == "keras" else f"{module}.{name}"
