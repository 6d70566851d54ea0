"""Attention among primitives: a contraction, a softmax of its sums, and a contraction with that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.prim.functions import NARROW_FLOATS
from ingot.prim.make import count
from ingot.prim.tensor import AssumeShape, Constant, Contract, Expand, Map, Reduce, Reshape, Tensor

_MOST_INSIDE = 64
"""Primitives between the two contractions that are followed: bounds the search, whatever the machine."""


@dataclass(frozen=True, slots=True)
class AttentionMatch:
    """Two contractions with a softmax between: of `scores` along `axis`, which are elementwise in the sums of `first`.

    `seen` is whether a row without a weight reads zeros, `sound` whether one with a NaN does. `rounded` is the 16-bit
    type of the weights that `second` reads, None if they are not rounded. `inside` is all that depends on `first`.
    """

    first: Contract
    second: Contract
    scores: Tensor
    axis: int
    seen: bool
    sound: bool
    rounded: DType | None
    inside: frozenset[Tensor]


def attention_in(
    second: Contract,
    readers: Mapping[Tensor, Sequence[Tensor]],
    stored: Collection[Tensor],
    fewest: int,
    widest: int | None,
) -> AttentionMatch | None:
    """The attention that ends with a contraction; None if there is none, or something else reads its scores.

    One of fewer than `fewest` rows is none; nor, unless `widest` is None, one that is not of float32, or whose heads
    are not known to have at most so many elements. Nor is a product with weights: these are packed once, when the model
    is compiled, and not in every run.
    """
    if second.dtype not in (DType.FLOAT32, DType.FLOAT64) or second.rhs.is_constant:
        return None
    read, rounded = _before_rounding(second.lhs)
    shares, sound = _without_nans(read)
    divided = _divided(shares)
    if divided is None:
        return None
    weights, (total, seen) = divided[0], _guarded(divided[1], 0.0, 1.0)
    exponent = _arguments(weights, "exp") or _arguments(weights, "exp_nonpositive")
    less = _arguments(_first(exponent), "subtract")
    if less is None or not isinstance(total, Reduce) or total.function != "add" or total.x is not weights:
        return None
    scores, (greatest, shifted) = less[0], _guarded(_one(less[1]), -np.inf, 0.0)
    if not isinstance(greatest, Reduce) or greatest.function != "maximum" or greatest.x is not scores:
        return None
    if greatest.axes != total.axes or len(total.axes) != 1 or (seen and not shifted):
        return None
    for first in (
        candidate
        for candidate in _contracts(scores)
        if candidate.dtype is second.dtype and not any(operand.is_constant for operand in candidate.reads)
    ):
        inside = _between(first, second, readers, stored)
        reductions = {candidate for candidate in inside or () if isinstance(candidate, Reduce)}
        if inside is None or reductions != {greatest, total}:
            continue
        match = AttentionMatch(first, second, scores, total.axes[0], seen, sound, rounded, inside)
        roles = roles_of(match)
        if roles is None or (isinstance(roles.row_count, int) and roles.row_count < fewest):
            continue
        if widest is None or (second.dtype is DType.FLOAT32 and _is_narrow(match, roles, widest)):
            return match
    return None


def _is_narrow(attention: AttentionMatch, roles: Roles, widest: int) -> bool:
    """Whether queries and values have at most so many elements, as far as that is known."""
    first, second = attention.first, attention.second
    summed = [
        size for label, size in zip(first.labels[0], first.lhs.shape, strict=True) if label not in first.labels[2]
    ]
    columns = [size for label, size in zip(second.labels[1], second.rhs.shape, strict=True) if label in roles.columns]
    widths = [count(tuple(sizes)) for sizes in (summed, columns)]
    return all(isinstance(width, int) and 0 < width <= widest for width in widths)


@dataclass(frozen=True, slots=True)
class Roles:
    """The labels of the second contraction by what they are in attention."""

    batch: str
    rows: str
    columns: str
    row_count: Dim


def roles_of(attention: AttentionMatch) -> Roles | None:
    """The role of each axis; None if no attention nest has these axes."""
    first, second, axis = attention.first, attention.second, attention.axis
    (left, right, scores), (shares, values, result) = first.labels, second.labels
    along, read = scores[axis], shares[axis]
    if (along in left) == (along in right) or read in result or read not in values:
        return None
    key_labels = right if along in right else left
    summed = [label for label in dict.fromkeys(left + right) if label not in scores]
    others = [place for place in range(len(scores)) if place != axis]
    columns = [label for label in values if label not in shares]
    sizes = dict(zip(left + right, first.lhs.shape + first.rhs.shape, strict=True))
    if any(label not in left or label not in right for label in summed) or any(
        label not in result for label in (*columns, *(shares[place] for place in others))
    ):
        return None
    wide = [label for label, size in zip(values, second.rhs.shape, strict=True) if label in columns and size != 1]
    if len(wide) > 1 or sum(sizes[label] != 1 for label in summed) > 1 or len(set(shares)) != len(shares):
        return None
    shared = [scores[place] in key_labels or shares[place] in values for place in others]
    batch = "".join(shares[place] for place, both in zip(others, shared, strict=True) if both)
    rows = [place for place, both in zip(others, shared, strict=True) if not both]
    lengths = [second.lhs.shape[place] for place in rows]
    return Roles(batch, "".join(shares[place] for place in rows), "".join(columns), count(tuple(lengths)))


# --- the parts of a softmax


def _before_rounding(tensor: Tensor) -> tuple[Tensor, DType | None]:
    """`x` and the type for FLOAT32 `x` rounded to 16 bits; else the tensor itself and None."""
    wide = _first(_arguments(tensor, "cast"))
    if wide is None or wide.dtype is not DType.FLOAT32 or tensor.dtype not in NARROW_FLOATS:
        return tensor, None
    return wide, tensor.dtype


def _without_nans(tensor: Tensor) -> tuple[Tensor, bool]:
    """`x` and True for `where(is_nan(x), 0, x)`; else the tensor itself and False."""
    chosen = _arguments(tensor, "where")
    asked = None if chosen is None else _arguments(chosen[0], "is_nan")
    if chosen is None or asked is None or asked[0] is not chosen[2] or _number(chosen[1]) != 0:
        return tensor, False
    return chosen[2], True


def _divided(tensor: Tensor) -> tuple[Tensor, Tensor] | None:
    """`x` and `y` for `x / y` or `x * (1 / y)`, `y` before it is broadcast along a row; else None."""
    quotient, product = _arguments(tensor, "divide"), _arguments(tensor, "multiply")
    if quotient is not None:
        return quotient[0], _one(quotient[1])
    reciprocal = None if product is None else _arguments(_one(product[1]), "divide")
    if product is None or reciprocal is None or _number(reciprocal[0]) != 1:
        return None
    return product[0], reciprocal[1]


def _guarded(tensor: Tensor, unless: float, other: float) -> tuple[Tensor, bool]:
    """`x` and True for `x` with `other` in the place of `unless`; else the tensor itself."""
    chosen = _arguments(tensor, "where")
    asked = None if chosen is None else _arguments(chosen[0], "equal")
    if chosen is None or asked is None or asked[0] is not chosen[2]:
        return tensor, False
    if _number(asked[1]) != unless or _number(chosen[1]) != other:
        return tensor, False
    return chosen[2], True


def _arguments(tensor: Tensor | None, function: str) -> tuple[Tensor, ...] | None:
    return tensor.arguments if isinstance(tensor, Map) and tensor.function == function else None


def _first(arguments: tuple[Tensor, ...] | None) -> Tensor | None:
    return None if arguments is None else arguments[0]


def _one(tensor: Tensor) -> Tensor:
    """The tensor before it is broadcast along a row."""
    return tensor.x if isinstance(tensor, Expand) else tensor


def _number(tensor: Tensor) -> float | None:
    while isinstance(tensor, Expand | Reshape | AssumeShape):
        tensor = tensor.x
    return float(tensor.array.item()) if isinstance(tensor, Constant) and tensor.array.size == 1 else None


# --- the products


def _contracts(scores: Tensor) -> list[Contract]:
    """The contractions that scores are computed from elementwise."""
    contractions: list[Contract] = []
    pending, seen = [scores], {scores}
    while pending and len(seen) < _MOST_INSIDE:
        tensor = pending.pop()
        if isinstance(tensor, Contract):
            contractions.append(tensor)
        elif isinstance(tensor, Map):
            more = [
                argument for argument in tensor.arguments if argument.shape == scores.shape and argument not in seen
            ]
            pending.extend(more)
            seen.update(more)
    return contractions


def _between(
    first: Contract, second: Contract, readers: Mapping[Tensor, Sequence[Tensor]], stored: Collection[Tensor]
) -> frozenset[Tensor] | None:
    """All that depends on the first of two contractions, if nothing but the second reads it; else None."""
    inside: set[Tensor] = {first}
    pending: list[Tensor] = [first]
    while pending:
        tensor = pending.pop()
        if tensor in stored or len(inside) > _MOST_INSIDE:
            return None
        for reader in readers.get(tensor, ()):
            if reader is second and tensor is not second.rhs:
                continue
            spread = isinstance(reader, Expand) and (isinstance(reader.x, Reduce) or reader.x.shape[-1] == 1)
            if not isinstance(reader, Map | Reduce) and not spread:
                return None
            if reader not in inside:
                inside.add(reader)
                pending.append(reader)
    return frozenset(inside)
