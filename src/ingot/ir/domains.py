"""Domains of operators, and the operator sets that a model imports of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, overload

STANDARD = ""
"""The canonical name of the domain of the standard operators."""

TRAINING = "ai.onnx.preview.training"
"""The domain of gradients and optimisers."""

ML = "ai.onnx.ml"
"""The domain of classical models: trees, support vectors, encoders of tables."""

_SPELLED_OUT = "ai.onnx"


def canonical(domain: str) -> str:
    """The one name of a domain: the standard may be spelled `ai.onnx`, which is the empty name."""
    return STANDARD if domain == _SPELLED_OUT else domain


def spelled_out(domain: str) -> str:
    """A domain as messages and tables show it: `ai.onnx` for the standard."""
    return domain or _SPELLED_OUT


def is_of_onnx(domain: str) -> bool:
    """Whether ONNX itself defines the operators of a domain, rather than a vendor."""
    return domain == STANDARD or domain.startswith(f"{_SPELLED_OUT}.")


class OpsetImports(dict[str, int]):
    """The versions of operator sets by domain; both spellings of the standard domain are one key, the canonical."""

    __slots__ = ()

    def __init__(self, imports: Mapping[str, int] | Iterable[tuple[str, int]] = ()) -> None:
        super().__init__()
        self.update(imports)

    def __getitem__(self, domain: str) -> int:
        return super().__getitem__(canonical(domain))

    def __setitem__(self, domain: str, version: int) -> None:
        super().__setitem__(canonical(domain), version)

    def __delitem__(self, domain: str) -> None:
        super().__delitem__(canonical(domain))

    def __contains__(self, domain: object) -> bool:
        return super().__contains__(canonical(domain) if isinstance(domain, str) else domain)

    @overload
    def get(self, domain: str, default: None = None, /) -> int | None: ...
    @overload
    def get(self, domain: str, default: int, /) -> int: ...
    @overload
    def get(self, domain: str, default: Any, /) -> Any: ...
    def get(self, domain: str, default: Any = None, /) -> Any:
        return super().get(canonical(domain), default)

    def setdefault(self, domain: str, version: int, /) -> int:
        return super().setdefault(canonical(domain), version)

    def pop(self, domain: str, *default: Any) -> Any:
        return super().pop(canonical(domain), *default)

    def update(self, *others: Any, **named: int) -> None:
        for domain, version in dict(*others, **named).items():
            self[domain] = version

    def __ior__(self, other: Any) -> OpsetImports:  # type: ignore[override,misc]
        self.update(other)
        return self

    def copy(self) -> OpsetImports:
        return OpsetImports(self)
