"""`softmax(q kᵀ * scale + mask) v`, written in products, as one Attention."""

from __future__ import annotations

from math import inf

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.passes.replacing import replace
from ingot.queries.values import constant, dtype, number, only_reader, produced_by, rank, shape

_FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16)
"""Element types for which onnxruntime has the operator."""


@dataclass(frozen=True, slots=True)
class _Scores:
    """Scores of queries with keys: the product, what multiplies it, where tanh flattens it, and what masks it."""

    product: Node
    scale: float = 1.0
    softcap: float = 0.0
    mask: Value | None = None


def recognise_products(model: Model, facts: Facts) -> int:
    """Replace two products with a softmax between by Attention; how many.

    Scales may be on either side of the first product or after it; the softmax may be guarded against NaN; a mask is
    added to the scores, or a boolean one chooses between them and minus infinity. Where batch and heads are one axis,
    as in batched products of three axes, each is a batch of one head.
    """
    count = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            scores = _scores(node, facts) if node.applies("MatMul") else None
            if scores is not None and not _refuses(scores, node, facts):
                _write(scores, node, facts)
                count += 1
    return count


def _scores(node: Node, facts: Facts) -> _Scores | None:
    weights = node.inputs[0]
    if weights is None or only_reader(weights) is None:
        return None
    softmax = produced_by(_guarded(weights, facts), "Softmax")
    last = (rank(weights, facts) or 0) - 1
    if softmax is None or softmax.get("axis", -1) not in (-1, last) or softmax.output.is_output:
        return None
    if any(user is not node and not user.applies("IsNaN", "Where") for user in softmax.output.users):
        return None
    return _masked(softmax.inputs[0], facts)


def _guarded(weights: Value, facts: Facts) -> Value:
    """The softmax behind `Where(IsNaN(s), 0, s)`."""
    choice = produced_by(weights, "Where")
    if choice is None:
        return weights
    test, zero, softmax = choice.inputs
    asks = produced_by(test, "IsNaN")
    same = asks is not None and asks.inputs[0] is softmax and number(zero, facts) == 0
    return softmax if same and softmax is not None else weights


def _masked(value: Value | None, facts: Facts) -> _Scores | None:
    added = produced_by(value, "Add")
    if added is not None and only_reader(added.output) is not None:
        for scores, mask in (added.inputs, added.inputs[::-1]):
            core = _capped(scores, facts)
            if core is not None:
                return _Scores(core.product, core.scale, core.softcap, mask)
    chosen = produced_by(value, "Where")
    if chosen is not None and only_reader(chosen.output) is not None and _hides(chosen, facts):
        core = _capped(chosen.inputs[1], facts)
        if core is not None:
            return _Scores(core.product, core.scale, core.softcap, chosen.inputs[0])
    return _capped(value, facts)


def _hides(chosen: Node, facts: Facts) -> bool:
    """Whether what a Where puts in the place of a score is as good as minus infinity."""
    low = number(chosen.inputs[2], facts)
    if low == -inf:
        return True
    visible = constant(chosen.inputs[0], facts)
    return isinstance(low, float) and low < -1e30 and visible is not None and bool(visible.numpy().any(-1).all())


def _capped(value: Value | None, facts: Facts) -> _Scores | None:
    """`cap * tanh(scores / cap)`, or plain scores."""
    inner, cap = _scaled(value, facts, deep=False)
    flat = produced_by(inner, "Tanh")
    if flat is not None and cap > 0 and only_reader(flat.output) is not None:
        scores, factor = _scaled(flat.inputs[0], facts, deep=False)
        if abs(factor * cap - 1) < 1e-6:
            inner_scores = _product(scores, facts)
            return None if inner_scores is None else _Scores(inner_scores.product, inner_scores.scale, cap)
    return _product(value, facts)


def _product(value: Value | None, facts: Facts) -> _Scores | None:
    inner, scale = _scaled(value, facts)
    product = produced_by(inner, "MatMul")
    return None if product is None or only_reader(product.output) is None else _Scores(product, scale)


