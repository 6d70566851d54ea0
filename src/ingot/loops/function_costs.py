"""The cost of elementwise functions, in additions: the one table that fusing, scheduling and sharing use.

The numbers were measured by `python -m benchmarks.function_costs`, for float32 in vectors of 64 bytes on a Zen 4
processor, where an addition or multiplication of a vector takes about a cycle. They are rounded, and one at least.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.loops.ir import Apply, Scalar
from ingot.loops.walk import children, is_scalar

COSTS = {
    "divide": 3, "divide_by_normal": 3, "round_within": 3, "round_to_byte": 2,
    "sqrt": 7, "exp": 9, "exp_nonpositive": 9, "expm1": 10, "sin": 10, "cos": 10, "cosh": 10, "asin": 12,
    "sigmoid": 12,
    "erf": 14, "acos": 14, "atan": 15, "log": 16, "tan": 16, "sinh": 16, "tanh": 17, "log1p": 17, "remainder": 18,
    "acosh": 26, "atanh": 27, "asinh": 35, "power": 83,
}  # fmt: skip
"""Functions that take more than one operation."""

_STORE_AND_LOAD = 8
"""The cost of storing an element and loading it again, where it does not stay in the L1 cache."""

COSTLY = frozenset(name for name, cost in COSTS.items() if cost > _STORE_AND_LOAD)
"""Functions that take longer than a store and a load."""


def operations_in(expressions: Sequence[Scalar]) -> int:
    """The operations of expressions, of parts that they share once; those that only compute an index are left out."""
    total, seen = 0, set[int]()
    pending = list(expressions)
    while pending:
        value = pending.pop()
        if id(value) not in seen:
            seen.add(id(value))
            total += COSTS.get(value.function, 1) if isinstance(value, Apply) else 0
            pending += filter(is_scalar, children(value))
    return total
