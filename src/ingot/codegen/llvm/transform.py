"""Winograd's transforms on SIMD vectors: a tile of inputs to its values at points, and products back to sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.schedule.winograd import POINTS

Line = list[ir.Value]


def input_transform(b: Builder, side: int, tile: Sequence[Line]) -> list[Line]:
    """A square of side + 2 inputs at the points of both axes."""
    return _both(tile, lambda line: _values(b, POINTS[side], line))


def output_transform(b: Builder, side: int, tile: Sequence[Line]) -> list[Line]:
    """A square of side sums from its values at the points of both axes."""
    return _both(tile, lambda line: _sums(b, POINTS[side], line))


def _both(tile: Sequence[Line], change: Callable[[Line], Line]) -> list[Line]:
    columns = [change(list(column)) for column in zip(*tile, strict=True)]
    return [change(list(row)) for row in zip(*columns, strict=True)]


def _values(b: Builder, points: Sequence[float], d: Line) -> Line:
    """For each point, the inputs times the coefficients of the product of x - q over all other points q but infinity.

    For p and -p that is an even part plus and minus p times an odd part, in both of which only squares occur.
    """
    values = [_combined(b, _squares(points), d[0::2])]
    for point in points:
        others = _squares([other for other in points if other != point])
        even, odd = _combined(b, others, d[2::2]), _combined(b, others, d[1:-1:2])
        values += [_plus(b, point, odd, even), _plus(b, -point, odd, even)]
    return [*values, _combined(b, _squares(points), d[1::2])]


def _sums(b: Builder, points: Sequence[float], m: Line) -> Line:
    """Sum k is each value times the k-th power of its point; the last has that of infinity too."""
    pairs = [(b.fadd(m[i], m[i + 1]), b.fsub(m[i], m[i + 1])) for i in range(1, len(m) - 1, 2)]
    sums = []
    for power in range(len(m) - 2):
        terms = [pair[power % 2] for pair in pairs]
        total = _combined(b, [point**power for point in points], terms)
        if power == 0:
            total = b.fadd(total, m[0])
        if power == len(m) - 3:
            total = b.fadd(total, m[-1])
        sums.append(total)
    return sums


def _squares(points: Sequence[float]) -> list[float]:
    """The coefficients of the product of x - p² over points p, that of the lowest power first."""
    coefficients = [1.0]
    for point in points:
        shifted, scaled = [0.0, *coefficients], [-point * point * coefficient for coefficient in coefficients] + [0.0]
        coefficients = [one + other for one, other in zip(shifted, scaled, strict=True)]
    return coefficients


def _combined(b: Builder, factors: Sequence[float], values: Sequence[ir.Value]) -> ir.Value:
    """The sum of values times factors, the last first: its factor is often one."""
    *before, last = zip(factors, values, strict=True)
    total = last[1] if last[0] == 1 else b.fmul(_number(last[1], last[0]), last[1])
    for factor, value in reversed(before):
        total = _plus(b, factor, value, total)
    return total


def _plus(b: Builder, factor: float, value: ir.Value, total: ir.Value) -> ir.Value:
    if abs(factor) == 1:
        return b.fadd(total, value) if factor == 1 else b.fsub(total, value)
    return scalars.multiply_add(b, _number(value, factor), value, total)


def _number(like: ir.Value, value: float) -> ir.Constant:
    kind = like.type
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)
