"""MelWeightMatrix: triangles that gather the frequencies of a spectrum into bands equally wide to the ear."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.older import constant_of
from ingot.ops.signal.scalars import converted, half, integer, result_type, size_of
from ingot.ops.typesets import FLOATS, INDICES, NUMERIC, types

T1: TypeAlias = Annotated[Array, types("T1", INDICES)]
T2: TypeAlias = Annotated[Array, types("T2", FLOATS)]
T3: TypeAlias = Annotated[Array, types("T3", NUMERIC)]


@operator("MelWeightMatrix", since=17)
def mel_weight_matrix(
    num_mel_bins: T1,
    dft_length: T1,
    sample_rate: T1,
    lower_edge_hertz: T2,
    upper_edge_hertz: T2,
    /,
    *,
    output_datatype: int = 1,
) -> T3:
    """For each frequency of a onesided spectrum, its weight in each band: triangles of height 1 between `lower` and
    `upper`, whose corners are equally far from each other on the mel scale, `2595 log10(1 + f/700)`.
    """
    dtype = result_type(output_datatype)
    bands = integer(num_mel_bins, "num_mel_bins", least=0)
    length = integer(dft_length, "dft_length", least=1)
    rate = integer(sample_rate, "sample_rate", least=1)
    frequencies = length // 2 + 1
    refuse_oversized((frequencies, bands), 8)
    corners = _corners(bands, length, rate, _edge(lower_edge_hertz, "lower"), _edge(upper_edge_hertz, "upper"))
    left, centre, right = corners[:-2], corners[1:-1], corners[2:]
    if bands and max(centre[-1], right[-1] - 1) >= frequencies:
        raise InputError(f"the bands reach frequency {right[-1]} of a spectrum of {frequencies}")
    at = np.arange(frequencies)[:, np.newaxis]
    rising = (at - left) / np.maximum(centre - left, 1)
    falling = (right - at) / np.maximum(right - centre, 1)
    weights = np.where((at >= left) & (at < centre), rising, 0.0)
    weights = np.where((at > centre) & (at < right), falling, weights)
    return converted(np.where(at == centre, 1.0, weights), dtype)


@mel_weight_matrix.infer
def infer(
    num_mel_bins: Fact,
    dft_length: Fact,
    sample_rate: Fact,
    lower_edge_hertz: Fact,
    upper_edge_hertz: Fact,
    /,
    *,
    output_datatype: int,
) -> Inferred:
    rows = half(size_of(dft_length, "dft_length", least=1))
    return TensorType(result_type(output_datatype), (rows, size_of(num_mel_bins, "num_mel_bins", least=0)))


@mel_weight_matrix.downgrade
def downgrade(op: Any, *inputs: Value, output_datatype: int) -> Any:
    numbers = [constant_of(value) for value in inputs]
    if any(number is None for number in numbers):
        names = ", ".join(f"'{value.name}'" for value, number in zip(inputs, numbers, strict=True) if number is None)
        raise UnsupportedError(f"the matrix came with version 17, and can only be a constant: {names} would have to be")
    return op.Constant(value=Tensor(mel_weight_matrix.evaluate(*numbers, output_datatype=output_datatype)))


def _edge(x: Array, name: str) -> float:
    if x.size != 1:
        raise ShapeError(f"{name}_edge_hertz has {x.size} elements, expected one")
    value = float(x.reshape(-1)[0])
    if not 0 <= value < np.inf:
        raise InputError(f"{name}_edge_hertz is {value}, and no frequency")
    return value


def _corners(bands: int, length: int, rate: int, lower: float, upper: float) -> Array:
    """The frequencies, as indices of the spectrum, where triangles begin, peak and end."""
    if lower > upper:
        raise InputError(f"lower_edge_hertz is {lower}, above upper_edge_hertz, {upper}")
    lowest, highest = (2595 * np.log10(1 + edge / 700) for edge in (lower, upper))
    mels = np.arange(bands + 2) * ((highest - lowest) / (bands + 2)) + lowest
    hertz = 700 * (np.power(10, mels / 2595) - 1)
    return np.asarray((length + 1) * hertz // rate).astype(np.int64)
