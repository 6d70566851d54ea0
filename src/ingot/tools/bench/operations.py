"""How many floating-point operations a node takes if it is computed directly: those of products, two for each term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from ingot.ir import Node
from ingot.ir.domains import STANDARD

Sizes: TypeAlias = "tuple[int, ...] | None"
"""The shape of an input or output; None for one that is omitted."""


def operations(node: Node, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
    """The operations of a node on inputs and outputs of these shapes; 0 for operators that are no products."""
    rule = _RULES.get((node.domain, node.op_type))
    return 0 if rule is None else 2 * rule(node, list(inputs), list(outputs))


def multiplies(node: Node) -> bool:
    """Whether a node is a product of some kind, which is counted."""
    return (node.domain, node.op_type) in _RULES


def _matmul(_: Node, inputs: list[Sizes], outputs: list[Sizes]) -> int:
    return prod(outputs[0] or ()) * _at(inputs, 0)[-1]


def _fused_matmul(node: Node, inputs: list[Sizes], outputs: list[Sizes]) -> int:
    return prod(outputs[0] or ()) * _at(inputs, 0)[-2 if _number(node, "transA", 0) else -1]


def _gemm(node: Node, inputs: list[Sizes], outputs: list[Sizes]) -> int:
    return prod(outputs[0] or ()) * _at(inputs, 0)[0 if _number(node, "transA", 0) else 1]


def _conv(weights: int) -> Callable[[Node, list[Sizes], list[Sizes]], int]:
    """Each output takes one filter, the weights of one output channel."""
    return lambda _, inputs, outputs: prod(outputs[0] or ()) * prod(_at(inputs, weights)[1:])


def _conv_transpose(_: Node, inputs: list[Sizes], __: list[Sizes]) -> int:
    return prod(_at(inputs, 0)) * prod(_at(inputs, 1)[1:])


def _recurrent(_: Node, inputs: list[Sizes], __: list[Sizes]) -> int:
    steps, batch = _at(inputs, 0)[:2]
    return steps * batch * (prod(_at(inputs, 1)) + prod(_at(inputs, 2)))


def _einsum(node: Node, inputs: list[Sizes], _: list[Sizes]) -> int:
    """Every combination of indices is one term; an ellipsis stands for the axes that the letters leave."""
    attribute = node.attributes.get("equation")
    terms = str(attribute.value if attribute else "").replace(" ", "").partition("->")[0].split(",")
    if len(terms) < 2:
        return 0
    sizes: dict[str, int] = {}
    for term, input_shape in zip(terms, inputs, strict=False):
        shape = input_shape or ()
        letters = term.replace("...", "")
        before = len(term.partition("...")[0])
        hidden = len(shape) - len(letters) if "..." in term else 0
        names = [*letters[:before], *(f".{axis - hidden}" for axis in range(hidden)), *letters[before:]]
        for name, size in zip(names, shape, strict=False):
            sizes[name] = max(sizes.get(name, 1), size)
    return prod(sizes.values()) * (len(terms) - 1)


def _attention(past: int) -> Callable[[Node, list[Sizes], list[Sizes]], int]:
    """Scores take every query element once for each key, sums every element of the result; masks save nothing."""

    def count(_: Node, inputs: list[Sizes], outputs: list[Sizes]) -> int:
        query, key = _at(inputs, 0), _at(inputs, 1)
        if len(query) == 5 or not key:  # queries, keys and values in one tensor
            return 2 * query[1] * prod(outputs[0] or ())
        keys = key[1] if len(key) in (3, 5) else key[2]
        before = _at(inputs, past)
        keys += before[2] if len(before) == 4 else 0
        return keys * (prod(query) + prod(outputs[0] or ()))

    return count


def _projected_attention(_: Node, inputs: list[Sizes], outputs: list[Sizes]) -> int:
    """The projection of the input to queries, keys and values, and attention of these."""
    data, weights, result = _at(inputs, 0), _at(inputs, 1), outputs[0] or ()
    return prod(data[:2]) * prod(weights) + 2 * data[1] * prod(result)


def _at(shapes: list[Sizes], index: int) -> tuple[int, ...]:
    return (shapes[index] or ()) if index < len(shapes) else ()


def _number(node: Node, name: str, default: int) -> int:
    attribute = node.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else default


_Rule: TypeAlias = Callable[[Node, list[Sizes], list[Sizes]], int]

_STANDARD: dict[str, _Rule] = {
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), _matmul),
    "Gemm": _gemm,
    **dict.fromkeys(("Conv", "ConvInteger"), _conv(1)),
    "QLinearConv": _conv(3),
    "ConvTranspose": _conv_transpose,
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    "Einsum": _einsum,
    "Attention": _attention(4),
}
_MICROSOFT: dict[str, _Rule] = {
    **dict.fromkeys(("MatMulInteger16", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "MatMulNBits"), _matmul),
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul"), _fused_matmul),
    "FusedGemm": _gemm,
    **dict.fromkeys(("FusedConv", "NhwcConv"), _conv(1)),
    "QLinearConv": _conv(3),
    "DynamicQuantizeLSTM": _recurrent,
    "Attention": _projected_attention,
    "MultiHeadAttention": _attention(6),
    "GroupQueryAttention": _attention(3),
}
_RULES: dict[tuple[str, str], _Rule] = {
    **{(STANDARD, name): rule for name, rule in _STANDARD.items()},
    **{("com.microsoft", name): rule for name, rule in _MICROSOFT.items()},
}
