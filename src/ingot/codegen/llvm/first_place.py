"""Which loops find the first place where a condition holds: they may end there, and need no vector of places."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.loops.ir import Apply, For, Literal, Position, Scalar, Update


@dataclass(frozen=True, slots=True)
class FirstPlace:
    """`local = minimum(local, place)` for the places where a condition holds; they grow by ones."""

    update: Update
    condition: Scalar
    place: Position


def first_place_of(loop: For) -> FirstPlace | None:
    """What a loop finds, if it does nothing but find the first place of a condition; None of any other loop."""
    match loop.body:
        case (Update(function="minimum", value=Apply(function="where", arguments=arguments)) as update,):
            match arguments:
                case (condition, Position(dtype=dtype) as place, Literal(value=most)) if (
                    place.index.factor(loop.var) == 1 and most == dtype.limits[1]
                ):
                    return FirstPlace(update, condition, place)
    return None
