"""Fourier transforms and windows."""

from __future__ import annotations

from collections.abc import Callable

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, Rule, rule
from ingot.convert.to_torch.say import integer
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType


@rule("DFT")
def dft(
    site: Site, x: Operand, length: Operand | None = None, axis: Operand | None = None, *, inverse: int, onesided: int
) -> Expression:
    along = "-2" if axis is None else integer(axis)
    options = "" if length is None else f", length={integer(length)}"
    options += ", inverse=True" * bool(inverse) + ", onesided=True" * bool(onesided)
    return f"{site.use('dft')}({x}, {along}{options})"


@rule("STFT")
def stft(
    site: Site,
    signal: Operand,
    frame_step: Operand,
    window: Operand | None = None,
    frame_length: Operand | None = None,
    *,
    onesided: int,
) -> Expression:
    length = "None" if frame_length is None else integer(frame_length)
    return f"{site.use('stft')}({signal}, {integer(frame_step)}, {window}, {length}, onesided={bool(onesided)})"


def _window(name: str, options: str = "") -> Callable[..., Expression]:
    def write(site: Site, size: Operand, *, output_datatype: int, periodic: int) -> Expression:
        arguments = f"{integer(size)}, periodic={bool(periodic)}{options}, dtype=torch.float64, device={site.device}"
        return f"torch.{name}({arguments}).to({site.torch_dtype()})"

    return write


WINDOWS: list[Rule[..., Expression]] = [
    rule("HannWindow")(_window("hann_window")),
    rule("HammingWindow")(_window("hamming_window", ", alpha=25 / 46, beta=21 / 46")),
    rule("BlackmanWindow")(_window("blackman_window")),
]


@rule("MelWeightMatrix")
def mel_weight_matrix(
    site: Site, bands: Operand, length: Operand, rate: Operand, low: Operand, high: Operand, *, output_datatype: int
) -> Expression:
    edges = [one.literal or f"float({one})" for one in (low, high)]
    counts = [integer(one) for one in (bands, length, rate)]
    weights = f"{site.use('mel_weights')}({', '.join([*counts, *edges])}, {site.device})"
    return f"{weights}.to({site.torch_dtype()})" if DType(output_datatype) is not DType.FLOAT64 else weights
