"""Strings one after another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import as_var


def concatenated(parts: Sequence[Any], separator: str = "") -> Var:
    """Texts joined element by element, which broadcast."""
    between = np.array(separator, object)

    def join(x: Any, y: Any) -> Any:
        return op.StringConcat(op.StringConcat(x, between) if separator else x, y)

    return as_var(reduce(join, parts))
