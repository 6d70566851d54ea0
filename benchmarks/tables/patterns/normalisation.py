"""Layer norms and their kin, decomposed as exporters do."""

from __future__ import annotations

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def by_pow(g: PatternGraph, length: int, width: int) -> str:
    """PyTorch before opset 17: Pow by 2, Sqrt, Div."""
    x = g.input(1, length, width)
    centred = g("Sub", x, g("ReduceMean", x, [-1]))
    variance = g("ReduceMean", g("Pow", centred, 2.0), [-1])
    unit = g("Div", centred, g("Sqrt", g("Add", variance, 1e-5)))
    return str(g("Add", g("Mul", unit, g.weight(width)), g.weight(width)))


def by_moments(g: PatternGraph, length: int, width: int) -> str:
    """tf2onnx: the mean of squared differences, a reciprocal root, and the mean folded into the bias."""
    x = g.input(1, length, width)
    mean = g("ReduceMean", x, [-1])
    difference = g("Sub", x, mean)
    variance = g("ReduceMean", g("Mul", difference, difference), [-1])
    factor = g("Mul", g("Reciprocal", g("Sqrt", g("Add", variance, 1e-3))), g.weight(width))
    return str(g("Add", g("Mul", x, factor), g("Sub", g.weight(width), g("Mul", mean, factor))))


def by_square_mean(g: PatternGraph, length: int, width: int) -> str:
    """The mean of squares less the square of the mean."""
    x = g.input(1, length, width)
    mean = g("ReduceMean", x, [-1])
    variance = g("Sub", g("ReduceMean", g("Mul", x, x), [-1]), g("Mul", mean, mean))
    unit = g("Mul", g("Sub", x, mean), g("Reciprocal", g("Sqrt", g("Add", variance, 1e-5))))
    return str(g("Add", g("Mul", unit, g.weight(width)), g.weight(width)))


def of_channels(g: PatternGraph, channels: int, size: int) -> str:
    """ConvNeXt: the norm over channels of an image of channels first."""
    x = g.input(1, channels, size, size)
    centred = g("Sub", x, g("ReduceMean", x, [1]))
    variance = g("ReduceMean", g("Mul", centred, centred), [1])
    unit = g("Div", centred, g("Sqrt", g("Add", variance, 1e-6)))
    return str(g("Add", g("Mul", unit, g.weight(channels, 1, 1)), g.weight(channels, 1, 1)))


def with_residual(g: PatternGraph, length: int, width: int) -> tuple[str, str]:
    """The operator, of a sum that is read again."""
    total = g("Add", g.input(1, length, width), g.input(1, length, width))
    return g("LayerNormalization", total, g.weight(width), g.weight(width)), total


def root_mean_square(g: PatternGraph, length: int, width: int) -> str:
    """Llama's RMSNorm."""
    x = g.input(1, length, width)
    mean = g("ReduceMean", g("Pow", x, 2.0), [-1])
    unit = g("Mul", x, g("Reciprocal", g("Sqrt", g("Add", mean, 1e-6))))
    return str(g("Mul", g.weight(width), unit))


def root_mean_square_half(g: PatternGraph, length: int, width: int) -> str:
    """The same of float16, computed in float32 between two casts."""
    x = g("Cast", g.input(1, length, width, dtype="float16"), to=1)
    mean = g("ReduceMean", g("Mul", x, x), [-1])
    unit = g("Div", x, g("Sqrt", g("Add", mean, 1e-6)))
    return str(g("Cast", g("Mul", unit, g.weight(width)), to=10))


def group_norm(g: PatternGraph, channels: int, size: int) -> str:
    """PyTorch's GroupNorm: InstanceNormalization of a reshaped image."""
    x = g.input(1, channels, size, size)
    groups = 4
    rows = g("Reshape", x, [1, groups, -1])
    unit = g("InstanceNormalization", rows, g.constant([1.0] * groups), g.constant([0.0] * groups))
    image = g("Reshape", unit, [1, channels, size, size])
    return str(g("Add", g("Mul", image, g.weight(channels, 1, 1)), g.weight(channels, 1, 1)))


def unit_vectors(g: PatternGraph, length: int, width: int) -> str:
    """torch.nn.functional.normalize."""
    x = g.input(length, width)
    norm = g("ReduceL2", x, [-1])
    shape = g("Shape", x)
    return str(g("Div", x, g("Expand", g("Clip", norm, 1e-12), shape)))


_ROWS = {"length": (2, 64, 1024), "width": (4, 768, 1024)}
_IMAGES = {"channels": (4, 64, 96), "size": (2, 28, 112)}
PATTERNS = {
    "layer norm: PyTorch, Pow and Sqrt": pattern(by_pow, **_ROWS),
    "layer norm: tf2onnx, mean in the bias": pattern(by_moments, **_ROWS),
    "layer norm: squares less square": pattern(by_square_mean, **_ROWS),
    "layer norm: channels first": pattern(of_channels, **_IMAGES),
    "layer norm: operator of a residual": pattern(with_residual, **_ROWS),
    "layer norm: RMSNorm": pattern(root_mean_square, **_ROWS),
    "layer norm: RMSNorm, float16": pattern(root_mean_square_half, **_ROWS),
    "layer norm: GroupNorm": pattern(group_norm, **_IMAGES),
    "layer norm: unit vectors": pattern(unit_vectors, **_ROWS),
}
