"""StringConcat: texts joined, elementwise with broadcasting."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import broadcasting
from ingot.ops.typesets import STRING, types

T: TypeAlias = Annotated[Array, types("T", STRING)]


@operator("StringConcat", since=20)
def string_concat(x: T, y: T, /) -> T:
    """`x` followed by `y`."""
    try:
        return np.asarray(np.add(x, y), np.object_)
    except ValueError:
        raise ShapeError(f"shapes {list(x.shape)} and {list(y.shape)} do not broadcast") from None


@string_concat.infer
def infer(x: Fact, y: Fact, /) -> Inferred:
    return broadcasting(x, y)
