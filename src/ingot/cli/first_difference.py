"""Where two runs begin to differ: the first value that is not the same, and whether both of it are right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ingot.cli.units import counted
from ingot.convert.source import Tolerance
from ingot.convert.verify import compare
from ingot.dataclass import dataclass
from ingot.ir import Graph, Node, Value
from ingot.ir.sort import reads

_QUANTISED_BITS = 16
"""Integers up to this width hold quantised numbers; wider ones are labels, indices and sizes."""

_TIE = "that is how a tie rounds"
_UNSORTED = "sorted=0 leaves the order open"


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs between two runs, and how; `excuse` says why both are right, None if it does not know."""

    value: Value
    node: Node
    problem: str
    excuse: str | None = None


def describe_first_difference(
    graph: Graph, names: Iterable[str], one: Mapping[str, Any], other: Mapping[str, Any], tolerance: Tolerance
) -> list[str]:
    """Lines that name the first value of `names`, in the order of the graph, that differs between two runs.

    Where both are right, whatever is computed from it differs too; then the first that differs among the other values
    is named besides.
    """
    lines: list[str] = []
    for difference in differences(graph, names, one, other, tolerance):
        label = f"'{difference.value.name}', of {_shown(difference.node)}"
        if difference.excuse is None:
            begin = "besides what follows from it, " if lines else ""
            return [*lines, f"{begin}the first value that differs is {label}: {difference.problem}"]
        if not lines:
            lines = [
                f"the first value that differs is {label}: {difference.problem}",
                f"{difference.excuse}; what follows from it cannot be compared",
            ]
    if lines:
        return [*lines, "besides what follows from it, no value that both have differs"]
    return ["no value inside that both have differs"]


def differences(
    graph: Graph, names: Iterable[str], one: Mapping[str, Any], other: Mapping[str, Any], tolerance: Tolerance
) -> Iterator[Difference]:
    """The values of `names` that differ between two runs, in the order of the graph, up to the first without excuse.

    What is computed from a value with an excuse is left out.
    """
    wanted = set(names)
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
            difference = _excused(node, value, one, other, tolerance) or Difference(value, node, problem)
            yield difference
            if difference.excuse is None:
                return
            behind.update(node.outputs)


def quantisation_ties(one: Any, other: Any) -> int:
    """How many elements of two arrays of quantised numbers differ, by one step; 0 if any differs by more."""
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and _is_quantised(one)):
        return 0
    return _single_steps(one, other) if _is_quantised(other) else 0


def _excused(
    node: Node, value: Value, one: Mapping[str, Any], other: Mapping[str, Any], tolerance: Tolerance
) -> Difference | None:
    a, b = one[value.name], other[value.name]
    if steps := quantisation_ties(a, b):
        return Difference(value, node, f"{counted(steps, 'element')} by one quantisation step", _TIE)
    if _rounds(node, one) and (steps := _single_steps(a, b)):
        return Difference(value, node, f"{counted(steps, 'element')} by one", _TIE)
    if _is_reordered(node, one, other, tolerance):
        return Difference(value, node, "the same elements in another order", _UNSORTED)
    return None


def _single_steps(one: Any, other: Any) -> int:
    """How many elements of two arrays differ, by 1; 0 if any differs by more, or there are not as many."""
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)) or one.shape != other.shape:
        return 0
    apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
    return int(np.count_nonzero(apart)) if apart.max(initial=0) == 1 else 0


def _rounds(node: Node, values: Mapping[str, Any]) -> bool:
    """Whether a node makes whole numbers of others."""
    if node.applies("Round", "Floor", "Ceil"):
        return True
    before, after = (values.get(value.name) if value else None for value in (*node.inputs[:1], *node.outputs[:1]))
    if not (node.applies("Cast") and isinstance(before, np.ndarray) and isinstance(after, np.ndarray)):
        return False
    return before.dtype.kind == "f" and after.dtype.kind in "iu"


def _is_reordered(node: Node, one: Mapping[str, Any], other: Mapping[str, Any], tolerance: Tolerance) -> bool:
    """Whether a TopK that need not sort has the same elements twice."""
    if not node.applies("TopK") or node.get("sorted", 1) or node.outputs[0].name not in one:
        return False
    name, axis = node.outputs[0].name, int(node.get("axis", -1))
    a, b = np.asarray(one[name]), np.asarray(other[name])
    if a.shape != b.shape:
        return False
    _, problem = compare(name, np.sort(a, axis), np.sort(b, axis), tolerance)
    return problem is None


def _is_quantised(array: np.ndarray[Any, Any]) -> bool:
    narrow = 8 * array.dtype.itemsize <= _QUANTISED_BITS
    return narrow and (array.dtype.kind in "iu" or array.dtype.name in ("int4", "uint4", "int2", "uint2"))


def _shown(node: Node) -> str:
    return f"{node.op_type} '{node.name}'" if node.name else node.op_type
