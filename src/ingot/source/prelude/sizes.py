"""What `ingot.dims` does with sizes, for sizes that are numbers."""

from __future__ import annotations


def minimum(a: int, b: int) -> int:
    return min(a, b)


def maximum(a: int, b: int) -> int:
    return max(a, b)


def divide_exactly(a: int, b: int) -> int | None:
    """The quotient, or None where there is a remainder."""
    return a // b if a % b == 0 else None


def symbols(size: int) -> set[str]:  # noqa: ARG001
    """The names in a size: a number has none."""
    return set()


def format_shape(shape: tuple[int, ...] | None) -> str:
    return "..." if shape is None else ", ".join(map(str, shape))
