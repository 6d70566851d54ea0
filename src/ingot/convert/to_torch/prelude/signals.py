"""Signals."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def as_complex(x: Tensor) -> Tensor:
    """Numbers whose last axis holds real parts, or real and imaginary parts."""
    wide = x if x.dtype == torch.float64 else x.to(torch.float32)
    return wide[..., 0] if x.shape[-1] == 1 else torch.complex(wide[..., 0], wide[..., 1])


def dft(x: Tensor, axis: int, length: int | None = None, inverse: bool = False, onesided: bool = False) -> Tensor:
    """The spectrum of a signal along an axis, or the signal of a spectrum."""
    at = axis % x.ndim
    signal = as_complex(x)
    if inverse and onesided:
        length = length or 2 * (x.shape[at] - 1)
        return torch.fft.irfft(signal, length, dim=at).unsqueeze(-1).to(x.dtype)
    transform = torch.fft.rfft if onesided else torch.fft.ifft if inverse else torch.fft.fft
    return torch.view_as_real(transform(signal, length, dim=at)).to(x.dtype)


def stft(signal: Tensor, step: int, window: Tensor | None, length: int | None, onesided: bool = True) -> Tensor:
    """The spectra of frames of a signal."""
    length = length or (signal.shape[1] if window is None else window.numel())
    frames = as_complex(signal).unfold(1, length, step)
    frames = frames if window is None else frames * window.to(signal.dtype)
    spectra = torch.fft.rfft(frames) if onesided else torch.fft.fft(frames)
    return torch.view_as_real(spectra).to(signal.dtype)


def mel_weights(bands: int, length: int, rate: int, low: float, high: float, device: torch.device) -> Tensor:
    """For each frequency of a onesided spectrum its weight in each band: triangles of equal width on the mel scale."""
    mels = [2595 * math.log10(1 + edge / 700) for edge in (low, high)]
    corners = torch.arange(bands + 2, dtype=torch.float64, device=device) * (mels[1] - mels[0]) / (bands + 2) + mels[0]
    corners = 700 * (10 ** (corners / 2595) - 1)
    corners = torch.floor((length + 1) * corners / rate)
    left, centre, right = corners[:-2], corners[1:-1], corners[2:]
    at = torch.arange(length // 2 + 1, dtype=torch.float64, device=device).unsqueeze(-1)
    rising = (at - left) / (centre - left).clamp(min=1)
    falling = (right - at) / (right - centre).clamp(min=1)
    zero = torch.zeros_like(rising)
    weights = torch.where((at >= left) & (at < centre), rising, zero)
    weights = torch.where((at > centre) & (at < right), falling, weights)
    return torch.where(at == centre, torch.ones_like(weights), weights)
