"""Attention as one nest: scores are computed, weighted and used a block at a time, and never stored in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.dtypes import DType
from ingot.fuse.attention_match import AttentionMatch, roles_of
from ingot.fuse.contraction import order_after, place_after, require_load, require_stored
from ingot.fuse.limits import FusionLimits
from ingot.fuse.read import Place, Placed, Reader, StoreFirst, linear, of_var
from ingot.loops.ir import Apply, Attention, Index, Literal, Local, Scalar, Store, Var, widened
from ingot.prim.functions import NARROW_FLOATS
from ingot.prim.make import count
from ingot.prim.tensor import Map, Tensor, View


def attention_order(attention: AttentionMatch, chain: Sequence[Tensor]) -> tuple[int, ...]:
    """The order of axes of the last of a chain if results are stored as they are computed: batch, rows, columns."""
    roles, result = roles_of(attention), attention.second.labels[2]
    assert roles is not None
    return order_after(chain, [result.index(label) for label in (*roles.batch, *roles.rows, *roles.columns)])


def attention_nest(
    attention: AttentionMatch,
    chain: Sequence[Tensor],
    target: Placed,
    placed: Mapping[Tensor, Placed],
    limits: FusionLimits,
) -> Attention:
    """The nest that stores the last of a chain over the second contraction, its epilogue, at `target`.

    StoreFirst if something that is read has to be stored before.
    """
    first, second, tensor = attention.first, attention.second, chain[-1]
    roles = roles_of(attention)
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

    def local(read: Tensor, at: Place) -> Scalar | None:
        for contract, wanted, value in ((first, in_scores, Local(first.dtype, "sum")), (second, in_result, mean)):
            if read is contract:
                if at != wanted:
                    raise StoreFirst(contract, "it is read elsewhere than where it is summed")
                return value
        return None

    reader = Reader(placed, local)
    query, query_labels, key, key_labels = _queries_and_keys(attention)
    require_stored(query, placed)
    if limits.attention_width is not None:
        for operand in (key, second.rhs):  # every tile of rows reads them again
            require_stored(_before_widening(operand), placed)
    queries = require_load(query, reader.read(query, tuple(at_first[label] for label in query_labels)))
    if queries.where:
        raise StoreFirst(query, "a product reads it", in_order=True)
    keys = widened(reader.read(key, tuple(at_first[label] for label in key_labels)), first.dtype)
    values = widened(reader.read(second.rhs, tuple(at_second[label] for label in second.labels[1])), second.dtype)
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
        attention.rounded,
    )


def _before_widening(tensor: Tensor) -> Tensor:
    """What a tensor was cast from, seen in another order or not; itself, where it was not cast."""
    inner = tensor
    while isinstance(inner, View):
        inner = inner.x
    if isinstance(inner, Map) and inner.function == "cast" and inner.arguments[0].dtype in NARROW_FLOATS:
        return inner.arguments[0]
    return tensor


def _index(var: Var) -> Index:
    return Index() if var.extent == 1 else of_var(var)


def _mean(attention: AttentionMatch) -> Scalar:
    """The weighted sum of values divided by the sum of the weights."""
    dtype = attention.second.dtype
    read, total, zero, one = Local(dtype, "read"), Local(dtype, "total"), Literal(dtype, 0.0), Literal(dtype, 1.0)
    if not attention.seen and not attention.sound:
        return Apply(dtype, "divide", (read, total))
    nothing = Apply(DType.BOOL, "equal", (total, zero))
    mean = Apply(dtype, "divide", (read, Apply(dtype, "where", (nothing, one, total))))
    if not attention.sound:
        return mean
    return Apply(dtype, "where", (Apply(DType.BOOL, "is_nan", (total,)), zero, mean))


def _queries_and_keys(attention: AttentionMatch) -> tuple[Tensor, str, Tensor, str]:
    """The queries and the keys, each with its labels."""
    first = attention.first
    left, right, scores = first.labels
    if scores[attention.axis] in right:
        return first.lhs, left, first.rhs, right
    return first.rhs, right, first.lhs, left
