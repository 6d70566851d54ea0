"""Operators in a few words: the first sentence of one, and sets of types as `floats, int32` rather than five names."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.ops import typesets as sets
from ingot.ops.define import Operator
from ingot.ops.typesets import TypeNames

_GROUPS: tuple[tuple[str, TypeNames], ...] = (
    ("all-28", sets.ALL_28),
    ("all-25", sets.ALL_25),
    ("all-24", sets.ALL_24),
    ("all-23", sets.ALL_23),
    ("all-21", sets.ALL_21),
    ("all-19", sets.ALL_19),
    ("all-13", sets.ALL),
    ("all", sets.ALL_3),
    ("numbers", sets.NUMERIC_3),
    ("floats", sets.FLOATS_3),
    ("integers", sets.INTEGERS),
    ("signed", sets.SIGNED),
    ("unsigned", sets.UNSIGNED),
    ("complex", sets.COMPLEX),
    ("float8", sets.FLOAT8),
    ("4-bit", sets.INT4S),
    ("2-bit", sets.INT2S),
    ("float6", sets.FLOAT6),
)
"""Names for sets, the larger first: `floats` are float16, 32 and 64, `all-25` is every type that opset 25 has."""

_LABELS = {f"tensor({dtype.onnx_name})": dtype.label for dtype in DType}
_ORDER = {f"tensor({dtype.onnx_name})": position for position, dtype in enumerate(DType)}


def headline(operator: Operator) -> str:
    """The first paragraph of an operator's documentation, on one line."""
    return " ".join(operator.documentation.partition("\n\n")[0].split())


def abbreviated(names: TypeNames) -> str:
    """The types of a set, by the largest groups that are in it; containers by what they hold."""
    tensors = {name for name in names if name.startswith("tensor(")}
    parts = _tensors(frozenset(tensors))
    rest = names - tensors
    for kind in ("seq", "optional(seq", "optional", "sparse_tensor"):
        inner = {name for name in rest if name.startswith(f"{kind}(")}
        rest -= inner
        if inner:
            closing = ")" * (kind.count("(") + 1)
            held = {name[len(kind) + 1 : -len(closing)] for name in inner}
            shown = _tensors(frozenset(name if "(" in name else f"tensor({name})" for name in held))
            parts.append(f"{kind.replace('seq', 'sequence')}({', '.join(shown)}{closing}")
    return ", ".join([*parts, *sorted(rest)])


def _tensors(names: TypeNames) -> list[str]:
    left = set(names)
    parts: list[str] = []
    for group, members in _GROUPS:
        if members <= left and len(members) > 1:
            parts.append(group)
            left -= members
    return parts + [_LABELS.get(name, name) for name in sorted(left, key=lambda name: _ORDER.get(name, 99))]
