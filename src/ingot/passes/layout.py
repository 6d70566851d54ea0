"""Channels last: the Transposes that convolutions leave behind them move down the graph, to where they cancel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ingot.builder import Checker, Var, inserting, op
from ingot.builder.emission import emit
from ingot.builder.literals import as_value
from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.infer.building import builder_checker
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.replacing import replace, stands_in
from ingot.passes.transpose import BINARY, UNARY
from ingot.queries.values import constant, integers, produced_by, rank, read, shape

CHANNELS_FIRST = "_nchw"
"""What the name of a value ends in that is another one, channels first."""

Order: TypeAlias = tuple[int, ...]
"""The axes of a Transpose, as `perm` has them."""


def channels_last(count: int) -> Order:
    """The order that puts the channels, axis 1 of `count`, last, as after a convolution of a channels-last model."""
    return (0, *range(2, count), 1)


def sink_transposes(model: Model, facts: Facts) -> int:
    """Have nodes compute channels first what they computed of values whose channels a Transpose put last; how many.

    The Transpose then follows the node, until one that puts channels first undoes it, or a node comes that has no rule:
    it can stand there as well as where it was. No value changes what it holds.
    """
    moved = 0
    check = builder_checker()
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            order = _order_before(node)
            rule = node.rule_in(_RULES)
            if order is not None and rule is not None:
                moved += _move(rule, _Site(node, order, facts), check)
    return moved


def views_for_transposes(model: Model, facts: Facts) -> int:
    """Replace Transposes that move only axes of size one by views, which cost nothing; how many."""
    replaced = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            sizes = shape(node.inputs[0], facts) if node.applies("Transpose") and "perm" in node else None
            if sizes is None or not _keeps_order(sizes, tuple(node["perm"])):  # type: ignore[arg-type]
                continue
            with inserting(before=node, check=builder_checker()):
                regrouped = _regrouped(node.inputs[0], sizes, tuple(node["perm"]))  # type: ignore[arg-type]
            if regrouped.value is not node.inputs[0]:
                replace(node.output, regrouped.value, facts)
                replaced += 1
    return replaced


@dataclass(frozen=True, slots=True)
class _Site:
    """A node to rewrite, and the order of the Transposes in front of it."""

    node: Node
    order: Order
    facts: Facts

    @property
    def back(self) -> Order:
        """The order that undoes it."""
        return tuple(int(axis) for axis in np.argsort(self.order))

    def source(self, index: int) -> Value | None:
        """What the Transpose in front of an input transposes; None if there is no such Transpose."""
        flip = produced_by(read(self.node, index), "Transpose")
        known = flip is not None and flip.graph is self.node.graph and tuple(flip.get("perm", ())) == self.order
        return flip.inputs[0] if flip is not None and known else None

    def axis(self, axis: int) -> int:
        """The place of an axis before it was transposed."""
        return self.order[axis]

    def again(self, inputs: Sequence[Value | Var | Array | None], **changed: Any) -> list[Var]:
        """The node with other inputs and some attributes changed."""
        node = self.node
        values = [None if item is None else as_value(item) for item in inputs]
        attributes: dict[str, object] = {**node.attributes, **changed}
        names = [f"{value.name}{CHANNELS_FIRST}" if value.name else None for value in node.outputs]
        results = emit(node.op_type, values, attributes, outputs=names, domain=node.domain)
        results[0].producer.name = node.name  # type: ignore[union-attr]
        return [Var(value) for value in results]


Moved: TypeAlias = "list[tuple[Var, Order]] | None"
"""For each output, what is computed instead and how it must be transposed; None where the node stays as it is."""


def _move(rule: Callable[[_Site], Moved], site: _Site, check: Checker) -> bool:
    node, facts = site.node, site.facts
    with inserting(before=node, check=check):
        moved = rule(site)
        if moved is None:
            return False
        results = []
        for old, (new, then) in zip(node.outputs, moved, strict=True):
            plain = list(then) == sorted(then)
            if plain and not stands_in(old, new.value):
                new = op.Identity(new)
            results.append(new if plain else op.Transpose(new, perm=list(then)))
    for old, result in zip(list(node.outputs), results, strict=True):
        replace(old, result.value, facts)
    return True


def _order_before(node: Node) -> Order | None:
    """The order of the first Transpose that puts channels last and that a node reads."""
    for value in node.inputs:
        flip = produced_by(value, "Transpose")
        if flip is None or flip.graph is not node.graph:
            continue
        order = tuple(flip.get("perm", ()))
        if len(order) > 2 and order == channels_last(len(order)):
            return order
    return None


def _unary(site: _Site) -> Moved:
    source, rest = site.source(0), site.node.inputs[1:]
    if source is None or any(value is not None and rank(value, site.facts) != 0 for value in rest):
        return None
    return [(site.again([source, *rest])[0], site.order)]


def _together(site: _Site) -> Moved:
    """Operands that meet element by element, with broadcasting."""
    operands = [_operand(site, index) for index in range(len(site.node.inputs))]
    if any(operand is None for operand in operands):
        return None
    return [(site.again([None if operand is None else operand() for operand in operands])[0], site.order)]


def _operand(site: _Site, index: int) -> Callable[[], Value | Var | Array] | None:
    """An operand channels first; None where that would take a Transpose more."""
    value, source = read(site.node, index), site.source(index)
    if source is not None:
        return lambda: source
    count = rank(value, site.facts)
    if value is None or count is None or count > len(site.order):
        return None
    held = constant(value, site.facts)
    if held is not None:
        return lambda: _turned(held.numpy(), site.back)
    if count == 0:
        return lambda: value
    sizes = shape(value, site.facts)
    lifted = None if sizes is None else (*(1,) * (len(site.order) - count), *sizes)
    if lifted is not None and _keeps_order(lifted, site.back):
        return lambda: _regrouped(_lifted(value, len(lifted) - count), lifted, site.back)
    if any(user.applies("Transpose") and tuple(user.get("perm", ())) == site.back for user in value.users):
        return lambda: op.Transpose(value, perm=list(site.back))  # it is there already, or will be
    return None


def _turned(array: Array, back: Order) -> Array:
    """A constant operand in the other order, without axes of size one in front."""
    wide = array.reshape((1,) * (len(back) - array.ndim) + array.shape).transpose(back)
    while wide.ndim and wide.shape[0] == 1:
        wide = wide[0]
    return np.ascontiguousarray(wide)


def _keeps_order(sizes: Sequence[object], order: Order) -> bool:
    """Whether a Transpose moves only axes of size one past others."""
    visible = [axis for axis in order if sizes[axis] != 1]
    return visible == sorted(visible)


def _lifted(value: Value, more: int) -> Value:
    return op.Unsqueeze(value, list(range(more))).value if more else value


def _regrouped(value: Value | None, sizes: Sequence[object], order: Order) -> Var:
    """A Transpose that keeps the order of elements, as views."""
    assert value is not None
    ones = [axis for axis, size in enumerate(sizes) if size == 1]
    squeezed = op.Squeeze(value, ones) if ones else Var(value)
    places = [place for place, axis in enumerate(order) if axis in ones]
    return op.Unsqueeze(squeezed, places) if places else squeezed


def _concat(site: _Site) -> Moved:
    operands = [_operand(site, index) for index in range(len(site.node.inputs))]
    ranks = {rank(value, site.facts) for value in site.node.inputs}
    if any(operand is None for operand in operands) or ranks != {len(site.order)}:
        return None
    values = [_full(operand(), len(site.order)) for operand in operands if operand is not None]
    return [(site.again(values, axis=site.axis(site.node["axis"]))[0], site.order)]  # type: ignore[arg-type]


def _full(operand: Value | Var | Array, count: int) -> Value | Var | Array:
    if not isinstance(operand, np.ndarray):
        return operand
    return operand.reshape((1,) * (count - operand.ndim) + operand.shape)


def _along_axis(default: int) -> Callable[[_Site], Moved]:
    """Operators that work along one axis and keep the shape."""

    def rule(site: _Site) -> Moved:
        source = site.source(0)
        if source is None:
            return None
        axis = site.axis(site.node.get("axis", default))
        return [(site.again([source, *site.node.inputs[1:]], axis=axis)[0], site.order)]

    return rule


def _split(site: _Site) -> Moved:
    source = site.source(0)
    if source is None:
        return None
    axis = site.axis(site.node.get("axis", 0))
    return [(part, site.order) for part in site.again([source, *site.node.inputs[1:]], axis=axis)]


def _arg(site: _Site) -> Moved:
    source = site.source(0)
    if source is None:
        return None
    axis = site.axis(site.node.get("axis", 0))
    place = site.again([source], axis=axis)[0]
    return [(place, site.order if site.node.get("keepdims", 1) else _without(site.order, {axis}))]


def _reduce(site: _Site) -> Moved:
    source, axes_input = site.source(0), read(site.node, 1)
    axes = list(range(len(site.order))) if axes_input is None else integers(axes_input, site.facts)
    if source is None or axes is None or (axes_input is None and site.node.get("noop_with_empty_axes", 0)) or not axes:
        return None
    places = sorted(site.axis(axis) for axis in axes)
    reduced = site.again([source, np.array(places, np.int64)])[0]
    return [(reduced, site.order if site.node.get("keepdims", 1) else _without(site.order, set(places)))]


def _squeeze(site: _Site) -> Moved:
    source, axes = site.source(0), integers(read(site.node, 1), site.facts)
    if source is None or axes is None:
        return None
    places = sorted(site.axis(axis) for axis in axes)
    return [(site.again([source, np.array(places, np.int64)])[0], _without(site.order, set(places)))]


def _unsqueeze(site: _Site) -> Moved:
    source, axes = site.source(0), integers(read(site.node, 1), site.facts)
    if source is None or axes is None:
        return None
    count = len(site.order) + len(axes)
    new = {axis % count for axis in axes}
    then = channels_last(count)
    places = {then[axis] for axis in new}
    if _without(then, places) != site.order:  # the new axes are no further axes of an image
        places = new
        old = [place for place in range(count) if place not in new]
        following = iter(site.order)
        then = tuple(place if place in new else old[next(following)] for place in range(count))
    return [(site.again([source, np.array(sorted(places), np.int64)])[0], then)]


def _without(order: Order, gone: set[int]) -> Order:
    """The order of the axes that are left."""
    left = [axis for axis in order if axis not in gone]
    return tuple(sorted(left).index(axis) for axis in left)


def _pad(site: _Site) -> Moved:
    source, pads, axes = site.source(0), integers(read(site.node, 1), site.facts), read(site.node, 3)
    if source is None or pads is None:
        return None
    value = read(site.node, 2)
    if axes is not None:
        places = integers(axes, site.facts)
        if places is None:
            return None
        mapped = np.array([site.axis(axis) for axis in places], np.int64)
        return [(site.again([source, site.node.inputs[1], value, mapped])[0], site.order)]
    turned = np.array(pads, np.int64).reshape(2, -1)[:, list(site.back)].reshape(-1)
    return [(site.again([source, turned, value])[0], site.order)]


def _slice(site: _Site) -> Moved:
    source, (starts, ends) = site.source(0), site.node.inputs[1:3]
    sizes, axes_input = shape(starts, site.facts), read(site.node, 3)
    if source is None or sizes is None or not isinstance(sizes[0], int):
        return None
    axes = list(range(sizes[0])) if axes_input is None else integers(axes_input, site.facts)
    if axes is None:
        return None
    mapped = np.array([site.axis(axis) for axis in axes], np.int64)
    return [(site.again([source, starts, ends, mapped, read(site.node, 4)])[0], site.order)]


def _per_axis(*places: int) -> Callable[[_Site], Moved]:
    """Operators with inputs, at these places, that hold one number for each axis."""

    def rule(site: _Site) -> Moved:
        source = site.source(0)
        others = [value for place, value in enumerate(site.node.inputs) if place and place not in places]
        if source is None or "axes" in site.node or any(value is not None for value in others):
            return None
        inputs: list[Value | Var | None] = [source, *site.node.inputs[1:]]
        for place in places:
            setting = read(site.node, place)
            if setting is None or shape(setting, site.facts) == (0,):
                continue
            if shape(setting, site.facts) != (len(site.order),):
                return None
            inputs[place] = op.Gather(setting, np.array(site.back, np.int64))
        return [(site.again(inputs)[0], site.order)]

    return rule


def _shape(site: _Site) -> Moved:
    source = site.source(0)
    if source is None:
        return None
    wanted = list(range(len(site.order)))[slice(site.node.get("start", 0), site.node.get("end"))]
    places = [site.axis(axis) for axis in wanted]
    if len(places) == 1:
        return [(op.Shape(source, start=places[0], end=places[0] + 1), (0,))]
    return [(op.Gather(op.Shape(source), np.array(places, np.int64)), (0,))]


def _transpose(site: _Site) -> Moved:
    source, then = site.source(0), site.node.get("perm")
    if source is None or then is None:
        return None
    return [(Var(source), tuple(site.order[axis] for axis in then))]


_REDUCTIONS = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum"

_RULES: dict[str, Callable[[_Site], Moved]] = {
    **dict.fromkeys([*UNARY, "QuantizeLinear", "DequantizeLinear"], _unary),
    **dict.fromkeys([*BINARY, "BitwiseAnd", "BitwiseOr", "Mean", "PRelu", "Sum", "Where"], _together),
    **dict.fromkeys(["Softmax", "LogSoftmax", "Hardmax", "LpNormalization"], _along_axis(-1)),
    **dict.fromkeys(["ArgMax", "ArgMin"], _arg),
    **dict.fromkeys([*_REDUCTIONS.split(), "ReduceSumSquare"], _reduce),
    "Concat": _concat,
    "Expand": _per_axis(1),
    "Pad": _pad,
    "Resize": _per_axis(2, 3),
    "Shape": _shape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _per_axis(1),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
