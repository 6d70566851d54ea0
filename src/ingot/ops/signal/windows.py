"""HannWindow, HammingWindow and BlackmanWindow: sums of cosines that fade a stretch of samples in and out."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.older import constant_of
from ingot.ops.shapes import is_natural
from ingot.ops.signal.matrices import size_in
from ingot.ops.signal.scalars import converted, integer, result_type, size_of
from ingot.ops.typesets import INDICES, NUMERIC, types
from ingot.prim.functions import ELEMENTS, FLOATING

T1: TypeAlias = Annotated[Array, types("T1", INDICES)]
T2: TypeAlias = Annotated[Array, types("T2", NUMERIC)]

_Terms: TypeAlias = tuple[float, float, float]
_HANN = (0.5, 0.5, 0.0)
_HAMMING = (25 / 46, 21 / 46, 0.0)
_BLACKMAN = (0.42, 0.5, 0.08)


@operator("HannWindow", since=17)
def hann_window(size: T1, /, *, output_datatype: int = 1, periodic: int = 1) -> T2:
    """`0.5 - 0.5 cos(2πn/N)` for `n` below `size`; `N` is `size`, or one less for a symmetric window."""
    return _window(size, output_datatype, periodic, _HANN)


@operator("HammingWindow", since=17)
def hamming_window(size: T1, /, *, output_datatype: int = 1, periodic: int = 1) -> T2:
    """`25/46 - 21/46 cos(2πn/N)` for `n` below `size`; `N` is `size`, or one less for a symmetric window."""
    return _window(size, output_datatype, periodic, _HAMMING)


@operator("BlackmanWindow", since=17)
def blackman_window(size: T1, /, *, output_datatype: int = 1, periodic: int = 1) -> T2:
    """`0.42 - 0.5 cos(2πn/N) + 0.08 cos(4πn/N)` for `n` below `size`; `N` is `size`, or one less if symmetric."""
    return _window(size, output_datatype, periodic, _BLACKMAN)


@hann_window.infer
@hamming_window.infer
@blackman_window.infer
def infer(size: Fact, /, *, output_datatype: int, periodic: int) -> Inferred:
    return TensorType(result_type(output_datatype), (size_of(size, "size", least=0),))


hann_window.sized_by("size")
hamming_window.sized_by("size")
blackman_window.sized_by("size")


@hann_window.lower
def lower_hann(size: prim.Tensor, /, *, output_datatype: int, periodic: int, facts: tuple[Fact, ...]) -> prim.Tensor:
    return _in_primitives(facts[0], output_datatype, periodic, _HANN)


@hamming_window.lower
def lower_hamming(size: prim.Tensor, /, *, output_datatype: int, periodic: int, facts: tuple[Fact, ...]) -> prim.Tensor:
    return _in_primitives(facts[0], output_datatype, periodic, _HAMMING)


@blackman_window.lower
def lower_blackman(
    size: prim.Tensor, /, *, output_datatype: int, periodic: int, facts: tuple[Fact, ...]
) -> prim.Tensor:
    return _in_primitives(facts[0], output_datatype, periodic, _BLACKMAN)


def _in_primitives(size: Fact, output_datatype: int, periodic: int, terms: _Terms) -> prim.Tensor:
    """A constant where the size is known, else the formula in float64."""
    many, dtype = size_of(size, "size", least=0), result_type(output_datatype)
    if isinstance(many, int) and dtype in ELEMENTS:
        refuse_oversized((many,), 8)
        return prim.constant(_window(np.asarray(many), output_datatype, periodic, terms))
    if many is None or not is_natural(many) or dtype not in FLOATING:
        raise prim.Refused("a statically unknown size" if many is None else f"a window of {dtype}")
    period = prim.cast(prim.size(many if periodic else many - 1), DType.FLOAT64)
    angle = prim.cast(prim.iota((many,), 0), DType.FLOAT64) * (2 * np.pi / period)
    window = terms[0] - prim.apply("cos", angle) * terms[1]
    if terms[2]:
        window = window + prim.apply("cos", angle * 2.0) * terms[2]
    return prim.cast(prim.where(prim.apply("less", period, 1), 1.0, window), dtype)


def _window(size: Array, output_datatype: int, periodic: int, terms: _Terms) -> Array:
    """The window computed in float64; a symmetric one of a single sample is 1."""
    dtype = result_type(output_datatype)
    many = integer(size, "size", least=0)
    refuse_oversized((many,), 8)
    period = many if periodic else many - 1
    if period == 0:
        return np.ones(many, dtype.numpy)
    angle = np.arange(many) * (2 * np.pi / period)
    return converted(terms[0] - terms[1] * np.cos(angle) + terms[2] * np.cos(2 * angle), dtype)


@hann_window.downgrade
def downgrade_hann(op: Any, size: Value, /, *, output_datatype: int, periodic: int) -> Any:
    return _older(op, size, output_datatype, periodic, _HANN)


@hamming_window.downgrade
def downgrade_hamming(op: Any, size: Value, /, *, output_datatype: int, periodic: int) -> Any:
    return _older(op, size, output_datatype, periodic, _HAMMING)


@blackman_window.downgrade
def downgrade_blackman(op: Any, size: Value, /, *, output_datatype: int, periodic: int) -> Any:
    return _older(op, size, output_datatype, periodic, _BLACKMAN)


def _older(op: Any, size: Value, output_datatype: int, periodic: int, terms: _Terms) -> Any:
    """The window as a constant where its size is known, else its formula in float64."""
    known = constant_of(size)
    if known is not None:
        return op.Constant(value=Tensor(_window(known, output_datatype, periodic, terms)))
    wide = int(DType.FLOAT64)
    zero, one, two = np.asarray(0), np.asarray(1), np.float64(2)
    count = size_in(op, size).value
    period = count if periodic else op.Sub(count, one)
    turn = op.Div(np.float64(2 * np.pi), op.Cast(op.Max(period, one), to=wide))
    angle = op.Mul(op.Cast(op.Range(zero, count, one), to=wide), turn)
    window = op.Sub(np.float64(terms[0]), op.Mul(np.float64(terms[1]), op.Cos(angle)))
    if terms[2]:
        window = op.Add(window, op.Mul(np.float64(terms[2]), op.Cos(op.Mul(angle, two))))
    return op.Cast(op.Where(op.Less(period, one), np.float64(1), window), to=output_datatype)
