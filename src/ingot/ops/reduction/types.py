"""The type sets of reductions: they all take wide numbers, and once named their axes in an attribute."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from ingot.dtypes import Array
from ingot.ops.typesets import INT64, WIDE, WIDE_3, types

T: TypeAlias = Annotated[Array, types("T", WIDE)]
Axes: TypeAlias = Annotated[Array, types("", INT64)]
T13: TypeAlias = Annotated[Array, types("T", {1: WIDE_3, 13: WIDE})]
T11: TypeAlias = Annotated[Array, types("T", WIDE_3)]
