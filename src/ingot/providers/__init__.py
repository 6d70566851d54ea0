"""Providers, by name: `cpu` compiles for the processor at hand, `cuda` for a GPU, `reference` evaluates with numpy."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import cast

from ingot.errors import InputError
from ingot.runtime.provider import Compiler, Evaluator, Provider

PROVIDERS = {
    "cpu": "ingot.providers.cpu:Cpu",
    "cuda": "ingot.providers.cuda:Cuda",
    "reference": "ingot.providers.reference:Reference",
}
"""The module and class of each provider; imported when first used."""

DEFAULT = ("cpu", "reference")
"""Those that are used unless others are named: a GPU is used only where it is asked for."""


def default_providers() -> tuple[str, ...]:
    """The providers of a session that names none: those that INGOT_PROVIDERS lists, else the default."""
    setting = os.environ.get("INGOT_PROVIDERS")
    return tuple(name.strip() for name in setting.split(",")) if setting else DEFAULT


def compiling_providers() -> tuple[str, ...]:
    """The same, for what only a provider that compiles can be asked: the default where the first does not."""
    names = default_providers()
    return DEFAULT if names[0] == "reference" else names


def resolve(providers: Iterable[str | Provider]) -> tuple[Provider, ...]:
    """Providers by name, or as they are; InputError for an unknown name."""
    return tuple(named(provider) if isinstance(provider, str) else provider for provider in providers)


def compiler_of(providers: tuple[Provider, ...]) -> Compiler | None:
    """The first of providers, if it compiles; else None."""
    first = providers[0]
    return cast(Compiler, first) if _kinds(first)[0] else None


def is_evaluator(provider: Provider) -> bool:
    """Whether a provider evaluates nodes one by one."""
    return _kinds(provider)[1]


def evaluators_of(providers: tuple[Provider, ...]) -> tuple[Evaluator, ...]:
    """The providers that evaluate nodes, in order."""
    return tuple(cast(Evaluator, provider) for provider in providers if is_evaluator(provider))


def _kinds(provider: Provider) -> tuple[bool, bool]:
    """Whether a provider compiles, and whether it evaluates; checking a protocol is slow, so it is cached by class."""
    kind = type(provider)
    if kind not in _KINDS:
        _KINDS[kind] = isinstance(provider, Compiler), isinstance(provider, Evaluator)
    return _KINDS[kind]


_KINDS: dict[type, tuple[bool, bool]] = {}


@cache
def named(name: str) -> Provider:
    """The provider with a name, which may end in the number of a device, as in `cuda:1`; InputError if none has it."""
    base, _, number = name.partition(":")
    if base not in PROVIDERS or (number and not number.isdecimal()):
        raise InputError(f"there is no provider '{name}'", hint=f"one of {', '.join(PROVIDERS)}")
    module, _, kind = PROVIDERS[base].partition(":")
    create = getattr(import_module(module), kind)
    if number and not getattr(create, "is_numbered", False):
        raise InputError(f"the provider '{base}' has no devices to choose from", hint=f"it is '{base}'")
    provider: Provider = create(int(number)) if number else create()
    return provider
