"""The largest and the smallest of several terms."""

from __future__ import annotations

from ingot.dims.arithmetic import add
from ingot.dims.calls import call, is_natural, text_of
from ingot.dims.terms import Call, Terms, constant, known_value, lone_atom, within_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_COMPARED = 16
"""Arguments of one max or min that are compared with each other."""


def extreme(op: str, sizes: Iterable[Terms]) -> Terms:
    """`max` or `min` of one or more terms, without those that others decide; ValueError for none."""
    distinct: dict[str, Terms] = {}
    numbers: list[int] = []
    for size in sizes:
        atom = lone_atom(size)
        for arg in atom.args if isinstance(atom, Call) and atom.op == op else (size,):
            number = known_value(arg)
            if number is None:
                distinct.setdefault(text_of(arg), arg)
            else:
                numbers.append(number)
    candidates = [distinct[text] for text in sorted(distinct)]
    if numbers:
        candidates.append(constant(max(numbers) if op == "max" else min(numbers)))
    if not candidates:
        raise ValueError(f"{op} of nothing")
    if len(candidates) <= _MAX_COMPARED:
        candidates = _undecided(op, candidates)
    return candidates[0] if len(candidates) == 1 else within_limit({(call(op, *candidates),): 1})


def _undecided(op: str, candidates: list[Terms]) -> list[Terms]:
    left: list[Terms] = []
    for size in candidates:
        if not any(_decides(op, other, size) for other in left):
            left = [other for other in left if not _decides(op, size, other)]
            left.append(size)
    return left


def _decides(op: str, x: Terms, y: Terms) -> bool:
    """Whether op of x and y is provably x."""
    atom = lone_atom(y)
    if isinstance(atom, Call) and {atom.op, op} == {"max", "min"} and x in atom.args:
        return True  # max(x, min(x, ...)) is x, and the other way round
    return is_natural(add(x, y, -1) if op == "max" else add(y, x, -1))
