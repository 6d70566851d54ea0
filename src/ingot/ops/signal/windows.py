"""HannWindow, HammingWindow and BlackmanWindow: sums of cosines that fade a stretch of samples in and out."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.signal.scalars import converted, integer, result_type, size_of
from ingot.ops.typesets import INDICES, NUMERIC, types

T1: TypeAlias = Annotated[Array, types("T1", INDICES)]
T2: TypeAlias = Annotated[Array, types("T2", NUMERIC)]


@operator("HannWindow", since=17)
def hann_window(size: T1, /, *, output_datatype: int = 1, periodic: int = 1) -> T2:
    """`0.5 - 0.5 cos(2πn/N)` for `n` below `size`; `N` is `size`, or one less for a symmetric window."""
    return _window(size, output_datatype, periodic, (0.5, 0.5, 0.0))


@operator("HammingWindow", since=17)
def hamming_window(size: T1, /, *, output_datatype: int = 1, periodic: int = 1) -> T2:
    """`25/46 - 21/46 cos(2πn/N)` for `n` below `size`; `N` is `size`, or one less for a symmetric window."""
    return _window(size, output_datatype, periodic, (25 / 46, 21 / 46, 0.0))


@operator("BlackmanWindow", since=17)
def blackman_window(size: T1, /, *, output_datatype: int = 1, periodic: int = 1) -> T2:
    """`0.42 - 0.5 cos(2πn/N) + 0.08 cos(4πn/N)` for `n` below `size`; `N` is `size`, or one less if symmetric."""
    return _window(size, output_datatype, periodic, (0.42, 0.5, 0.08))


@hann_window.infer
@hamming_window.infer
@blackman_window.infer
def infer(size: Fact, /, *, output_datatype: int, periodic: int) -> Inferred:
    return TensorType(result_type(output_datatype), (size_of(size, "size", least=0),))


def _window(size: Array, output_datatype: int, periodic: int, terms: tuple[float, float, float]) -> Array:
    """The window computed in float64; a symmetric one of a single sample is 1."""
    dtype = result_type(output_datatype)
    many = integer(size, "size", least=0)
    refuse_oversized((many,), 8)
    period = many if periodic else many - 1
    if period == 0:
        return np.ones(many, dtype.numpy)
    angle = np.arange(many) * (2 * np.pi / period)
    return converted(terms[0] - terms[1] * np.cos(angle) + terms[2] * np.cos(2 * angle), dtype)
