"""Providers, by name: `reference` evaluates with numpy, `cpu` compiles machine code for the processor at hand."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import cast

from ingot.errors import InputError
from ingot.runtime.provider import Compiler, Evaluator, Provider

PROVIDERS = {
    "cpu": "ingot.providers.cpu:Cpu",
    "reference": "ingot.providers.reference:Reference",
}
"""Where each provider is, the first preferred: its module, which is imported when it is asked for, and its class."""


def resolve(providers: Iterable[str | Provider]) -> tuple[Provider, ...]:
    """Providers given by name, or as they are; InputError for a name that there is not."""
    return tuple(named(provider) if isinstance(provider, str) else provider for provider in providers)


def compiler_of(providers: tuple[Provider, ...]) -> Compiler | None:
    """Who compiles: the first of providers, if it is one that does."""
    first = providers[0]
    return cast(Compiler, first) if _kinds(type(first), first)[0] else None


def evaluators_of(providers: tuple[Provider, ...]) -> tuple[Evaluator, ...]:
    """Those of providers that evaluate nodes, in order."""
    return tuple(cast(Evaluator, provider) for provider in providers if _kinds(type(provider), provider)[1])


def _kinds(kind: type, provider: Provider) -> tuple[bool, bool]:
    """Whether a provider compiles, and whether it evaluates; asking a protocol takes long, so it is asked once."""
    if kind not in _KINDS:
        _KINDS[kind] = isinstance(provider, Compiler), isinstance(provider, Evaluator)
    return _KINDS[kind]


_KINDS: dict[type, tuple[bool, bool]] = {}


@cache
def named(name: str) -> Provider:
    """The provider of a name; InputError if there is none."""
    if name not in PROVIDERS:
        raise InputError(f"there is no provider '{name}'", hint=f"one of {', '.join(PROVIDERS)}")
    module, _, kind = PROVIDERS[name].partition(":")
    provider: Provider = getattr(import_module(module), kind)()
    return provider
