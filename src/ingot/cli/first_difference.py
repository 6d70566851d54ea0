"""Where two runs begin to differ: the first value that is not the same, and whether rounding alone explains it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ingot.cli.units import counted
from ingot.convert.source import Tolerance
from ingot.convert.verify import compare
from ingot.ir import Graph, Node, Value
from ingot.ir.sort import reads

_QUANTISED_BITS = 16
"""Integers up to this width hold quantised numbers; wider ones are labels, indices and sizes."""


def describe_first_difference(
    graph: Graph, names: Iterable[str], one: Mapping[str, Any], other: Mapping[str, Any], tolerance: Tolerance
) -> list[str]:
    """Lines that name the first value of `names`, in the order of the graph, that differs between two runs.

    Where that is by one step of a quantised number, a tie that rounds to either side, whatever is computed from it
    differs too; then the first that differs among the other values is named besides.
    """
    wanted = set(names)
    lines: list[str] = []
    behind: set[Value] = set()
    for node in graph:
        if behind.intersection(reads(node)):
            behind.update(node.outputs)
            continue
        for value in node.outputs:
            if value.name not in wanted:
                continue
            _, problem = compare(value.name, one[value.name], other[value.name], tolerance)
            if problem is None:
                continue
            label = f"'{value.name}', of {_shown(node)}"
            steps = quantisation_ties(one[value.name], other[value.name])
            if not steps:
                begin = "besides what follows from it, " if lines else ""
                return [*lines, f"{begin}the first value that differs is {label}: {problem}"]
            if not lines:
                lines = [
                    f"the first value that differs is {label}: {counted(steps, 'element')} by one quantisation step",
                    "that is how a tie rounds; what follows from it cannot be compared",
                ]
            behind.update(node.outputs)
    if lines:
        return [*lines, "besides what follows from it, no value that both have differs"]
    return ["no value inside that both have differs"]


def quantisation_ties(one: Any, other: Any) -> int:
    """How many elements of two arrays of quantised numbers differ, by one step; 0 if any differs by more."""
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)) or one.shape != other.shape:
        return 0
    if not (_is_quantised(one) and _is_quantised(other)):
        return 0
    apart = np.abs(one.astype(np.int64) - other.astype(np.int64))
    return int(np.count_nonzero(apart)) if apart.max(initial=0) == 1 else 0


def _is_quantised(array: np.ndarray[Any, Any]) -> bool:
    narrow = 8 * array.dtype.itemsize <= _QUANTISED_BITS
    return narrow and (array.dtype.kind in "iu" or array.dtype.name in ("int4", "uint4", "int2", "uint2"))


def _shown(node: Node) -> str:
    return f"{node.op_type} '{node.name}'" if node.name else node.op_type
