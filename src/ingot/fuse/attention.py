"""Attention found among primitives: a product, a softmax of its sums, and a product with that, as one nest.

Scores are made, weighted and read a block at a time, with the greatest so far of each row: they never go to memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ingot.dtypes import DType
from ingot.fuse.contraction import is_constant, order_after, place_after, require_load, require_stored
from ingot.fuse.read import Place, Placed, Reader, StoreFirst, linear, of_var
from ingot.loops.ir import Apply, Attention, Index, Literal, Local, Scalar, Store, Var
from ingot.prim.make import count
from ingot.prim.tensor import AssumeShape, Constant, Contract, Expand, Map, Reduce, Reshape, Tensor

_MOST_INSIDE = 64
"""Primitives between two products that are followed."""

_FEWEST_ROWS = 5
"""Rows from which on it pays to put keys and values in order first."""


@dataclass(frozen=True, slots=True)
class AttentionMatch:
    """What lies between two contractions: a softmax of `scores` along `axis`, which are made of the sums of `first`.

    `seen` is whether a row without a weight reads zeros, `sound` whether one with a NaN does. `inside` is all that
    depends on `first`.
    """

    first: Contract
    second: Contract
    scores: Tensor
    axis: int
    seen: bool
    sound: bool
    inside: frozenset[Tensor]


def attention_in(
    second: Contract, readers: Mapping[Tensor, Sequence[Tensor]], stored: Collection[Tensor]
) -> AttentionMatch | None:
    """The attention that ends with a contraction; None if there is none, or something else reads its scores.

    A product with weights is none: these are packed once, when the model is compiled, and not in every run.
    """
    if second.dtype not in (DType.FLOAT32, DType.FLOAT64) or is_constant(second.rhs):
        return None
    shares, sound = _without_nans(second.lhs)
    divided = _arguments(shares, "divide")
    if divided is None:
        return None
    weights, (total, seen) = divided[0], _guarded(_one(divided[1]), 0.0, 1.0)
    less = _arguments(_first(_arguments(weights, "exp")), "subtract")
    if less is None or not isinstance(total, Reduce) or total.function != "add" or total.x is not weights:
        return None
    scores, (greatest, shifted) = less[0], _guarded(_one(less[1]), -np.inf, 0.0)
    if not isinstance(greatest, Reduce) or greatest.function != "maximum" or greatest.x is not scores:
        return None
    if greatest.axes != total.axes or len(total.axes) != 1 or (seen and not shifted):
        return None
    for first in (
        each for each in _contracts(scores) if each.dtype is second.dtype and not any(map(is_constant, each.reads))
    ):
        inside = _between(first, second, readers, stored)
        reductions = {each for each in inside or () if isinstance(each, Reduce)}
        found = None if inside is None else AttentionMatch(first, second, scores, total.axes[0], seen, sound, inside)
        if found is not None and reductions == {greatest, total} and _roles(found) is not None:
            return found
    return None


def attention_order(attention: AttentionMatch, chain: Sequence[Tensor]) -> tuple[int, ...]:
    """How the axes of the last of a chain lie if results are stored as they are made: batch, rows, columns."""
    roles, result = _roles(attention), attention.second.labels[2]
    assert roles is not None
    return order_after(chain, [result.index(label) for label in (*roles.batch, *roles.rows, *roles.columns)])


def attention_nest(
    attention: AttentionMatch, chain: Sequence[Tensor], target: Placed, placed: Mapping[Tensor, Placed]
) -> Attention:
    """The nest that stores the last of a chain over the second contraction, its epilogue, at `target`.

    StoreFirst if something that is read has to be stored before.
    """
    first, second, tensor = attention.first, attention.second, chain[-1]
    roles = _roles(attention)
    assert roles is not None
    sizes = dict(zip(second.labels[0] + second.labels[1], second.lhs.shape + second.rhs.shape, strict=True))
    variables = {label: Var(label, size) for label, size in sizes.items()}
    own = dict(zip(first.labels[2], second.labels[0], strict=True))  # labels of the first as those of the second
    summed = {label: size for label, size in zip(first.labels[0], first.lhs.shape, strict=True) if label not in own}
    depth = Var("depth", count(tuple(summed.values())))
    at_first = {label: _index(variables[own[label]]) for label in own}
    at_first |= {label: Index() if size == 1 else of_var(depth) for label, size in summed.items()}
    at_second = {label: _index(var) for label, var in variables.items()}
    in_scores = tuple(at_second[label] for label in second.labels[0])
    in_result = tuple(at_second[label] for label in second.labels[2])
    mean = _mean(attention)

    def local(each: Tensor, at: Place) -> Scalar | None:
        for contract, wanted, value in ((first, in_scores, Local(first.dtype, "sum")), (second, in_result, mean)):
            if each is contract:
                if at != wanted:
                    raise StoreFirst(contract, "it is read elsewhere than where it is summed")
                return value
        return None

    reader = Reader(placed, local)
    query, query_labels, key, key_labels = _sides(attention)
    require_stored(query, placed)
    queries = require_load(query, reader.read(query, tuple(at_first[label] for label in query_labels)))
    if queries.where:
        raise StoreFirst(query, "a product reads it", in_order=True)
    keys = reader.read(key, tuple(at_first[label] for label in key_labels))
    values = reader.read(second.rhs, tuple(at_second[label] for label in second.labels[1]))
    score = reader.read(attention.scores, in_scores)
    at = place_after(chain, in_result)
    value = mean if tensor is second else reader.read(tensor, at)
    column = next((variables[label] for label in roles.columns if sizes[label] != 1), Var("column", 1))
    along = variables[second.labels[0][attention.axis]]
    return Attention(
        second.dtype,
        tuple(variables[label] for label in roles.batch if sizes[label] != 1),
        tuple(variables[label] for label in roles.rows if sizes[label] != 1),
        column,
        depth,
        along,
        queries,
        keys,
        values,
        score,
        (Store(target.buffer, linear(at, target.strides), value),),
    )


def _index(var: Var) -> Index:
    return Index() if var.extent == 1 else of_var(var)


def _mean(attention: AttentionMatch) -> Scalar:
    """What is read, divided by the sum of the weights."""
    dtype = attention.second.dtype
    read, total, zero, one = Local(dtype, "read"), Local(dtype, "total"), Literal(dtype, 0.0), Literal(dtype, 1.0)
    if not attention.seen and not attention.sound:
        return Apply(dtype, "divide", (read, total))
    nothing = Apply(DType.BOOL, "equal", (total, zero))
    mean = Apply(dtype, "divide", (read, Apply(dtype, "where", (nothing, one, total))))
    if not attention.sound:
        return mean
    return Apply(dtype, "where", (Apply(DType.BOOL, "is_nan", (total,)), zero, mean))


# --- the parts of a softmax


def _without_nans(tensor: Tensor) -> tuple[Tensor, bool]:
    """`x` and True for `x` with zeros in the place of NaN; else the tensor itself."""
    chosen = _arguments(tensor, "where")
    asked = None if chosen is None else _arguments(chosen[0], "is_nan")
    if chosen is None or asked is None or asked[0] is not chosen[2] or _number(chosen[1]) != 0:
        return tensor, False
    return chosen[2], True


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
    """What is repeated along a row."""
    return tensor.x if isinstance(tensor, Expand) else tensor


def _number(tensor: Tensor) -> float | None:
    while isinstance(tensor, Expand | Reshape | AssumeShape):
        tensor = tensor.x
    return float(tensor.array.item()) if isinstance(tensor, Constant) and tensor.array.size == 1 else None


# --- the products


def _contracts(scores: Tensor) -> list[Contract]:
    """The contractions of the sizes of scores that these are made of, element by element."""
    found: list[Contract] = []
    pending, seen = [scores], {scores}
    while pending and len(seen) < _MOST_INSIDE:
        tensor = pending.pop()
        if isinstance(tensor, Contract):
            found.append(tensor)
        elif isinstance(tensor, Map):
            more = [each for each in tensor.arguments if each.shape == scores.shape and each not in seen]
            pending.extend(more)
            seen.update(more)
    return found


def _between(
    first: Contract, second: Contract, readers: Mapping[Tensor, Sequence[Tensor]], stored: Collection[Tensor]
) -> frozenset[Tensor] | None:
    """All that depends on the first of two contractions, if nothing but the second reads it; else None."""
    found: set[Tensor] = {first}
    pending: list[Tensor] = [first]
    while pending:
        tensor = pending.pop()
        if tensor in stored or len(found) > _MOST_INSIDE:
            return None
        for reader in readers.get(tensor, ()):
            if reader is second and tensor is not second.rhs:
                continue
            spread = isinstance(reader, Expand) and (isinstance(reader.x, Reduce) or reader.x.shape[-1] == 1)
            if not isinstance(reader, Map | Reduce) and not spread:
                return None
            if reader not in found:
                found.add(reader)
                pending.append(reader)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Roles:
    """The labels of the second contraction by what they are in attention."""

    batch: str
    rows: str
    columns: str


def _roles(attention: AttentionMatch) -> _Roles | None:
    """What each axis is; None if it is no attention that a nest can be made of."""
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
    whole = count(tuple(lengths))
    if isinstance(whole, int) and whole < _FEWEST_ROWS:
        return None
    return _Roles(batch, "".join(shares[place] for place in rows), "".join(columns))


def _sides(attention: AttentionMatch) -> tuple[Tensor, str, Tensor, str]:
    """The queries and the keys, each with its labels."""
    first = attention.first
    left, right, scores = first.labels
    if scores[attention.axis] in right:
        return first.lhs, left, first.rhs, right
    return first.rhs, right, first.lhs, left
