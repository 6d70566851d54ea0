"""Lists of tensors."""

from __future__ import annotations

from torch import Tensor


def without(sequence: list[Tensor], position: int) -> list[Tensor]:
    """A list without one of its tensors."""
    position %= len(sequence)
    return [*sequence[:position], *sequence[position + 1 :]]


def split_at(x: Tensor, split: Tensor, axis: int) -> list[Tensor]:
    """Parts along an axis: of one size, or of several."""
    return list(x.split(int(split) if split.ndim == 0 else split.tolist(), dim=axis))
