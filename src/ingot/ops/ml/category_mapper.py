"""CategoryMapper: strings to integers, or integers to strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.element_types import Label
from ingot.ops.ml.labels import label_array
from ingot.ops.ml.lookup import translated
from ingot.ops.typesets import INT64, STRING, types

T1: TypeAlias = Annotated[Array, types("T1", INT64 | STRING)]


@operator("CategoryMapper", since=1, domain="ai.onnx.ml")
def category_mapper(
    x: T1,
    /,
    *,
    cats_int64s: Sequence[int] | None = None,
    cats_strings: Sequence[str] | None = None,
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Label:
    """Each element replaced by its partner in the two lists, or by the default of the other kind."""
    ints, strings = _pairs(cats_int64s, cats_strings)
    if x.dtype == np.object_:
        return translated(x, strings, label_array([*ints, default_int64]))
    return translated(x, ints, label_array([*strings, default_string]))


@category_mapper.infer
def infer(
    x: Fact, /, *, cats_int64s: Sequence[int] | None, cats_strings: Sequence[str] | None, **_: object
) -> Inferred:
    _pairs(cats_int64s, cats_strings)
    if x.dtype is None:
        return None
    return TensorType(DType.INT64 if x.dtype is DType.STRING else DType.STRING, x.shape)


def _pairs(ints: Sequence[int] | None, strings: Sequence[str] | None) -> tuple[Sequence[int], Sequence[str]]:
    if len(ints or ()) != len(strings or ()):
        raise CheckError(f"there are {len(ints or ())} integers and {len(strings or ())} strings to map")
    return ints or (), strings or ()
