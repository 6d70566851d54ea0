"""What is written in the box of a leaf or of a closed group, and how large that makes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import SparseTensorType, TensorType, Type
from ingot.view.flow import Flow, Leaf, constant_of
from ingot.view.layout import Box
from ingot.view.tree import Group, Tree

TITLE_HEIGHT = 26.0
ROW_HEIGHT = 15.0
FOOT = 5.0
"""Pixels below the last row."""

_PADDING = 20.0
_NARROWEST = 58.0
_WIDEST = 230.0
_MOST_ROWS = 3
_MOST_SHOWN = 4
"""Elements of a constant that are shown themselves, in the place of its sizes."""

_LONGEST = 40

RowKind = Literal["weight", "attribute", "note"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of small text in a box."""

    kind: RowKind
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """The text in a box."""

    title: str
    rows: tuple[Row, ...] = ()

    @property
    def box(self) -> Box:
        """The size of the box that this fits into."""
        widest = max([1.15 * text_width(self.title), *(0.88 * text_width(row.text) for row in self.rows)])
        width = min(_WIDEST, max(_NARROWEST, widest + _PADDING))
        return Box(round(width), TITLE_HEIGHT + (ROW_HEIGHT * len(self.rows) + FOOT if self.rows else 0))


def leaf_label(leaf: Leaf) -> Label:
    """What is written in the box of a leaf."""
    if leaf.node is not None:
        return Label(_short(leaf.node.op_type) or "?", tuple(_rows(leaf.node)))
    value = leaf.value
    assert value is not None
    shown = type_text(value.type)
    return Label(_short(value.name) or "?", (Row("note", shown),) if shown and leaf.kind != "outer" else ())


def group_label(group: Group, tree: Tree) -> Label:
    """What is written in the box of a closed group: its name, its class, and what it has inside."""
    count = len(group.parts)
    title = f"{group.title} × {count}" if group.kind == "repeat" else group.title
    nodes = [tree.flow.leaves[leaf].node for leaf in group.leaves()]
    notes = [Row("note", _short(group.of_class))] if group.of_class and group.of_class != group.title else []
    if nodes and nodes[0] is not None:
        weights = parameters(node for node in nodes if node is not None)
        size = f"{len(nodes):,} node{'s' if len(nodes) > 1 else ''}"
        notes.append(Row("note", f"{size} · {number_text(weights)} weights" if weights else size))
    return Label(_short(title), tuple(notes))


def parameters(nodes: Iterable[Node]) -> int:
    """The number of elements in the constants that nodes read, each constant once."""
    constants = {id(tensor): tensor for node in nodes for value in node.inputs if (tensor := constant_of(value))}
    return sum(tensor.size for tensor in constants.values() if tensor.size > 1)


def type_text(type_: Type | None) -> str:
    """A type as it is written on edges: `batch × 3 × 224 × 224`, with the element type where it is not float32."""
    if isinstance(type_, TensorType | SparseTensorType):
        shape = "?" if type_.shape is None else " × ".join("?" if size is None else str(size) for size in type_.shape)
        dtype = "" if type_.dtype is DType.FLOAT32 else f"{type_.dtype} "
        return _short(f"{dtype}{shape or 'scalar'}", 60)
    return "" if type_ is None else _short(str(type_), 60)


def number_text(count: int, unit: str = "") -> str:
    """`812`, `1.5 k`, `25.6 M`, `1.2 G`; with a unit `812 B`, `1.5 kB`."""
    amount = float(count)
    for prefix in ("", "k", "M", "G"):
        if amount < 999.5 or prefix == "G":
            digits = 0 if prefix == "" or amount >= 99.5 else 1
            return f"{amount:.{digits}f} {prefix}{unit}".rstrip()
        amount /= 1000
    raise AssertionError


def text_width(text: str) -> float:
    """About how many pixels a text takes in a sans-serif of 12 pixels."""
    return sum(
        3.8
        if char in _NARROW
        else 10.5
        if char in _WIDE
        else 8.3
        if char.isupper()
        else 12.0
        if ord(char) > 0x2E7F
        else 6.8
        for char in text
    )


_NARROW = frozenset("ijltfrI.,:;|!'`()[]{}/ ·")
_WIDE = frozenset("mwMW@%")


def _short(text: str, most: int = _LONGEST) -> str:
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2 - 1) :]}"


def _rows(node: Node) -> list[Row]:
    hint = _hint(node)
    rows = [Row("attribute", hint)] if hint else []
    rows += [
        Row("weight", text) for value in node.inputs if (tensor := constant_of(value)) and (text := _constant(tensor))
    ]
    return (
        rows
        if len(rows) <= _MOST_ROWS
        else [*rows[: _MOST_ROWS - 1], Row("note", f"{len(rows) - _MOST_ROWS + 1} more")]
    )


def _constant(tensor: Tensor | SparseTensor) -> str:
    """The elements of a small constant, else its sizes."""
    is_small = isinstance(tensor, Tensor) and tensor.size <= _MOST_SHOWN and tensor.external is None
    if is_small and isinstance(tensor, Tensor) and len(tensor.shape) < 2 and tensor.size:
        elements = [_element(element) for element in tensor.elements()]
        return _short(elements[0] if not tensor.shape else f"[{', '.join(elements)}]")
    return _short("⟨" + " × ".join(map(str, tensor.shape)) + "⟩")


def _element(element: object) -> str:
    return f"{element:.4g}" if isinstance(element, float) else str(element)


def _hint(node: Node) -> str:
    """The attributes of a node that its readers ask for first."""
    kernel = node.get("kernel_shape")
    parts = ["×".join(map(str, kernel))] if _are_integers(kernel) else []
    strides, groups = node.get("strides"), node.get("group")
    if _are_integers(strides) and any(stride != 1 for stride in strides):
        parts.append(f"stride {strides[0] if len(set(strides)) == 1 else '×'.join(map(str, strides))}")
    if isinstance(groups, int) and groups > 1:
        parts.append(f"group {groups}")
    if isinstance(axis := node.get("axis"), int):
        parts.append(f"axis {axis}")
    if _are_integers(axes := node.get("axes")):
        parts.append(f"axes {', '.join(map(str, axes))}")
    if _are_integers(order := node.get("perm")):
        parts.append(f"perm {', '.join(map(str, order))}")
    if node.applies("Cast") and isinstance(to := node.get("to"), int):
        parts.append(f"to {_dtype(to)}")
    return _short(", ".join(parts))


def _are_integers(value: object) -> bool:
    return isinstance(value, Sequence) and bool(value) and all(isinstance(size, int) for size in value)


def _dtype(number: int) -> str:
    try:
        return str(DType(number))
    except ValueError:
        return str(number)


def flow_labels(flow: Flow) -> list[Label]:
    """The labels of all leaves."""
    return [leaf_label(leaf) for leaf in flow.leaves]
