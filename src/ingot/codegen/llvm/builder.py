"""A builder of LLVM's language that leaves out what is known: integers are computed, and nothing twice in a block.

LLVM would find it all, but to write it, read it and forget it again takes longer than to leave it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir


class Builder(ir.IRBuilder):  # type: ignore[misc]
    """An IRBuilder; sums and products of single integers, and addresses, are made once in a block, or not at all."""

    def __init__(self, block: ir.Block) -> None:
        super().__init__(block)
        self._made: dict[tuple[Any, ...], ir.Value] = {}

    def add(self, lhs: ir.Value, rhs: ir.Value, **named: Any) -> ir.Value:
        x, y = _number(lhs), _number(rhs)
        if x is not None and y is not None:
            return lhs.type(x + y)
        if x == 0 or y == 0:
            return rhs if x == 0 else lhs
        return self._once(("add", lhs, rhs), lambda: super(Builder, self).add(lhs, rhs, **named))

    def sub(self, lhs: ir.Value, rhs: ir.Value, **named: Any) -> ir.Value:
        x, y = _number(lhs), _number(rhs)
        if x is not None and y is not None:
            return lhs.type(x - y)
        if y == 0:
            return lhs
        return self._once(("sub", lhs, rhs), lambda: super(Builder, self).sub(lhs, rhs, **named))

    def mul(self, lhs: ir.Value, rhs: ir.Value, **named: Any) -> ir.Value:
        x, y = _number(lhs), _number(rhs)
        if x is not None and y is not None:
            return lhs.type(x * y)
        if x == 0 or y == 0:
            return lhs.type(0)
        if x == 1 or y == 1:
            return rhs if x == 1 else lhs
        return self._once(("mul", lhs, rhs), lambda: super(Builder, self).mul(lhs, rhs, **named))

    def gep(self, ptr: ir.Value, indices: Sequence[ir.Value], **named: Any) -> ir.Value:
        if len(indices) == 1 and _number(indices[0]) == 0:
            return ptr
        if any(isinstance(each.type, ir.VectorType) for each in indices):
            return super().gep(ptr, indices, **named)
        key = ("gep", ptr, *indices, str(named.get("source_etype")))
        return self._once(key, lambda: super(Builder, self).gep(ptr, indices, **named))

    def _once(self, key: tuple[Any, ...], make: Callable[[], ir.Value]) -> ir.Value:
        """What was made for a key in this block, or is made now."""
        here = (self.block, *(each if isinstance(each, str | ir.Constant) else id(each) for each in key))
        found = self._made.get(here)
        if found is None:
            found = self._made[here] = make()
        return found


def _number(value: ir.Value) -> int | None:
    """A single integer that is known, if it is far from what does not fit."""
    if not isinstance(value, ir.Constant) or not isinstance(value.type, ir.IntType):
        return None
    known = value.constant
    return known if type(known) is int and abs(known) < 1 << (value.type.width - 1) // 2 else None
