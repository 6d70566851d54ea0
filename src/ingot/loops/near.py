"""Places that all rows share: what is read along an axis at computed places, which are often close to each other."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.loops.ir import Apply, Index, Let, Scalar, Var
from ingot.loops.rewrite import indices


def near_places(index: Index, var: Var) -> Scalar | None:
    """The term by which an index moves along a variable, if that is one integer that depends on nothing else.

    It is an axis that is enlarged, or padded by its own elements, and a table of its places that every row reads: next
    to each other, these are mostly the same or neighbours. An int32 is returned as it is before it becomes an int64.
    """
    if index.factor(var) != 0:
        return None
    places = [(term, factor) for term, factor in index.terms if not isinstance(term, Var) and moves(term, var)]
    if len(places) != 1 or places[0][1] != 1:
        return None
    place = places[0][0]
    if any(term is not var for index in indices(Let("", place)) for term, _ in index.terms):
        return None
    if isinstance(place, Apply) and place.function == "cast" and place.arguments[0].dtype is DType.INT32:
        return place.arguments[0]
    return place


def moves(value: Scalar, var: Var) -> bool:
    """Whether a loop variable is in the indices of an expression."""
    return any(index.factor(var) != 0 for index in indices(Let("", value)))
