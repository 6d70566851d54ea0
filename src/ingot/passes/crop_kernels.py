"""Kernels of convolutions that are larger than what they move over: the part that meets nothing but padding goes.

A kernel of 3 × 3 on an image of one pixel, as at the end of a network that is given small images, has one element that
meets it. The others are multiplied by zeros, and take nine times the memory.
"""

from __future__ import annotations

import numpy as np

from ingot.infer.driver import Facts
from ingot.ir.attribute import Attribute
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.passes.replacing import add_constant, replace
from ingot.queries.values import constant, fact, read


def crop_kernels(model: Model, facts: Facts) -> int:
    """Crop constant kernels of convolutions to the part that meets an image, where the rest is finite; how many."""
    cropped = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            crops = _crops(node, facts) if node.applies("Conv") else None
            weights = None if crops is None else constant(read(node, 1), facts)
            if crops is None or weights is None or not np.isfinite(weights.numpy()).all():  # infinity times zero is NaN
                continue
            part = weights.numpy()[(slice(None), slice(None), *(slice(first, end) for first, end, _, _ in crops))]
            small = add_constant(Tensor(part.copy()), f"{node.output.name}_kernel", graph, facts)
            pads = [before for _, _, before, _ in crops] + [after for _, _, _, after in crops]
            others = [each for each in node.attributes.values() if each.name not in ("pads", "kernel_shape")]
            twin = Node(
                "Conv", [node.inputs[0], small, *node.inputs[2:]], 1, [*others, Attribute("pads", pads)], name=node.name
            )
            graph.insert_before(node, twin)
            replace(node.output, twin.output, facts)
            cropped += 1
    return cropped


def _crops(node: Node, facts: Facts) -> list[tuple[int, int, int, int]] | None:
    """The part of a kernel that meets an image, from and to, and the padding left, by axis; None if all of it does."""
    image, kernel, result = (fact(value, facts).shape for value in (node.inputs[0], read(node, 1), node.output))
    if image is None or kernel is None or result is None or node.get("auto_pad", "NOTSET") != "NOTSET":
        return None
    count = len(kernel) - 2
    pads, strides, dilations = (
        node.get(name, [usual] * length)
        for name, usual, length in (("pads", 0, 2 * count), ("strides", 1, count), ("dilations", 1, count))
    )
    crops = []
    for axis in range(count):
        size, taps, places = image[axis + 2], kernel[axis + 2], result[axis + 2]
        if not isinstance(size, int) or not isinstance(taps, int) or not isinstance(places, int) or places < 1:
            return None
        before, step, apart = pads[axis], strides[axis], dilations[axis]
        met = [tap for tap in range(taps) if _meets(tap * apart - before, step, places, size)]
        first, end = (met[0], met[-1] + 1) if met else (0, 1)
        left = before - first * apart, pads[axis + count] - (taps - end) * apart
        if min(left) < 0:
            first, end, left = 0, taps, (before, pads[axis + count])
        crops.append((first, end, *left))
    whole = all((first, end) == (0, size) for (first, end, _, _), size in zip(crops, kernel[2:], strict=True))
    return None if whole else crops


def _meets(first: int, step: int, places: int, size: int) -> bool:
    """Whether one of so many places, a step apart from the first, is inside of a size."""
    last = first + step * (places - 1)
    if last < 0 or first >= size:
        return False
    return first >= 0 or first % step < size
