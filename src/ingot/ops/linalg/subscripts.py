"""The equations of Einsum: which letter names which axis of which operand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from string import ascii_letters

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import Shape
from ingot.ops.shapes import broadcast_dims

Labels = tuple[str, ...]
"""A name for each axis: its letter, or `.0`, `.1`, ... for those an ellipsis stands for."""


@dataclass(frozen=True, slots=True)
class Equation:
    """The terms of the operands and of the result, as written without spaces; `result` is None where it is implied."""

    terms: tuple[str, ...]
    result: str | None


def parse(text: str) -> Equation:
    """CheckError, with what is wrong, if the text is no equation."""
    left, arrow, right = text.replace(" ", "").partition("->")
    equation = Equation(tuple(left.split(",")), right if arrow else None)
    for term in (*equation.terms, *([right] if arrow else [])):
        letters = term.replace("...", "", 1)
        wrong = sorted(set(letters) - set(ascii_letters))
        if wrong:
            raise CheckError(f"'{wrong[0]}' in equation '{text}' is neither a letter nor an ellipsis")
    if arrow:
        letters = right.replace("...", "")
        known = set("".join(equation.terms))
        unknown = sorted(set(letters) - known)
        if unknown:
            raise CheckError(f"'{unknown[0]}' is in the result of '{text}' and in no operand")
        if len(set(letters)) < len(letters):
            raise CheckError(f"the result of '{text}' names an axis twice")
    return equation


def label(equation: Equation, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of every operand's axes and of the result's; ShapeError if the operands have other ranks."""
    if len(ranks) != len(equation.terms):
        raise ShapeError(f"the equation has {len(equation.terms)} operands, {len(ranks)} are given")
    elided: int | None = None
    for position, (term, rank) in enumerate(zip(equation.terms, ranks, strict=True)):
        letters = len(term.replace("...", ""))
        if "..." not in term:
            if letters != rank:
                raise ShapeError(f"operand {position} has {rank} axes, '{term}' names {letters}")
            continue
        if letters > rank:
            raise ShapeError(f"operand {position} has {rank} axes, '{term}' names at least {letters}")
        if elided is not None and elided != rank - letters:
            raise ShapeError(f"an ellipsis stands for {elided} axes and for {rank - letters}")
        elided = rank - letters
    ellipsis = tuple(f".{i}" for i in range(elided or 0))
    operands = [_expanded(term, ellipsis) for term in equation.terms]
    if equation.result is not None:
        return operands, _expanded(equation.result, ellipsis)
    counts = Counter("".join(equation.terms).replace(".", ""))
    return operands, (*ellipsis, *sorted(letter for letter, many in counts.items() if many == 1))


def sizes(operands: Sequence[Labels], shapes: Sequence[Shape]) -> dict[str, Dim | None]:
    """The size of every label; ShapeError where two sizes of one differ and neither is one, or an axis of a diagonal
    differs from the other.
    """
    by_label: dict[str, list[Dim | None]] = {}
    for labels, shape in zip(operands, shapes, strict=True):
        own: dict[str, Dim | None] = {}
        for name, size in zip(labels, shape, strict=True):
            before = own.setdefault(name, size)
            if isinstance(before, int) and isinstance(size, int) and before != size:
                raise ShapeError(f"'{name}' names axes of sizes {before} and {size} of one operand")
            if before is None or isinstance(size, int):
                own[name] = size
        for name, size in own.items():
            by_label.setdefault(name, []).append(size)
    answer: dict[str, Dim | None] = {}
    for name, candidates in by_label.items():
        try:
            answer[name] = broadcast_dims(candidates)
        except ShapeError as error:
            raise ShapeError(f"{error.message}, both named '{name}'") from None
    return answer


def _expanded(term: str, ellipsis: Labels) -> Labels:
    before, dots, after = term.partition("...")
    return (*before, *(ellipsis if dots else ()), *after)
