"""Which keys a mask hides by their place alone, as a causal one does: tiles of them are not read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.types import I1, I64
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.dataclass import dataclass
from ingot.loops.ir import Apply, Index, Inside, Literal, Position, RuntimeScalar, Scalar, Select, Var

Bounds = tuple[ir.Value, ir.Value]

_COMPARISONS = {"less", "less_equal", "greater", "greater_equal"}


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """A score as a value where all conditions hold, and minus infinity elsewhere."""

    value: Scalar
    conditions: tuple[Scalar | Inside, ...]


def parts_of(score: Scalar) -> ScoreParts:
    """The conditions of a score that follow from places alone; those that do not stay in its value."""
    conditions: list[Scalar | Inside] = []
    while True:
        match score:
            case Apply(function="where", arguments=(condition, value, Literal(value=low))) if _is_low(low):
                if not _is_of_places(condition):
                    return ScoreParts(score, tuple(conditions))
                conditions.append(condition)
                score = value
            case Select(value=value, where=where, fill=low) if _is_low(low) and all(map(_is_plain, where)):
                conditions += where
                score = value
            case _:
                return ScoreParts(score, tuple(conditions))


def value_where_seen(score: Scalar) -> Scalar:
    """A score where its conditions of places hold."""
    return parts_of(score).value


@dataclass(frozen=True, slots=True)
class Span:
    """A box of places: the least and the greatest value of variables, in code that `loops` emits."""

    loops: ThreadLoops
    values: Mapping[Var, Bounds]

    def always(self, conditions: Sequence[Scalar | Inside]) -> ir.Value:
        """Whether all conditions hold everywhere in the box, as far as bounds tell."""
        return self._all([self._decided(condition)[0] for condition in conditions])

    def never(self, conditions: Sequence[Scalar | Inside]) -> ir.Value:
        """Whether one of the conditions holds nowhere in the box, as far as bounds tell."""
        return self._any([self._decided(condition)[1] for condition in conditions])

    def _decided(self, condition: Scalar | Inside) -> Bounds:
        """Whether a condition always holds, and whether it never does."""
        b = self.loops.b
        if isinstance(condition, Inside):
            low, high = self._index(condition.index)
            size, zero = self.loops.frame.size(condition.size), ir.Constant(low.type, 0)
            inside = b.and_(b.icmp_signed(">=", low, zero), b.icmp_signed("<", high, size))
            outside = b.or_(b.icmp_signed("<", high, zero), b.icmp_signed(">=", low, size))
            return inside, outside
        match condition:
            case Apply(function="and", arguments=arguments):
                both = [self._decided(argument) for argument in arguments]
                return self._all([always for always, _ in both]), self._any([never for _, never in both])
            case Apply(function="or", arguments=arguments):
                both = [self._decided(argument) for argument in arguments]
                return self._any([always for always, _ in both]), self._all([never for _, never in both])
            case Apply(function="not", arguments=(argument,)):
                always, never = self._decided(argument)
                return never, always
            case Apply(function=function, arguments=(x, y)) if function in _COMPARISONS:
                if function.startswith("greater"):
                    x, y = y, x
                (low, high), (least, most) = self._bounds(x), self._bounds(y)
                if function.endswith("equal"):
                    return b.icmp_signed("<=", high, least), b.icmp_signed(">", low, most)
                return b.icmp_signed("<", high, least), b.icmp_signed(">=", low, most)
        raise AssertionError(condition)

    def _bounds(self, value: Scalar) -> Bounds:
        b = self.loops.b
        match value:
            case Position(index=index):
                return self._index(index)
            case Apply(function="add", arguments=(x, y)):
                one, other = self._bounds(x), self._bounds(y)
                return b.add(one[0], other[0]), b.add(one[1], other[1])
            case Apply(function="subtract", arguments=(x, y)):
                one, other = self._bounds(x), self._bounds(y)
                return b.sub(one[0], other[1]), b.sub(one[1], other[0])
            case _:
                number = self.loops.b.sext(self.loops.scalar(value), I64)
                return number, number

    def _index(self, index: Index) -> Bounds:
        loops, b = self.loops, self.loops.b
        bounds = []
        for which in range(2):
            total = loops.frame.size(index.offset)
            for term, factor in index.terms:
                assert isinstance(term, Var)
                assert isinstance(factor, int)
                value = self.values[term][which ^ (factor < 0)] if term in self.values else loops.variables[term]
                total = b.add(total, b.mul(value, I64(factor)))
            bounds.append(total)
        return bounds[0], bounds[1]

    def _all(self, bits: Sequence[ir.Value]) -> ir.Value:
        return _joined(self.loops.b.and_, bits, I1(1))

    def _any(self, bits: Sequence[ir.Value]) -> ir.Value:
        return _joined(self.loops.b.or_, bits, I1(0))


def _joined(both: Callable[[ir.Value, ir.Value], ir.Value], bits: Sequence[ir.Value], none: ir.Value) -> ir.Value:
    result = none
    for bit in bits:
        result = both(result, bit)
    return result


def _is_low(value: object) -> bool:
    return value == float("-inf")


def _is_of_places(value: Scalar) -> bool:
    """Whether a condition is one of comparisons of sums of places, whose bounds follow from those of variables."""
    match value:
        case Apply(function="and" | "or" | "not", arguments=arguments):
            return all(map(_is_of_places, arguments))
        case Apply(function=function, arguments=arguments) if function in _COMPARISONS:
            return all(map(_is_linear, arguments))
    return False


def _is_linear(value: Scalar) -> bool:
    if not value.dtype.is_integer:
        return False
    match value:
        case Position(index=index):
            return all(_is_plain_term(term, factor) for term, factor in index.terms)
        case Literal() | RuntimeScalar():
            return True
        case Apply(function="add" | "subtract", arguments=arguments):
            return all(map(_is_linear, arguments))
    return False


def _is_plain(condition: Inside) -> bool:
    return all(_is_plain_term(term, factor) for term, factor in condition.index.terms)


def _is_plain_term(term: object, factor: object) -> bool:
    """Whether a term is a variable times a number."""
    return isinstance(term, Var) and isinstance(factor, int)
