"""Expressions as text: operators between their operands, and names for what is shared or would be too long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import (
    Apply,
    CheckedIndex,
    Index,
    Inside,
    Literal,
    Load,
    Local,
    Position,
    RuntimeScalar,
    Scalar,
    Select,
    Var,
)
from ingot.prim.functions import CONVERSIONS

_SIGNS = {
    "equal": ("==", 2), "not_equal": ("!=", 2), "less": ("<", 2), "less_equal": ("<=", 2),
    "greater": (">", 2), "greater_equal": (">=", 2),
    "or": ("|", 3), "xor": ("^", 4), "and": ("&", 5),
    "add": ("+", 6), "subtract": ("-", 6), "multiply": ("*", 7), "divide": ("/", 7),
}  # fmt: skip
_COMPARISON, _SUM, _TERM, _SIGNED, _WHOLE = 2, 6, 7, 8, 9
_LONG = 90
"""From how many columns on parts of an expression are named."""
_SHORT = 16
"""Up to how many columns a shared expression is repeated rather than named."""


@dataclass(slots=True)
class _Part:
    """A part of an expression: pieces of text around other parts, and how closely it holds together."""

    pieces: tuple[str, ...]
    inner: tuple[tuple[int, int], ...]
    """Which part comes after each piece but the last, and how closely that has to hold together."""
    holds: int
    may_be_named: bool


class ExpressionText:
    """Texts of expressions, one after the other, with names that none of them shares with another."""

    def __init__(self) -> None:
        self._names = (f"t{number}" for number in count())

    def of(self, *values: Scalar, factors: bool = False) -> tuple[list[str], list[str]]:
        """Each expression, and the lines before them that define the names in them.

        `factors` are in brackets if they would fall apart in a product.
        """
        parts = _Parts()
        roots = [parts.of(value) for value in values]
        uses = Counter(inner for part in parts.distinct for inner, _ in part.inner)
        lines: list[str] = []
        texts: list[str] = []
        holds: list[int] = []
        for number, part in enumerate(parts.distinct):
            while True:
                pieces = [_held(texts[inner], holds[inner], wanted) for inner, wanted in part.inner]
                text = "".join(_between(part.pieces, pieces))
                if len(text) <= _LONG or not part.inner:
                    break
                longest = max((inner for inner, _ in part.inner), key=lambda inner: len(texts[inner]))
                if len(texts[longest]) <= _SHORT:
                    break
                texts[longest], holds[longest] = self._named(texts[longest], lines), _WHOLE
            texts.append(text)
            holds.append(part.holds)
            if part.may_be_named and uses[number] > 1 and len(text) > _SHORT:
                texts[number], holds[number] = self._named(text, lines), _WHOLE
        return lines, [_held(texts[root], holds[root], _TERM if factors else 0) for root in roots]

    def _named(self, text: str, lines: list[str]) -> str:
        name = next(self._names)
        lines.append(f"{name} = {text}")
        return name


class _Parts:
    """The distinct subexpressions, each after its operands."""

    def __init__(self) -> None:
        self.distinct: list[_Part] = []
        self._known: dict[object, int] = {}
        self._seen: dict[int, tuple[Scalar, int]] = {}

    def of(self, value: Scalar) -> int:
        """The number of an expression."""
        if id(value) not in self._seen:
            self._seen[id(value)] = value, self._add(self._part(value))
        return self._seen[id(value)][1]

    def _add(self, part: _Part) -> int:
        key = (part.pieces, part.inner, part.holds)
        if key not in self._known:
            self._known[key] = len(self.distinct)
            self.distinct.append(part)
        return self._known[key]

    def _part(self, value: Scalar) -> _Part:
        match value:
            case Literal():
                return _whole(_number(value))
            case RuntimeScalar():
                return _whole(" ".join(map(str, value.bits)))
            case Local():
                return _whole(value.name)
            case Position():
                pieces, inner = self._index(value.index)
                return _Part(pieces, inner, _WHOLE if len(inner) == 1 and pieces == ("", "") else _SUM, True)
            case Load():
                pieces, inner = _around(f"{value.buffer.name}[", self._index(value.index), "]")
                if value.where:
                    pieces, inner = _joined((pieces, inner), " if ", self._where(value.where), f" else {value.fill}")
                return _Part(pieces, inner, 1 if value.where else _WHOLE, True)
            case Select():
                first: _Text = (("", ""), ((self.of(value.value), _COMPARISON),))
                return _Part(*_joined(first, " if ", self._where(value.where), f" else {value.fill}"), 1, True)
            case CheckedIndex():
                return _Part(("checked(", f" < {value.size})"), ((self.of(value.value), _SUM),), _WHOLE, True)
            case Apply():
                return self._applied(value)

    def _applied(self, value: Apply) -> _Part:
        arguments = [self.of(argument) for argument in value.arguments]
        if value.function in _SIGNS:
            sign, holds = _SIGNS[value.function]
            left = holds + 1 if holds == _COMPARISON else holds
            return _Part(("", f" {sign} ", ""), tuple(zip(arguments, (left, holds + 1), strict=True)), holds, True)
        match value.function, arguments:
            case "where", (condition, one, other):
                inner = ((one, _COMPARISON), (condition, _COMPARISON), (other, 1))
                return _Part(("", " if ", " else ", ""), inner, 1, True)
            case "negate", (one,):
                return _Part(("-", ""), ((one, _SIGNED),), _SIGNED, True)
            case (("not" | "invert"), (one,)):
                return _Part(("~", ""), ((one, _SIGNED),), _SIGNED, True)
        name = value.function
        if name in CONVERSIONS:
            name = str(value.dtype) if name == "cast" else f"bits_as_{value.dtype}"
        pieces = (f"{name}(", *(", " for _ in arguments[1:]), ")")
        return _Part(pieces, tuple((argument, 1) for argument in arguments), _WHOLE, True)

    def _index(self, index: Index) -> _Text:
        """A sum of terms with their factors."""
        pieces: list[str] = [""]
        inner: list[tuple[int, int]] = []
        for term, factor in index.terms:
            number = self._add(_whole(term.name)) if isinstance(term, Var) else self.of(term)
            alone = isinstance(factor, int) or str(factor).isidentifier()
            times = "" if factor == 1 else f"*{factor}" if alone else f"*({factor})"
            pieces[-1] += " + " if inner else ""
            inner.append((number, _TERM if times else _SUM))
            pieces.append(times)
        if index.offset != 0 or not inner:
            pieces[-1] += _offset(index, bool(inner))
        return tuple(pieces), tuple(inner)

    def _where(self, where: Sequence[Inside]) -> _Text:
        pieces: list[str] = [""]
        inner: list[tuple[int, int]] = []
        for condition in where:
            between, numbers = self._index(condition.index)
            pieces[-1] += f"{' and ' if inner or pieces[-1] else ''}0 <= {between[0]}"
            pieces += between[1:]
            pieces[-1] += f" < {condition.size}"
            inner += numbers
        return tuple(pieces), tuple(inner)


_Text = tuple[tuple[str, ...], tuple[tuple[int, int], ...]]
"""Pieces of text, and the parts between them."""


def updated(function: str, name: str, value: str) -> str:
    """`name = f(name, value)`, as `name += value` where there is a sign for it."""
    sign = _SIGNS.get(function)
    return f"{name} = {function}({name}, {value})" if sign is None else f"{name} {sign[0]}= {value}"


def _number(number: Literal) -> str:
    """The shortest decimal that rounds to the number."""
    short = number.dtype in (DType.FLOAT32, DType.FLOAT16)
    return str(number.dtype.numpy.type(number.value) if short else number.value)


def _whole(text: str) -> _Part:
    return _Part((text,), (), _WHOLE, False)


def _offset(index: Index, after: bool) -> str:
    if not after:
        return str(index.offset)
    return f" - {-index.offset}" if isinstance(index.offset, int) and index.offset < 0 else f" + {index.offset}"


def _around(before: str, text: _Text, after: str) -> _Text:
    pieces, inner = text
    if not inner:
        return (f"{before}{pieces[0]}{after}",), inner
    return (before + pieces[0], *pieces[1:-1], pieces[-1] + after), inner


def _joined(first: _Text, between: str, second: _Text, after: str) -> _Text:
    (one, ones), (other, others) = first, _around("", second, after)
    return (*one[:-1], one[-1] + between + other[0], *other[1:]), (*ones, *others)


def _held(text: str, holds: int, wanted: int) -> str:
    return text if holds >= wanted else f"({text})"


def _between(pieces: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    yield pieces[0]
    for text, part in zip(texts, pieces[1:], strict=True):
        yield text
        yield part
