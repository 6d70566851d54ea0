"""MelWeightMatrix: triangles that gather the frequencies of a spectrum into bands equally wide to the ear."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.older import constant_of
from ingot.ops.signal.scalars import converted, half, integer, result_type, size_of
from ingot.ops.tensor.moved import sizes_of
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


@mel_weight_matrix.lower
def lower(
    num_mel_bins: prim.Tensor,
    dft_length: prim.Tensor,
    sample_rate: prim.Tensor,
    lower_edge_hertz: prim.Tensor,
    upper_edge_hertz: prim.Tensor,
    /,
    *,
    output_datatype: int,
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    """Weights by comparisons with the corners; a run reports numbers that make no sense."""
    numbers = [_number(x) for x in (num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz)]
    length, rate, lowest, highest = numbers[1:]
    dtype = result_type(output_datatype)
    frequencies, bands = sizes_of(inferred[0])
    if dtype.is_integer:
        raise prim.Refused(f"weights of {dtype}")
    first, last = (prim.apply("log", edge / 700.0 + 1.0) * (2595 / np.log(10)) for edge in (lowest, highest))
    many = (bands + 2,)
    step = (last - first) / prim.cast(prim.size(bands + 2), DType.FLOAT64)
    mels = prim.cast(prim.iota(many, 0), DType.FLOAT64) * step + first
    hertz = prim.apply("expm1", mels * (np.log(10) / 2595)) * 700.0
    corners = prim.apply("floor", (length + 1.0) * hertz * _REACHED / rate)
    reach = prim.cast(prim.size(frequencies), DType.FLOAT64)
    wrong = [
        prim.apply("less", length, 1.0),
        prim.apply("less", rate, 1.0),
        prim.apply("not", prim.apply("less_equal", 0.0, lowest)),
        prim.apply("not", prim.apply("less_equal", lowest, highest)),
        prim.apply("not", prim.apply("less", highest, np.inf)),
    ]
    right = [prim.apply("not", each) for each in wrong]
    for each in right[1:]:
        right[0] = prim.apply("and", right[0], each)
    ends = [_band(corners, 1, bands), _band(corners, 2, bands) - 1.0]
    is_right = prim.apply("and", prim.apply("less", prim.apply("maximum", *ends), reach), right[0])
    checked = prim.where(is_right, prim.iota((bands,), 0), -1)
    left = prim.gather(_band(corners, 0, bands), [checked], (bands,))
    centre, after = _band(corners, 1, bands), _band(corners, 2, bands)
    inside = DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    heights = [1.0 / prim.apply("maximum", width, 1.0) for width in (centre - left, after - centre)]
    numbers = [prim.cast(prim.unsqueeze(each, [0]), inside) for each in (*heights, left, centre, after)]
    table = prim.concat(numbers, 0)  # stored, for all frequencies
    rise, fall, left, centre, after = (prim.slice_(table, [row, 0], [1, bands]) for row in range(5))
    here = prim.cast(prim.iota((frequencies, 1), 0), inside)
    lower_side = prim.apply("minimum", (here - left) * rise, (after - here) * fall)
    weights = prim.where(prim.apply("equal", here, centre), 1.0, prim.apply("maximum", lower_side, 0.0))
    return prim.cast(weights, dtype)


mel_weight_matrix.sized_by("num_mel_bins", "dft_length")


def _number(x: prim.Tensor) -> prim.Tensor:
    """One number in float64, without axes."""
    return prim.cast(prim.reshape(x, ()), DType.FLOAT64)


def _band(corners: prim.Tensor, place: int, bands: Dim) -> prim.Tensor:
    return prim.slice_(corners, [place], [bands], in_range=True)


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
    return np.asarray((length + 1) * hertz * _REACHED // rate).astype(np.int64)


_REACHED = 1 + 2.0**-40
"""A corner that rounding alone keeps from an index of the spectrum is at that index."""
