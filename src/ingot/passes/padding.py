"""Zeros around an image: a Pad of them before a convolution is what the convolution pads anyway."""

from __future__ import annotations

from ingot.dims import Expr, symbols
from ingot.infer.driver import Facts
from ingot.ir.attribute import Attribute
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.passes.replacing import replace
from ingot.queries.values import fact, integers, number, produced_by, rank, read


def absorb_padding(model: Model, facts: Facts) -> int:
    """Have convolutions pad what a Pad with zeros did before them; how many. Results change by rounding."""
    absorbed = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            pad = produced_by(read(node, 0), "Pad") if node.applies("Conv") else None
            pads = None if pad is None else _spatial(pad, facts)
            if pad is None or pads is None or node.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
                continue
            if _names_sizes(pad, facts):
                continue
            own = node.get("pads", [0] * len(pads))
            attributes = [
                attribute for attribute in node.attributes.values() if attribute.name not in ("pads", "auto_pad")
            ]
            wide = Attribute("pads", [a + b for a, b in zip(own, pads, strict=True)])
            twin = Node("Conv", [pad.inputs[0], *node.inputs[1:]], 1, [*attributes, wide], name=node.name)
            graph.insert_before(node, twin)
            replace(node.output, twin.output, facts)
            absorbed += 1
    return absorbed


def _names_sizes(pad: Node, facts: Facts) -> bool:
    """Whether sizes of what a Pad computes have names that its input has not: they stand for those of its result."""
    before, after = (fact(value, facts).shape or () for value in (pad.inputs[0], pad.output))
    known = frozenset[str]().union(*(symbols(dim) for dim in before if isinstance(dim, Expr)))
    return any(isinstance(dim, Expr) and not symbols(dim) <= known for dim in after)


def _spatial(pad: Node, facts: Facts) -> list[int] | None:
    """How many zeros a Pad puts before and after each axis of an image; None if it does anything else."""
    count, pads, value = rank(pad.inputs[0], facts), integers(read(pad, 1), facts), read(pad, 2)
    if pad.get("mode", "constant") != "constant" or (value is not None and number(value, facts) != 0):
        return None
    if count is None or count < 3 or pads is None:
        return None
    axes = integers(read(pad, 3), facts) if read(pad, 3) is not None else list(range(count))
    if axes is None or len(pads) != 2 * len(axes) or min(pads) < 0:
        return None
    whole = [0] * (2 * count)
    for index, axis in enumerate(axes):
        whole[axis % count] = pads[index]
        whole[axis % count + count] = pads[index + len(axes)]
    outside = [whole[axis] for axis in (0, 1, count, count + 1)]
    return None if any(outside) else [*whole[2:count], *whole[count + 2 :]]
