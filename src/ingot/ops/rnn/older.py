"""Recurrent networks in versions that put time first, and take fewer types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ingot.ir.value import Value
from ingot.ops.define import Operator
from ingot.ops.nn.through import again, through_float32

_LAYOUT_SINCE = 14
_STATES = (5, 6)
"""Which inputs are states to begin with."""


def downgraded(
    op: Any,
    operator: Operator,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Any],
    *,
    version: int,
    outputs: int,
) -> tuple[Any, ...]:
    """A network whose batch comes first as one whose time does; one of small floats in float32."""
    if version >= _LAYOUT_SINCE or not attributes["layout"]:
        return through_float32(op, operator, inputs, attributes, version=version, outputs=outputs)
    swapped = [
        op.Transpose(value, perm=[1, 0, 2]) if value is not None and index in (0, *_STATES) else value
        for index, value in enumerate(inputs)
    ]
    y, *last = again(op, operator, swapped, attributes, version=version, outputs=outputs)
    return op.Transpose(y, perm=[2, 0, 1, 3]), *(op.Transpose(state, perm=[1, 0, 2]) for state in last)