def _scaled(value: Value | None, facts: Facts, *, deep: bool = True) -> tuple[Value | None, float]:
    """What is multiplied by numbers to make a value, and their product; by one number only, unless `deep`."""
    scale = 1.0
    while (node := produced_by(value, "Mul", "Div")) is not None:
        right, left = number(node.inputs[1], facts), number(node.inputs[0], facts)
        if isinstance(right, float) and right != 0:
            scale = scale * right if node.applies("Mul") else scale / right
            value = node.inputs[0]
        elif isinstance(left, float) and node.applies("Mul"):
            scale, value = scale * left, node.inputs[1]
        else:
            break
        if not deep:
            break
    return value, scale


def _refuses(scores: _Scores, node: Node, facts: Facts) -> str | None:
    """Why these products are no Attention of the standard."""
    q, k = (shape(value, facts) for value in scores.product.inputs)
    v = shape(node.inputs[1], facts)
    if q is None or k is None or v is None or {len(q), len(k), len(v)} not in ({3}, {4}):
        return "the axes are not batch, heads, length and size"
    if not q[:-2] == k[:-2] == v[:-2]:
        return "one side is broadcast"
    if dtype(node.output, facts) not in _FLOATS:
        return "the operator is for other types"
    if scores.mask is not None and not _fits(scores.mask, (*q[:-1], k[-1]), facts):
        return "the mask has another shape"
    return None


def _fits(mask: Value, sizes: tuple[Dim, ...], facts: Facts) -> bool:
    """Whether a mask is one number for each key, and for each query, head and batch or for all of them."""
    mask_shape = shape(mask, facts)
    if mask_shape is None or not 2 <= len(mask_shape) <= len(sizes) or mask_shape[-1] != sizes[-1]:
        return False
    return all(dim in (1, size) for dim, size in zip(mask_shape[::-1], sizes[::-1], strict=False))


def _write(scores: _Scores, node: Node, facts: Facts) -> None:
    q, q_scale = _scaled(scores.product.inputs[0], facts)
    k, k_scale = _scaled(scores.product.inputs[1], facts)
    cap, scale = scores.softcap or None, scores.scale * q_scale * k_scale
    with inserting(before=node):
        keys = _turned(k, scores.product.inputs[1], facts)
        mask = _for_each_query(scores, facts)
        if rank(node.output, facts) == 4:
            attention = op.Attention(q, keys, node.inputs[1], mask, scale=scale, softcap=cap).value
        else:
            heads = [op.Unsqueeze(value, [1]) for value in (q, keys, node.inputs[1])]
            masks = op.Unsqueeze(mask, [1]) if mask is not None and len(shape(scores.mask, facts) or ()) == 3 else mask
            attention = op.Squeeze(op.Attention(*heads, masks, scale=scale, softcap=cap), [1]).value
    replace(node.output, attention, facts)


def _turned(flipped: Value | None, product: Value | None, facts: Facts) -> Value | None:
    """Keys whose last two axes are swapped, as they are read; by the Transpose that swaps them, if there is one."""
    sizes, element = shape(product, facts), dtype(product, facts)
    assert sizes is not None
    assert element is not None
    last = len(sizes) - 1
    swap = produced_by(flipped, "Transpose")
    perm = swap.get("perm") if swap is not None else None
    source, old = (swap.inputs[0], tuple(perm)) if swap is not None and perm else (flipped, tuple(range(last + 1)))
    order = (*old[:-2], old[-1], old[-2])
    if order == tuple(range(last + 1)):
        return source
    keys: Value = op.Transpose(source, perm=order).value
    keys.type = TensorType(element, (*sizes[:-2], sizes[last], sizes[last - 1]))
    return keys


def _for_each_query(scores: _Scores, facts: Facts) -> Value | None:
    """The mask; one that is the same for all queries is repeated, as onnxruntime wants one for each."""
    q = scores.product.inputs[0]
    mask_shape, sizes = shape(scores.mask, facts), shape(q, facts)
    if scores.mask is None or mask_shape is None or sizes is None or mask_shape[-2] == sizes[-2]:
        return scores.mask
    count = op.Shape(q, start=-2, end=-1)
    repeated: Value = op.Expand(scores.mask, op.Concat([1] * (len(mask_shape) - 2), count, [1], axis=0)).value
    return repeated
