"""Blocks of convolutional networks: squeeze and excitation, separable, channels last, shuffles, joins of a pyramid."""

from __future__ import annotations

from typing import Any

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def conv(g: PatternGraph, x: str, inner: int, outer: int, kernel: int, **attributes: Any) -> str:
    group = attributes.get("group", 1)
    pads = [kernel // 2] * 4
    return str(g("Conv", x, g.weight(outer, inner // group, kernel, kernel), g.weight(outer), pads=pads, **attributes))


def squeeze_excite(g: PatternGraph, channels: int, size: int) -> str:
    x = g.input(1, channels, size, size)
    pooled = g("GlobalAveragePool", x)
    inner = g("Relu", conv(g, pooled, channels, channels // 4, 1))
    return str(g("Mul", x, g("Sigmoid", conv(g, inner, channels // 4, channels, 1))))


def squeeze_excite_dense(g: PatternGraph, channels: int, size: int) -> str:
    """Keras' spelling: a mean, two dense layers, a reshape; HardSigmoid."""
    x = g.input(1, channels, size, size)
    pooled = g("ReduceMean", x, [2, 3], keepdims=0)
    inner = g("Relu", g("Add", g("MatMul", pooled, g.weight(channels, channels // 4)), g.weight(channels // 4)))
    outer = g("Add", g("MatMul", inner, g.weight(channels // 4, channels)), g.weight(channels))
    return str(g("Mul", x, g("Reshape", g("HardSigmoid", outer), [1, channels, 1, 1])))


def separable(g: PatternGraph, channels: int, size: int) -> str:
    """MobileNet's block with a residual."""
    x = g.input(1, channels, size, size)
    wide = g("Clip", conv(g, x, channels, 4 * channels, 1), 0.0, 6.0)
    deep = g("Clip", conv(g, wide, 4 * channels, 4 * channels, 3, group=4 * channels), 0.0, 6.0)
    return str(g("Add", x, conv(g, deep, 4 * channels, channels, 1)))


def channels_last(g: PatternGraph, channels: int, size: int) -> str:
    """tf2onnx: an image of channels last, transposes around every convolution, biases added after."""
    x = g.input(1, size, size, channels)
    for kernel, group in ((3, channels), (1, 1)):
        first = g("Transpose", x, perm=[0, 3, 1, 2])
        weight = g.weight(channels, channels // group, kernel, kernel)
        product = g("Conv", first, weight, pads=[kernel // 2] * 4, group=group)
        x = g("Relu", g("Add", g("Transpose", product, perm=[0, 2, 3, 1]), g.weight(channels)))
    return x


def shuffle(g: PatternGraph, channels: int, size: int) -> str:
    """ShuffleNet: groups, reshape, transpose, reshape."""
    x = g.input(1, channels, size, size)
    y = g("Relu", conv(g, x, channels, channels, 1, group=2))
    y = g("Reshape", y, [1, 2, channels // 2, size, size])
    y = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3, 4]), [1, channels, size, size])
    return conv(g, y, channels, channels, 3, group=channels)


def shuffle_split(g: PatternGraph, channels: int, size: int) -> str:
    """ShuffleNet v2: half of the channels goes through, both are joined and shuffled."""
    x = g.input(1, channels, size, size)
    half = channels // 2
    left, right = g("Split", x, [half, half], axis=1, outputs=2)
    right = g("Relu", conv(g, right, half, half, 1))
    right = conv(g, right, half, half, 3, group=half)
    both = g("Concat", left, g("Relu", conv(g, right, half, half, 1)), axis=1)
    y = g("Transpose", g("Reshape", both, [1, 2, half, size, size]), perm=[0, 2, 1, 3, 4])
    return str(g("Reshape", y, [1, channels, size, size]))


def residual(g: PatternGraph, channels: int, size: int) -> str:
    """ResNet's block with batch norms that are not folded yet."""
    x = g.input(1, channels, size, size)
    y = x
    for place in range(2):
        product = g("Conv", y, g.weight(channels, channels, 3, 3), pads=[1, 1, 1, 1])
        ones = [g.constant([1.0] * channels) for _ in range(2)]
        y = g("BatchNormalization", product, ones[0], g.weight(channels), g.weight(channels), ones[1])
        y = g("Relu", y if place == 0 else g("Add", y, x))
    return str(y)


def pyramid_add(g: PatternGraph, channels: int, size: int) -> str:
    """FPN: a coarse map doubled and added."""
    fine, coarse = g.input(1, channels, 2 * size, 2 * size), g.input(1, channels, size, size)
    up = g("Resize", coarse, None, g.constant([1.0, 1.0, 2.0, 2.0]), mode="nearest",
           coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    return conv(g, g("Add", conv(g, fine, channels, channels, 1), up), channels, channels, 3)


def pyramid_concat(g: PatternGraph, channels: int, size: int) -> str:
    """YOLO: a coarse map doubled and concatenated."""
    fine, coarse = g.input(1, channels, 2 * size, 2 * size), g.input(1, channels, size, size)
    up = g("Resize", coarse, None, g.constant([1.0, 1.0, 2.0, 2.0]), mode="nearest",
           coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    y = conv(g, g("Concat", up, fine, axis=1), 2 * channels, channels, 1)
    return str(g("Mul", y, g("Sigmoid", y)))


def resize_like(g: PatternGraph, channels: int, size: int) -> str:
    """A map resized to the sizes of another, which the model reads while it runs."""
    fine = g.input(1, channels, ("height", 2 * size), ("width", 2 * size))
    coarse = g.input(1, channels, ("height_coarse", size), ("width_coarse", size))
    sizes = g("Slice", g("Shape", fine), [2], [4], [0])
    target = g("Concat", g("Slice", g("Shape", coarse), [0], [2], [0]), sizes, axis=0)
    up = g("Resize", coarse, None, None, target, mode="linear", coordinate_transformation_mode="align_corners")
    return str(g("Add", fine, up))


def spatial_pyramid(g: PatternGraph, channels: int, size: int) -> str:
    """YOLO's SPPF: three poolings in a row, joined."""
    levels = [g.input(1, channels, size, size)]
    for _ in range(3):
        levels.append(g("MaxPool", levels[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2]))
    return conv(g, g("Concat", *levels, axis=1), 4 * channels, channels, 1)


def focus(g: PatternGraph, channels: int, size: int) -> str:
    """YOLOv5's first layer: four slices of steps of 2."""
    x = g.input(1, 3, 4 * size, 4 * size)
    parts = []
    for first, second in ((0, 0), (1, 0), (0, 1), (1, 1)):
        rows = g("Slice", x, [first], [1 << 40], [2], [2])
        parts.append(g("Slice", rows, [second], [1 << 40], [3], [2]))
    return conv(g, g("Concat", *parts, axis=1), 12, channels, 3)


def pixel_shuffle(g: PatternGraph, channels: int, size: int) -> str:
    """Super resolution: a shuffle spelled by reshapes."""
    x = conv(g, g.input(1, channels, size, size), channels, 12, 3)
    y = g("Transpose", g("Reshape", x, [1, 3, 2, 2, size, size]), perm=[0, 1, 4, 2, 5, 3])
    return str(g("Reshape", y, [1, 3, 2 * size, 2 * size]))


def classifier(g: PatternGraph, channels: int, size: int) -> str:
    """Pooling, flatten, dense, softmax."""
    x = g.input(1, channels, size, size)
    flat = g("Flatten", g("GlobalAveragePool", x))
    return str(g("Softmax", g("Gemm", flat, g.weight(channels, 100), g.weight(100))))


def preprocessing(g: PatternGraph, channels: int, size: int) -> str:
    """Bytes of channels last to normalised floats of channels first, and the first convolution."""
    x = g("Cast", g.input(1, 4 * size, 4 * size, 3, dtype="uint8"), to=1)
    y = g("Div", g("Sub", g("Div", x, 255.0), g.constant([0.485, 0.456, 0.406])), g.constant([0.229, 0.224, 0.225]))
    return conv(g, g("Transpose", y, perm=[0, 3, 1, 2]), 3, channels, 3, strides=[2, 2])


_USUAL = {"channels": (4, 32, 64), "size": (4, 14, 40)}
PATTERNS = {
    f"block: {name}": pattern(build, **_USUAL)
    for name, build in {
        "squeeze and excitation": squeeze_excite,
        "squeeze and excitation, dense": squeeze_excite_dense,
        "separable, residual": separable,
        "separable, channels last": channels_last,
        "group shuffle": shuffle,
        "split and shuffle": shuffle_split,
        "residual, batch norms": residual,
        "pyramid, add": pyramid_add,
        "pyramid, concat": pyramid_concat,
        "resize like another": resize_like,
        "spatial pyramid pooling": spatial_pyramid,
        "focus slices": focus,
        "pixel shuffle": pixel_shuffle,
        "classifier": classifier,
        "preprocessing": preprocessing,
    }.items()
}
