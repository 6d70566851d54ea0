"""How many lanes a loop in vectors has."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm.types import width
from ingot.dtypes import DType
from ingot.loops.ir import Apply, For, Index, Kind, Let, Load, Local, Position, Scalar, Select, Store, Update, Var
from ingot.loops.rewrite import operands, parts, stores, values
from ingot.schedule.target import Target

_WORD = 4
"""Bytes of the elements that most of what is computed has: narrower ones are widened to it where they are computed."""

_LONG_ROW = 1024
"""Elements of a row from which on its rest hardly counts, on machines without such masks."""

_NARROW = (DType.BOOL, DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
"""Types of one or two bytes that are computed as they are."""


def lane_count(loop: For, reduced: Sequence[DType], target: Target) -> int:
    """The lanes of a loop in vectors: as many elements as the widest type that is stored or reduced allows.

    Elements of one or two bytes fill a vector only where all that is computed is as narrow, and all that is read is
    contiguous: anything wider, and any place, would be several vectors.
    """
    widths = [width(store.buffer.dtype) for store in stores(loop.body)] + [width(dtype) for dtype in reduced]
    plain = target.lanes(max(_WORD, *widths, _WORD))
    widest = max(*widths, _widest_in(loop), 1)
    if widest >= _WORD:
        return plain
    lanes, length = target.lanes(widest), loop.var.extent
    if isinstance(length, int):
        while lanes > plain and lanes // 2 >= length:
            lanes //= 2
    is_long = isinstance(length, int) and (length >= _LONG_ROW or length % lanes == 0)
    return lanes if is_long or target.masks else plain


def _widest_in(loop: For) -> int:
    """The bytes of the widest value that differs from lane to lane; those of a word where one lies anywhere."""
    varying = _Varying(loop)
    if not _interleaves(loop) and (
        any(isinstance(inner, For) for inner in loop.body)
        or not all(varying.is_contiguous(store.index) for store in stores(loop.body))
    ):
        return _WORD
    return max((_width(part, varying) for part in parts([*values(loop.body)]) if varying(part)), default=1)


def _interleaves(loop: For) -> bool:
    """Whether a loop does nothing but store a few neighbours for each lane, interleaved."""
    match loop.body:
        case (For(var=place, kind=Kind.JAM, body=body),) if all(isinstance(inner, Store) for inner in body):
            strides = {(store.index.factor(place), store.index.factor(loop.var)) for store in stores(body)}
            return strides == {(1, place.extent)}
    return False


def _width(part: Scalar, varying: _Varying) -> int:
    match part:
        case Load():
            indices = (part.index, *_conditions(part))
            return width(part.dtype) if all(map(varying.is_contiguous, indices)) else _WORD
        case Apply() if all(each.dtype in _NARROW for each in (part, *part.arguments)):
            return max(width(each.dtype) for each in (part, *part.arguments))
        case Local():
            return width(part.dtype)
    return max(_WORD, width(part.dtype))


class _Varying:
    """Which values differ between the lanes of a loop."""

    def __init__(self, loop: For) -> None:
        self._var = loop.var
        self._changed = {inner.name for inner in loop.body if isinstance(inner, Let | Update)}
        self._known: dict[int, bool] = {}

    def __call__(self, value: Scalar) -> bool:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = self._is_own(value) or any(map(self, operands(value)))
        return known

    def is_contiguous(self, index: Index) -> bool:
        """Whether the lanes of an index lie one after another, or are one."""
        return index.factor(self._var) in (0, 1) and not any(map(self, _terms(index)))

    def _is_own(self, value: Scalar) -> bool:
        match value:
            case Local():
                return value.name in self._changed
            case Load():
                return any(each.factor(self._var) != 0 for each in (value.index, *_conditions(value)))
            case Select():
                return any(each.factor(self._var) != 0 for each in _conditions(value))
            case Position():
                return value.index.factor(self._var) != 0
        return False


def _conditions(value: Load | Select) -> list[Index]:
    return [condition.index for condition in value.where]


def _terms(index: Index) -> list[Scalar]:
    return [term for term, _ in index.terms if not isinstance(term, Var)]
