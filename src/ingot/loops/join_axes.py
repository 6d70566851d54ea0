"""Collapsing of a contraction's axes: a product of matrices instead of tensors, wherever memory allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ingot.loops.ir import Contraction, Load, Var
from ingot.loops.rewrite import Reindexed, indices, joined, joins


def join_axes(product: Contraction) -> Contraction:
    """Neighbouring axes joined where everything that is read and written goes through them as through one.

    There is at least one axis of columns, and one that is summed.
    """
    left = [product.lhs.index, *(condition.index for condition in product.lhs.where)]
    right = [] if product.packed else [product.rhs.index, *(condition.index for condition in product.rhs.where)]
    body = list(indices(*product.body))
    for role, seen in (("k", left + right), ("n", right + body), ("m", left + body), ("batch", left + right + body)):
        variables: tuple[Var, ...] = getattr(product, role)
        position = len(variables) - 2
        while position >= 0:
            outer, inner = variables[position : position + 2]
            if joins(outer, inner, seen):
                both, change = joined(outer, inner)
                variables = (*variables[:position], both, *variables[position + 2 :])
                product = _with_axes(_changed(product, change), {role: variables})
                return join_axes(product)
            position -= 1
    ones = {role: (Var(role, 1),) for role in ("n", "k") if not getattr(product, role)}
    return _with_axes(product, ones)


def _changed(product: Contraction, change: Reindexed) -> Contraction:
    left, right = change.scalar(product.lhs), change.scalar(product.rhs)
    assert isinstance(left, Load)
    assert isinstance(right, Load)
    return replace(product, lhs=left, rhs=right, body=tuple(map(change.statement, product.body)))


def _with_axes(product: Contraction, axes: Mapping[str, tuple[Var, ...]]) -> Contraction:
    return replace(product, **axes)  # type: ignore[arg-type]
