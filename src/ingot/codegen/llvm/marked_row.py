"""Rows of zeros with a one at a computed place, as one-hot rows and diagonals: filled, then marked."""

from __future__ import annotations

from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.loops.ir import Apply, For, Literal, Load, Local, Position, RuntimeScalar, Scalar, Store, Var
from ingot.loops.rewrite import parts


@dataclass(frozen=True, slots=True)
class MarkedRow:
    """A loop that fills a row with zeros, and what is stored then where a position along it is `place`."""

    filling: For
    mark: Store
    position: Position
    place: Scalar


def marked_row_of(loop: For) -> MarkedRow | None:
    """What a loop stores, if that is zero everywhere in a row but at one place at most; None of any other loop."""
    match loop.body:
        case (Store(value=Apply(function="cast", arguments=(Apply(function="equal") as found,)) as value) as store,):
            mark, rest = Literal(value.dtype, 1), Literal(value.dtype, 0)
        case _:
            return None
    for position, place in (found.arguments, found.arguments[::-1]):
        if not isinstance(position, Position) or position.index.factor(loop.var) != 1:
            continue
        is_plain = all(isinstance(term, Var) for index in (position.index, store.index) for term, _ in index.terms)
        if is_plain and _is_invariant(place, loop.var):
            filling = replace(loop, body=(replace(store, value=rest),))
            return MarkedRow(filling, replace(store, value=mark), position, place)
    return None


def _is_invariant(value: Scalar, var: Var) -> bool:
    """Whether a value is the same in all of a loop, and reports nothing."""
    for part in parts([value]):
        match part:
            case Position(index=index) | Load(index=index, where=()):
                if index.factor(var) != 0:
                    return False
            case Apply(dtype=dtype, function="divide" | "remainder") if dtype.is_integer:
                return False
            case Apply() | Literal() | RuntimeScalar() | Local():
                pass
            case _:
                return False
    return True
