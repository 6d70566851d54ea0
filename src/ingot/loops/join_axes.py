"""Collapsing of a contraction's axes: a product of matrices instead of tensors, wherever memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ingot.loops.ir import Contraction, Index, Load, Var
from ingot.loops.rewrite import in_turn, indices, joined, joins


def join_axes(product: Contraction) -> Contraction:
    """Neighbouring axes joined where everything that is read and written goes through them as through one.

    There is at least one axis of columns, and one that is summed.
    """
    axes, changes = _Axes(product), list[Callable[[Index], Index]]()
    while (change := axes.join()) is not None:
        changes.append(change)
    if changes:
        product = _changed(product, changes)
    k, n = (axes.variables[role] or (Var(role, 1),) for role in ("k", "n"))
    return replace(product, batch=axes.variables["batch"], m=axes.variables["m"], n=n, k=k)


class _Axes:
    """The axes of a contraction, by role, and the indices that go through them."""

    def __init__(self, product: Contraction) -> None:
        self.variables: dict[str, tuple[Var, ...]] = {role: getattr(product, role) for role in _READ_BY}
        right = () if product.packed else _places(product.rhs)
        self._indices = {"left": _places(product.lhs), "right": right, "body": tuple(indices(*product.body))}

    def join(self) -> Callable[[Index], Index] | None:
        """The change of indices that joins two axes, which are one from now on; None if there are none to join."""
        for role, readers in _READ_BY.items():
            variables = self.variables[role]
            seen = [index for reader in readers for index in self._indices[reader]]
            for position in range(len(variables) - 2, -1, -1):
                outer, inner = variables[position : position + 2]
                if joins(outer, inner, seen):
                    both, change = joined(outer, inner)
                    self.variables[role] = (*variables[:position], both, *variables[position + 2 :])
                    self._indices = {reader: tuple(map(change, own)) for reader, own in self._indices.items()}
                    return change
        return None


_READ_BY = {"k": ("left", "right"), "n": ("right", "body"), "m": ("left", "body"), "batch": ("left", "right", "body")}
"""What goes through the axes of each role."""


def _places(load: Load) -> tuple[Index, ...]:
    return load.index, *(condition.index for condition in load.where)


def _changed(product: Contraction, changes: Iterable[Callable[[Index], Index]]) -> Contraction:
    every = in_turn(changes)
    left, right = every.scalar(product.lhs), every.scalar(product.rhs)
    assert isinstance(left, Load)
    assert isinstance(right, Load)
    return replace(product, lhs=left, rhs=right, body=tuple(map(every.statement, product.body)))
