"""Sets of types that operators of this domain share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from ingot.dtypes import Array
from ingot.ops.typesets import FLOAT32, FLOAT64, INDICES, INT64, STRING, types

NUMBERS = INDICES | FLOAT32 | FLOAT64

Numbers: TypeAlias = Annotated[Array, types("T", NUMBERS)]
Float32: TypeAlias = Annotated[Array, types("", FLOAT32)]
Label: TypeAlias = Annotated[Array, types("T2", INT64 | STRING)]
