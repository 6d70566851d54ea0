"""Variants of an example: the same tensors in other sizes of the axes that stay open, within what torch found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ingot.convert.torch.axes import resized
from ingot.dims import Dim

Bounds = dict[str, tuple[int, int | None]]
"""By symbol, the smallest and the largest size; None if there is no largest."""

_TRACED = 2
"""torch traces sizes of two and more; that this is the smallest says nothing about the module."""
_MORE = (2, 3)


def bounds_of(program: Any) -> Bounds:
    """The sizes that the program takes: what the caller asked for, and what its operators imply."""
    bounds: Bounds = {}
    for symbol, allowed in program.range_constraints.items():
        low, high = allowed.lower, allowed.upper
        top = int(high) if getattr(high, "is_Integer", False) and high < 2**31 else None
        bounds[str(symbol)] = (int(low) if low > _TRACED else 0, top)
    return bounds


def stated(bounds: Bounds, names: Mapping[str, Dim]) -> dict[str, str]:
    """Bounds that exclude a size, as metadata of a model: `size batch` is `4 to 8`, or `at least 4`."""
    texts: dict[str, str] = {}
    for symbol, (low, high) in bounds.items():
        if symbol not in names or (low == 0 and high is None):
            continue
        texts[f"size {names[symbol]}"] = f"at least {low}" if high is None else f"{low} to {high}"
    return texts


def variants(
    tensors: Sequence[Any], fakes: Sequence[Any], bounds: Bounds, accepts: Callable[[list[Any]], object]
) -> list[list[Any]]:
    """The tensors in two other sizes, those that the original accepts without an exception."""
    sizes = _sizes(tensors, fakes)
    others: list[list[Any]] = []
    for more in _MORE if sizes else ():
        chosen = {symbol: _fitting(size, more, bounds.get(str(symbol), (0, None))) for symbol, size in sizes.items()}
        variant = [
            resized(t, [_size(size, chosen) for size in fake.shape]) for t, fake in zip(tensors, fakes, strict=True)
        ]
        try:
            accepts(variant)
        except Exception:  # sizes that the module's own conditions exclude
            continue
        others.append(variant)
    return others


def _sizes(tensors: Sequence[Any], fakes: Sequence[Any]) -> dict[Any, int]:
    """What each symbol is in the example."""
    sizes: dict[Any, int] = {}
    for tensor, fake in zip(tensors, fakes, strict=True):
        for size, traced in zip(tensor.shape, fake.shape, strict=True):
            if not isinstance(traced, torch.SymInt):
                continue
            if traced.node.expr.is_Symbol:
                sizes[traced.node.expr] = size
            for symbol in traced.node.expr.free_symbols:
                sizes.setdefault(symbol, int(traced.node.shape_env.backed_var_to_val[symbol]))
    return sizes


def _fitting(size: int, more: int, bounds: tuple[int, int | None]) -> int:
    low, high = bounds
    larger = size + more
    return larger if high is None or larger <= high else max(low, high - more)


def _size(size: Any, chosen: Mapping[Any, int]) -> int:
    return int(size.node.expr.subs(chosen)) if isinstance(size, torch.SymInt) else size
