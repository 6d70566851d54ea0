"""Sequences, which are lists, and optional values, which are the value or None."""

from __future__ import annotations

from typing import Any

from ingot.convert.to_torch.operand import Operand, Size, Sizes
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import integer, ints, listed
from ingot.convert.to_torch.site import Site


@rule("SequenceConstruct")
def construct(_site: Site, *inputs: Operand) -> Expression:
    return listed(inputs)


@rule("SequenceEmpty")
def empty(_site: Site, *, dtype: int | None) -> Expression:
    return "[]"


@rule("SequenceAt")
def at(_site: Site, sequence: Operand, position: Operand) -> Expression:
    return f"{sequence}[{integer(position)}]"


@rule("SequenceLength")
def length(_site: Site, sequence: Operand) -> Expression:
    return Sizes((Size(f"len({sequence})", True),), is_scalar=True)


@rule("SequenceInsert")
def insert(site: Site, sequence: Operand, tensor: Operand, position: Operand | None = None) -> Expression:
    if position is None:
        return f"[*{sequence}, {tensor}]"
    place = integer(position)
    if not place.isidentifier():
        place = site.held(place)
    return f"[*{sequence}[:{place}], {tensor}, *{sequence}[{place}:]]"


@rule("SequenceErase")
def erase(site: Site, sequence: Operand, position: Operand | None = None) -> Expression:
    if position is None:
        return f"{sequence}[:-1]"
    return f"{site.use('without')}({sequence}, {integer(position)})"


@rule("SplitToSequence")
def split_to_sequence(site: Site, x: Operand, split: Operand | None = None, *, axis: int, keepdims: int) -> Expression:
    if split is None or (split.rank == 0 and split.numbers == [1]):
        return f"list({x}.split(1, dim={axis}))" if keepdims else f"list({x}.unbind({axis}))"
    lengths = integer(split) if split.rank == 0 else f"list({ints(split)})"
    if split.rank is None:
        return f"{site.use('split_at')}({x}, {split}, {axis})"
    return f"list({x}.split({lengths}, dim={axis}))"


@rule("ConcatFromSequence")
def concat_from_sequence(_site: Site, sequence: Operand, *, axis: int, new_axis: int) -> Expression:
    return f"torch.{'stack' if new_axis else 'cat'}({sequence}, dim={axis})"


@rule("Optional")
def optional(_site: Site, x: Operand | None = None, *, type_: Any) -> Expression:
    return "None" if x is None else x


@rule("OptionalGetElement")
def get_element(_site: Site, x: Operand) -> Expression:
    return x


@rule("OptionalHasElement")
def has_element(_site: Site, x: Operand | None = None) -> Expression:
    return Sizes((Size("False" if x is None else f"{x} is not None", True),), is_scalar=True)
