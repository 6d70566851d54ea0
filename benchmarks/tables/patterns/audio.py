"""Front ends and heads of speech models: spectra, mel filters, CTC, streaming caches."""

from __future__ import annotations

import numpy as np

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def mel(g: PatternGraph, power: str, bins: int) -> str:
    """Mel filters and a logarithm, of `[1, frames, bins]`."""
    filters = g.constant(np.abs(np.random.default_rng(0).random((bins, 80), np.float32)))
    return str(g("Log", g("Clip", g("MatMul", power, filters), 1e-10)))


def by_stft(g: PatternGraph, length: int, window: int) -> str:
    x = g.input(1, length, 1)
    shape = g.constant(np.hanning(window).astype(np.float32))
    frames = g("STFT", x, window // 4, shape, window)
    power = g("ReduceSum", g("Mul", frames, frames), [-1], keepdims=0)
    return mel(g, power, window // 2 + 1)


def by_conv(g: PatternGraph, length: int, window: int) -> str:
    """A spectrum by a convolution with sines and cosines, as torch models for deployment have it."""
    bins = window // 2 + 1
    x = g("Unsqueeze", g.input(1, length), [1])
    padded = g("Pad", x, [0, 0, window // 2, 0, 0, window // 2], mode="reflect")
    turns = 2j * np.pi * np.outer(np.arange(bins), np.arange(window)) / window
    basis = np.exp(-turns) * np.hanning(window)
    both = np.concatenate([basis.real, basis.imag])[:, None]
    spectrum = g("Conv", padded, g.constant(both), strides=[window // 4])
    real, imaginary = g("Split", spectrum, [bins, bins], axis=1, outputs=2)
    power = g("Sqrt", g("Add", g("Mul", real, real), g("Mul", imaginary, imaginary)))
    return mel(g, g("Transpose", power, perm=[0, 2, 1]), bins)


def by_dft(g: PatternGraph, length: int, window: int) -> str:
    """Frames gathered by constant indices, and DFT."""
    step, count = window // 4, (length - window) // (window // 4) + 1
    x = g.input(length)
    places = g.constant(np.arange(count)[:, None] * step + np.arange(window), "int64")
    frames = g("Mul", g("Gather", x, places), g.constant(np.hanning(window).astype(np.float32)))
    spectrum = g("DFT", g("Unsqueeze", frames, [0, 3]), None, 2, onesided=1)
    power = g("ReduceSum", g("Mul", spectrum, spectrum), [-1], keepdims=0)
    return mel(g, power, window // 2 + 1)


def ctc_head(g: PatternGraph, frames: int, width: int) -> tuple[str, str]:
    """A dense layer, log probabilities, and the best label of each frame."""
    x = g.input(1, frames, width)
    logits = g("LogSoftmax", g("Add", g("MatMul", x, g.weight(width, 32)), g.weight(32)), axis=-1)
    return logits, g("ArgMax", logits, axis=-1, keepdims=0)


def ocr_head(g: PatternGraph, frames: int, width: int) -> tuple[str, str]:
    """OCR: a map of height 1 to rows, many characters, the largest probability and its place."""
    x = g("Transpose", g("Squeeze", g.input(1, width, 1, frames), [2]), perm=[0, 2, 1])
    soft = g("Softmax", g("Add", g("MatMul", x, g.weight(width, 2000)), g.weight(2000)), axis=2)
    return g("ReduceMax", soft, [2], keepdims=0), g("ArgMax", soft, axis=2, keepdims=0)


def subsampling(g: PatternGraph, frames: int, width: int) -> str:
    """Conformer: two convolutions of stride 2 over frames and bins, then rows and a dense layer."""
    x = g("Unsqueeze", g.input(1, 8 * frames, 80), [1])
    for inner in (1, 16):
        x = g("Relu", g("Conv", x, g.weight(16, inner, 3, 3), g.weight(16), strides=[2, 2]))
    rows = g("Reshape", g("Transpose", x, perm=[0, 2, 1, 3]), [1, -1, 16 * 19])
    return str(g("Add", g("MatMul", rows, g.weight(16 * 19, width)), g.weight(width)))


def conformer_conv(g: PatternGraph, frames: int, width: int) -> str:
    """Conformer's convolution module: GLU, a depthwise kernel of 15, batch norm, SiLU."""
    x = g("Transpose", g.input(1, frames, width), perm=[0, 2, 1])
    left, right = g("Split", g("Conv", x, g.weight(2 * width, width, 1)), [width, width], axis=1, outputs=2)
    y = g("Mul", left, g("Sigmoid", right))
    y = g("Conv", y, g.weight(width, 1, 15), pads=[7, 7], group=width)
    ones = [g.constant([1.0] * width) for _ in range(2)]
    y = g("BatchNormalization", y, ones[0], g.weight(width), g.weight(width), ones[1])
    y = g("Mul", y, g("Sigmoid", y))
    return str(g("Transpose", g("Conv", y, g.weight(width, width, 1)), perm=[0, 2, 1]))


def streaming(g: PatternGraph, frames: int, width: int) -> tuple[str, str]:
    """A causal convolution with a cache: Concat, Conv, Slice of the new cache."""
    x, cache = g.input(1, width, frames), g.input(1, width, 4)
    both = g("Concat", cache, x, axis=2)
    y = g("Relu", g("Conv", both, g.weight(width, width, 3), g.weight(width), dilations=[2]))
    return y, g("Slice", both, [-4], [1 << 40], [2])


_SIGNAL = {"length": (64, 8000, 64000), "window": (16, 400, 512)}
_FRAMES = {"frames": (3, 50, 400), "width": (8, 96, 256)}
PATTERNS = {
    "audio: mel by STFT": pattern(by_stft, **_SIGNAL),
    "audio: mel by Conv": pattern(by_conv, **_SIGNAL),
    "audio: mel by DFT": pattern(by_dft, **_SIGNAL),
    "audio: CTC head": pattern(ctc_head, **_FRAMES),
    "audio: OCR head": pattern(ocr_head, **_FRAMES),
    "audio: subsampling": pattern(subsampling, **_FRAMES),
    "audio: Conformer convolution": pattern(conformer_conv, **_FRAMES),
    "audio: streaming convolution": pattern(streaming, **_FRAMES),
}
