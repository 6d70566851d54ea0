"""Quantised models: QDQ around products, and dynamic quantisation spelled out."""

from __future__ import annotations

import numpy as np

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def through(g: PatternGraph, x: str, scale: float = 0.05) -> str:
    """Quantise and dequantise an activation to uint8."""
    zero = g.constant(128, "uint8")
    return str(g("DequantizeLinear", g("QuantizeLinear", x, scale, zero), scale, zero))


def weight(g: PatternGraph, *shape: int, axis: int = 0) -> str:
    """Weights of int8, dequantised by channel."""
    count = shape[axis]
    scales, zeros = g.constant(np.full(count, 0.01, np.float32)), g.constant([0] * count, "int8")
    return str(g("DequantizeLinear", g.weight(*shape, dtype="int8"), scales, zeros, axis=axis))


def conv(g: PatternGraph, channels: int, size: int) -> str:
    x = through(g, g.input(1, channels, size, size))
    y = g("Conv", x, weight(g, channels, channels, 3, 3), g.weight(channels), pads=[1, 1, 1, 1])
    return through(g, g("Relu", y))


def residual(g: PatternGraph, channels: int, size: int) -> str:
    x = through(g, g.input(1, channels, size, size))
    y = through(g, g("Relu", g("Conv", x, weight(g, channels, channels, 1, 1), g.weight(channels))))
    deep = g("Conv", y, weight(g, channels, 1, 3, 3), g.weight(channels), pads=[1, 1, 1, 1], group=channels)
    return through(g, g("Add", through(g, deep), x))


def dense(g: PatternGraph, channels: int, size: int) -> str:
    x = through(g, g.input(size, 4 * channels))
    return through(g, g("Add", g("MatMul", x, weight(g, 4 * channels, 4 * channels, axis=1)), g.weight(4 * channels)))


def dynamic(g: PatternGraph, channels: int, size: int) -> str:
    """onnxruntime's dynamic quantiser: DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Add."""
    width = 4 * channels
    quantised, scale, zero = g("DynamicQuantizeLinear", g.input(size, width), outputs=3)
    product = g("MatMulInteger", quantised, g.weight(width, width, dtype="int8"), zero, g.constant(0, "int8"))
    scaled = g("Mul", g("Cast", product, to=1), g("Mul", scale, 0.01))
    return str(g("Add", scaled, g.weight(width)))


def four_bits(g: PatternGraph, channels: int, size: int) -> str:
    """Weights of 4 bits in blocks, as onnxruntime's generators have them."""
    width = 32 * max(1, channels // 8)
    x = g.input(1, size, width)
    random = np.random.default_rng(0)
    packed = g.constant(random.integers(0, 256, (width, width // 32, 16)), "uint8")
    scales = g.constant(random.random(width * width // 32, np.float32) / 100)
    return str(g("MatMulNBits", x, packed, scales, K=width, N=width, bits=4, block_size=32, domain="com.microsoft"))


_USUAL = {"channels": (4, 32, 64), "size": (4, 28, 56)}
PATTERNS = {
    "quantised: QDQ around Conv": pattern(conv, **_USUAL),
    "quantised: QDQ around a separable block": pattern(residual, **_USUAL),
    "quantised: QDQ around MatMul": pattern(dense, **_USUAL),
    "quantised: dynamic MatMul": pattern(dynamic, **_USUAL),
    "quantised: weights of 4 bits": pattern(four_bits, **_USUAL),
}
