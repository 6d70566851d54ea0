"""Execution providers: which there are, and what becomes of those a program asks for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ingot.compat.onnxruntime.cuda import CUDA, is_available, provider_of

if TYPE_CHECKING:
    from ingot.providers.cuda import Cuda

CPU = "CPUExecutionProvider"

Asked: TypeAlias = Sequence[str | tuple[str, Mapping[Any, Any]]] | None
Settings: TypeAlias = Sequence[Mapping[Any, Any]] | None

_KNOWN = (
    *("NvTensorRTRTXExecutionProvider", "TensorrtExecutionProvider", CUDA),
    *("MIGraphXExecutionProvider", "OpenVINOExecutionProvider", "DnnlExecutionProvider", "VitisAIExecutionProvider"),
    *("QNNExecutionProvider", "NnapiExecutionProvider", "VSINPUExecutionProvider", "JsExecutionProvider"),
    *("CoreMLExecutionProvider", "ACLExecutionProvider", "DmlExecutionProvider", "RknpuExecutionProvider"),
    *("WebNNExecutionProvider", "WebGpuExecutionProvider", "XnnpackExecutionProvider", "CANNExecutionProvider"),
    *("AzureExecutionProvider", CPU),
)


def get_all_providers() -> list[str]:
    """Every provider that onnxruntime's API names, whether or not it is here."""
    return list(_KNOWN)


def get_available_providers() -> list[str]:
    """The providers that can be used: that of a GPU, if there is one, and the CPU's."""
    return [CUDA, CPU] if is_available() else [CPU]


def chosen(providers: Asked, settings: Settings, *, fallback: bool) -> dict[str, dict[str, str]]:
    """The providers a session gets, with their options, for those asked for.

    One that is not available is warned of in onnxruntime's words and passed over. One that nobody knows is, without
    `fallback`, a RuntimeError; arguments of the wrong form are a ValueError.
    """
    if isinstance(providers, str):
        providers = [providers]
    available = get_available_providers() if providers and CUDA in map(_name_of, providers) else [CPU]
    names, options = check_and_normalize_provider_args(providers, settings, available, stacklevel=4)
    for name in names:
        if name not in _KNOWN and not fallback:
            raise RuntimeError(f"Unknown Provider Type: {name}")
    settled = dict(zip(names, options, strict=True))
    return {**{name: own for name, own in settled.items() if name in available}, CPU: settled.get(CPU, {})}


def engines(chosen: Mapping[str, Mapping[str, str]]) -> tuple[str | Cuda, ...] | None:
    """Who runs a session with these providers, the first before the others; None for who does by default.

    RuntimeError for options that a GPU does not have.
    """
    if next(iter(chosen)) != CUDA:
        return None
    return provider_of(chosen[CUDA]), "cpu", "reference"


def _name_of(provider: object) -> object:
    return provider[0] if isinstance(provider, tuple) and provider else provider


def check_and_normalize_provider_args(
    providers: Asked, provider_options: Settings, available_provider_names: Sequence[str], *, stacklevel: int = 2
) -> tuple[list[str], list[dict[str, str]]]:
    """The names of providers, and the options of each as text.

    A name that is not available is warned of, one given twice is warned of and left out. ValueError for arguments of
    the wrong form.
    """
    options = _normalised(providers, provider_options, stacklevel + 1)
    for name in options:
        if name not in available_provider_names:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names."
                f"Available providers: '{', '.join(available_provider_names)}'",
                stacklevel=stacklevel,
            )
    return list(options), list(options.values())


def _normalised(providers: Asked, settings: Settings, stacklevel: int) -> dict[str, dict[str, str]]:
    if providers is None:
        return {}
    if not isinstance(providers, list | tuple):
        raise ValueError(f"'providers' should be a sequence, not {providers!r}")
    pairs: list[tuple[str, Mapping[Any, Any]]] = []
    for index, provider in enumerate(providers):
        match provider:
            case str():
                pairs.append((provider, {}))
            case (str(name), dict(own)) if isinstance(provider, tuple):
                pairs.append((name, own))
            case _:
                raise ValueError(f"providers[{index}] is neither a name nor a (name, options) tuple: {provider!r}")
    if settings is not None:
        if not isinstance(settings, list | tuple) or not all(isinstance(one, dict) for one in settings):
            raise ValueError("'provider_options' should be a list of dictionaries")
        if len(settings) != len(providers):
            raise ValueError(f"{len(providers)} 'providers' and {len(settings)} 'provider_options' are given")
        if not all(isinstance(provider, str) for provider in providers):
            raise ValueError("with 'provider_options', 'providers' should be names")
        pairs = [(name, setting) for (name, _), setting in zip(pairs, settings, strict=True)]
    by_name: dict[str, dict[str, str]] = {}
    for name, options in pairs:
        if name in by_name:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=stacklevel)
        else:
            by_name[name] = {str(key): str(value) for key, value in options.items()}
    return by_name
