"""Providers, by name: `reference` evaluates with numpy, `cpu` compiles machine code for the processor at hand."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from ingot.errors import InputError
from ingot.runtime.provider import Provider

PROVIDERS = {
    "cpu": "ingot.providers.cpu:Cpu",
    "reference": "ingot.providers.reference:Reference",
}
"""Where each provider is, the first preferred: its module, which is imported when it is asked for, and its class."""


def resolve(providers: Iterable[str | Provider]) -> tuple[Provider, ...]:
    """Providers given by name, or as they are; InputError for a name that there is not."""
    return tuple(named(each) if isinstance(each, str) else each for each in providers)


@cache
def named(name: str) -> Provider:
    """The provider of a name; InputError if there is none."""
    if name not in PROVIDERS:
        raise InputError(f"there is no provider '{name}'", hint=f"one of {', '.join(PROVIDERS)}")
    module, _, kind = PROVIDERS[name].partition(":")
    provider: Provider = getattr(import_module(module), kind)()
    return provider
