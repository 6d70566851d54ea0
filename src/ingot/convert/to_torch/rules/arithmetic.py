"""Arithmetic, comparison and logic of two operands, on tensors and on the sizes that Python holds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ingot.convert.to_torch.operand import Operand, Size, Sizes
from ingot.convert.to_torch.rule import Expression, Rule, rule
from ingot.convert.to_torch.say import scalar
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType


def pair(a: Operand, b: Operand) -> tuple[str, str]:
    """Both as an expression takes them: a constant as a number, where one of the two is a tensor."""
    left = scalar(a, b.rank) if b.literal is None and b.rank is not None else str(a)
    return left, scalar(b, a.rank) if left == str(a) and a.rank is not None else str(b)


def on_sizes(a: Operand, b: Operand, each: Callable[[Size, Size], Size | None]) -> Sizes | None:
    """An operation on what Python holds of both, element by element; None where it holds one of them not."""
    if a.sizes is None or b.sizes is None or a.rank is None or b.rank is None:
        return None
    if a.literal is None and b.literal is None and a.constant is not None and b.constant is not None:
        return None
    count = max(len(a.sizes), len(b.sizes))
    if {len(a.sizes), len(b.sizes)} - {1, count}:
        return None
    left, right = (sizes * count if len(sizes) == 1 else sizes for sizes in (a.sizes, b.sizes))
    elements = [each(one, other) for one, other in zip(left, right, strict=True)]
    if any(one is None for one in elements):
        return None
    return Sizes(tuple(one for one in elements if one is not None), max(a.rank, b.rank) == 0)


def _symbol(sign: str, compute: Callable[[int, int], int], natural: bool) -> Callable[..., Expression]:
    def each(a: Size, b: Size) -> Size:
        if a.number is not None and b.number is not None:
            return Size.of(compute(a.number, b.number))
        if sign == "*" and 1 in (a.number, b.number):
            return b if a.number == 1 else a
        if sign in "+-" and b.number == 0:
            return a
        return Size(f"{a.atom} {sign} {b.atom}", natural and a.natural and b.natural)

    def write(_site: Site, a: Operand, b: Operand) -> Expression:
        if a.dtype in (DType.INT64, DType.INT32) and (sizes := on_sizes(a, b, each)) is not None:
            return sizes
        left, right = pair(a, b)
        if sign == "+" and right.startswith("(-"):
            return f"{left} - {right[2:-1]}"
        return f"{left} {sign} {right}"

    return write


SYMBOLS: list[Rule[..., Expression]] = [
    rule("Add", widens_all=True)(_symbol("+", operator.add, True)),
    rule("Sub", widens_all=True)(_symbol("-", operator.sub, False)),
    rule("Mul", widens_all=True)(_symbol("*", operator.mul, True)),
]


@rule("Div", widens=True)
def div(_site: Site, a: Operand, b: Operand) -> Expression:
    def each(a: Size, b: Size) -> Size | None:
        if a.number is not None and b.number is not None and b.number:
            quotient = abs(a.number) // abs(b.number)
            return Size.of(quotient if (a.number < 0) == (b.number < 0) else -quotient)
        if b.number == 1:
            return a
        return Size(f"{a.atom} // {b.atom}", True) if a.natural and b.natural and b.number != 0 else None

    left, right = pair(a, b) if not a.is_integer else ("", "")
    if a.is_integer:
        if (sizes := on_sizes(a, b, each)) is not None:
            return sizes
        return f'torch.div({a}, {scalar(b, a.rank) if a.rank is not None else b}, rounding_mode="trunc")'
    return f"{left} / {right}"


@rule("Mod", widens=True)
def mod(_site: Site, a: Operand, b: Operand, *, fmod: int) -> Expression:
    def each(a: Size, b: Size) -> Size | None:
        if b.number == 0 or not b.natural or (fmod and not a.natural):
            return None
        if a.number is not None and b.number is not None:
            return Size.of(a.number % b.number)
        return Size(f"{a.atom} % {b.atom}", True)

    if a.is_integer and (sizes := on_sizes(a, b, each)) is not None:
        return sizes
    return f"torch.fmod({a}, {b})" if fmod else f"torch.remainder({a}, {b})"


@rule("Pow", widens=True)
def power(site: Site, x: Operand, y: Operand) -> Expression:
    if x.dtype is y.dtype:
        if x.is_integer and not (y.literal is not None and not y.literal.startswith("-")):
            return f"torch.pow({x}.to(torch.float64), {y}).to({site.torch_dtype()})"
        return f"{x} ** {scalar(y, x.rank)}" if x.rank is not None else f"{x} ** {y}"
    wide = f"{x}.to(torch.float64)" if x.is_integer else str(x)
    return f"torch.pow({wide}, {y}).to({site.torch_dtype()})"


def _comparison(sign: str, compute: Callable[[int, int], bool]) -> Callable[..., Expression]:
    def each(a: Size, b: Size) -> Size:
        if a.number is not None and b.number is not None:
            return Size.of(compute(a.number, b.number), DType.BOOL)
        return Size(f"{a.atom} {sign} {b.atom}", True)

    def write(_site: Site, a: Operand, b: Operand) -> Expression:
        if a.is_integer and (sizes := on_sizes(a, b, each)) is not None:
            return sizes
        left, right = pair(a, b)
        return f"{left} {sign} {right}"

    return write


COMPARISONS: list[Rule[..., Expression]] = [
    rule("Equal", widens_all=True)(_comparison("==", operator.eq)),
    rule("Less", orders=True)(_comparison("<", operator.lt)),
    rule("LessOrEqual", orders=True)(_comparison("<=", operator.le)),
    rule("Greater", orders=True)(_comparison(">", operator.gt)),
    rule("GreaterOrEqual", orders=True)(_comparison(">=", operator.ge)),
]


def _bits(sign: str) -> Callable[..., Expression]:
    def write(_site: Site, a: Operand, b: Operand) -> Expression:
        left, right = pair(a, b)
        return f"{left} {sign} {right}"

    return write


BITS: list[Rule[..., Expression]] = [
    rule("And", "BitwiseAnd", widens_all=True)(_bits("&")),
    rule("Or", "BitwiseOr", widens_all=True)(_bits("|")),
    rule("Xor", "BitwiseXor", widens_all=True)(_bits("^")),
]


@rule("BitShift", widens_all=True)
def bit_shift(site: Site, x: Operand, y: Operand, *, direction: str) -> Expression:
    if direction == "LEFT":
        return f"{x} << {y}"
    return f"{site.use('shift_right')}({x}, {y})" if x.dtype is DType.INT64 else f"{x} >> {y}"


def _fold(function: str) -> Callable[..., Expression]:
    def write(_site: Site, *inputs: Operand) -> Expression:
        if len(inputs) == 1:
            return inputs[0]
        text = str(inputs[0])
        for other in inputs[1:]:
            text = f"torch.{function}({text}, {other})"
        return text

    return write


EXTREMES: list[Rule[..., Expression]] = [
    rule("Max", orders=True)(_fold("maximum")),
    rule("Min", orders=True)(_fold("minimum")),
]


@rule("Sum")
def total(_site: Site, *inputs: Operand) -> Expression:
    return " + ".join(map(str, inputs)) if len(inputs) > 1 else inputs[0]


@rule("Mean")
def mean(_site: Site, *inputs: Operand) -> Expression:
    return f"({' + '.join(map(str, inputs))}) / {len(inputs)}" if len(inputs) > 1 else inputs[0]


@rule("Clip", widens=True)
def clip(_site: Site, x: Operand, low: Operand | None = None, high: Operand | None = None) -> Expression:
    bounds = {"min": low, "max": high}
    present = {name: bound for name, bound in bounds.items() if bound is not None}
    if not present:
        return x
    if low is None and high is not None and high.literal is None:
        return f"torch.minimum({x}, {high})"
    plain = all(bound.literal is not None for bound in present.values())
    arguments = [f"{name}={bound.literal if plain else bound}" for name, bound in present.items()]
    return f"{x}.clamp({', '.join(arguments)})"


@rule("Where")
def where(_site: Site, condition: Operand, x: Operand, y: Operand) -> Expression:
    if condition.sizes is not None and x.sizes is not None and y.sizes is not None and x.dtype is DType.INT64:
        sizes = _where_sizes(condition, x, y)
        if sizes is not None:
            return sizes
    both = x.literal is not None and y.literal is not None
    if both and x.rank == y.rank == 0 and x.dtype in (DType.FLOAT32, DType.INT64):
        return f"torch.where({condition}, {x.literal}, {y.literal})"
    ranks = [one.rank for one in (condition, x, y)]
    if both or None in ranks:
        return f"torch.where({condition}, {x}, {y})"
    most = max(rank for rank in ranks if rank is not None)
    known = {one: scalar(one, other.rank) if other.rank == most or condition.rank == most else str(one)
             for one, other in ((x, y), (y, x))}  # fmt: skip
    return f"torch.where({condition}, {known[x]}, {known[y]})"


def _where_sizes(condition: Operand, x: Operand, y: Operand) -> Sizes | None:
    assert condition.sizes is not None
    assert x.sizes is not None
    assert y.sizes is not None
    counts = {len(sizes) for sizes in (condition.sizes, x.sizes, y.sizes)} - {1}
    if len(counts) > 1:
        return None
    count = counts.pop() if counts else 1
    rows: list[Any] = [sizes * count if len(sizes) == 1 else sizes for sizes in (condition.sizes, x.sizes, y.sizes)]
    elements = []
    for test, one, other in zip(*rows, strict=True):
        if test.number is not None:
            elements.append(one if test.number else other)
        elif one.text == other.text:
            elements.append(one)
        else:
            elements.append(Size(f"({one.text} if {test.text} else {other.text})", one.natural and other.natural))
    scalars = all(operand.rank == 0 for operand in (condition, x, y))
    return Sizes(tuple(elements), scalars)
