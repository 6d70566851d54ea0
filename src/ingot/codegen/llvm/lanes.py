"""Values in SIMD lanes: one element for all lanes of a vector, or one for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import I8, I32, I64, lane_numbers, vector
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Var

WORDS_IN_VECTOR = 16
"""Elements of four bytes in the widest vector. More lanes than these are narrow, and next to each other."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The variable that a loop is vectorised along, and the mask of active lanes: all, if it is None.

    `active` is how many are active of a masked vector, where that is known.
    """

    var: Var
    count: int
    mask: ir.Value | None
    active: ir.Value | None = None


class Lanes:
    """Emits code for the SIMD lanes of a vector, or for one element where `_lane` is None."""

    def __init__(self, b: Builder, frame: Frame) -> None:
        self.b = b
        self.frame = frame
        self._lane: Lane | None = None

    def splat(self, value: ir.Value, lanes: int) -> ir.Value:
        """A value broadcast to every lane."""
        if lanes == 1 or count_of(value) == lanes:
            return value
        if isinstance(value, ir.Constant):
            text = f"splat ({value.type.text} {value.text})"
            return ir.Constant(ir.VectorType(value.type, lanes), [value.constant] * lanes, text)
        undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
        first = self.b.insert_element(undefined, value, I32(0))
        return self.b.shuffle_vector(first, undefined, _first_lane(lanes))

    def lanes_below(self, count: ir.Value, lanes: int) -> ir.Value:
        """The mask of the first lanes, `count` of them, of a vector of `lanes`."""
        kind = I32 if lanes <= WORDS_IN_VECTOR else I8
        few = self.b.trunc(smaller(self.b, count, I64(lanes)), kind)
        numbers = lane_numbers(kind, lanes) if lanes > 1 else kind(0)
        return self.b.icmp_signed("<", numbers, self.splat(few, lanes))

    def across(self, value: ir.Value, both: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
        """The reduction of the lanes of a vector by a function of two, the upper half onto the lower."""
        b, lanes = self.b, count_of(value)
        while lanes > 1:
            half = lanes // 2
            low, high = (
                b.shuffle_vector(value, value, ir.Constant(ir.VectorType(I32, half), list(range(at, at + half))))
                for at in (0, half)
            )
            if half == 1:
                low, high = b.extract_element(low, I32(0)), b.extract_element(high, I32(0))
            value, lanes = both(low, high), half
        return value

    def _in_lanes(self, value: ir.Value) -> ir.Value:
        """A value broadcast to the lanes of the current vector."""
        assert self._lane is None or count_of(value) in (1, self._lane.count)
        return value if self._lane is None else self.splat(value, self._lane.count)

    def _alike(self, *values: ir.Value) -> list[ir.Value]:
        """Values broadcast to as many lanes as the widest of them has."""
        most = max(map(count_of, values))
        return [self.splat(value, most) for value in values]

    def _stored(self, value: ir.Value, dtype: DType) -> ir.Value:
        """A value as it lies in memory: a bool is a byte."""
        return self.b.zext(value, vector(I8, count_of(value))) if dtype is DType.BOOL else value

    def _computed(self, value: ir.Value, dtype: DType) -> ir.Value:
        """A value from memory as it is computed with: a bool is a bit."""
        if dtype is not DType.BOOL:
            return value
        zero = ir.Constant(value.type, None) if count_of(value) > 1 else I8(0)
        return self.b.icmp_unsigned("!=", value, zero)


@cache
def _first_lane(lanes: int) -> ir.Constant:
    """The mask of a shuffle that puts the first lane everywhere."""
    return ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)


def count_of(value: ir.Value) -> int:
    """The lanes of a value: one, if it is no vector."""
    return value.type.count
