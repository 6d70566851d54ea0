"""Tails of detectors: anchor grids, decoding of boxes, suppression, sorting."""

from __future__ import annotations

import numpy as np

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def anchor_grid(g: PatternGraph, size: int, classes: int) -> str:
    """YOLO's decoding of one level: constant grids, sigmoids, and columns joined."""
    x = g.input(1, 3 * (5 + classes), size, size)
    y = g("Transpose", g("Reshape", x, [1, 3, 5 + classes, size, size]), perm=[0, 1, 3, 4, 2])
    place, extent, rest = g("Split", g("Sigmoid", y), [2, 2, classes + 1], axis=4, outputs=3)
    rows = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="xy"), -1)[None, None]
    centre = g("Mul", g("Add", g("Mul", place, 2.0), g.constant(np.float32(rows - 0.5))), 8.0)
    twice = g("Mul", extent, 2.0)
    wide = g("Mul", g("Mul", twice, twice), g.constant(np.array([10.0, 20, 30]).reshape(1, 3, 1, 1, 1)))
    return str(g("Reshape", g("Concat", centre, wide, rest, axis=4), [1, -1, 5 + classes]))


def grid_of_sizes(g: PatternGraph, size: int, classes: int) -> tuple[str, str]:
    """Anchors made of the sizes of a map while the model runs: Range, Expand, Stack."""
    x = g.input(1, 4 + classes, ("height", size), ("width", size))
    shape = g("Shape", x)
    height, width = (g("Gather", shape, axis, axis=0) for axis in (2, 3))
    rows, columns = (g("Add", g("Cast", g("Range", 0, n, 1), to=1), 0.5) for n in (height, width))
    target = g("Concat", g("Unsqueeze", height, [0]), g("Unsqueeze", width, [0]), axis=0)
    down = g("Expand", g("Unsqueeze", rows, [1]), target)
    across = g("Expand", g("Unsqueeze", columns, [0]), target)
    points = g("Reshape", g("Concat", g("Unsqueeze", across, [2]), g("Unsqueeze", down, [2]), axis=2), [-1, 2])
    return points, g("Reshape", x, [0, 4 + classes, -1])


def distances(g: PatternGraph, size: int, classes: int) -> str:
    """YOLOv8's boxes: a softmax over bins, an expectation by a convolution, corners from distances."""
    count = size * size
    x = g.input(1, 64, count)
    bins = g("Transpose", g("Reshape", x, [1, 4, 16, count]), perm=[0, 2, 1, 3])
    soft = g("Softmax", bins, axis=1)
    mean = g("Conv", soft, g.constant(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1)))
    near, far = g("Split", g("Reshape", mean, [1, 4, count]), [2, 2], axis=1, outputs=2)
    points = g.constant(np.random.default_rng(0).random((1, 2, count), np.float32))
    first, second = g("Sub", points, near), g("Add", points, far)
    centre, extent = g("Div", g("Add", first, second), 2.0), g("Sub", second, first)
    return str(g("Concat", g("Mul", g("Concat", centre, extent, axis=1), 8.0), g.input(1, classes, count), axis=1))


def suppression(g: PatternGraph, size: int, classes: int) -> tuple[str, str, str]:
    """NonMaxSuppression and what reads its answer."""
    count = size * size
    random = np.random.default_rng(0)
    corners = random.random((1, count, 2), np.float32) * 10
    boxes = g.input_of(np.concatenate([corners, corners + random.random((1, count, 2), np.float32)], 2))
    scores = g.input_of(np.float32(random.random((1, classes, count)) ** 4))
    selected = g("NonMaxSuppression", boxes, scores, [100], g.constant([0.5]), g.constant([0.3]))
    rows = g("Squeeze", g("Gather", selected, [2], axis=1), [1])
    kinds = g("Squeeze", g("Gather", selected, [1], axis=1), [1])
    return g("Gather", g("Squeeze", boxes, [0]), rows), g("GatherND", scores, selected), kinds


def best(g: PatternGraph, size: int, classes: int) -> tuple[str, str, str]:
    """DETR-like and CenterNet-like tails: TopK of all scores, and indices taken apart."""
    count = size * size
    scores, boxes = g.input(1, count, classes), g.input(1, count, 4)
    flat = g("Reshape", g("Sigmoid", scores), [1, -1])
    values, places = g("TopK", flat, [min(100, count)], axis=1, outputs=2)
    rows, kinds = g("Div", places, classes), g("Mod", places, classes)
    taken = g("GatherElements", boxes, g("Tile", g("Unsqueeze", rows, [2]), [1, 1, 4]), axis=1)
    return values, kinds, taken


def peaks(g: PatternGraph, size: int, classes: int) -> str:
    """CenterNet's peaks: where a maximum of neighbours is the value itself."""
    heat = g("Sigmoid", g.input(1, classes, size, size))
    pooled = g("MaxPool", heat, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    return str(g("Mul", heat, g("Cast", g("Equal", heat, pooled), to=1)))


def above(g: PatternGraph, size: int, classes: int) -> tuple[str, str]:
    """A threshold: NonZero of a mask, and rows gathered."""
    count = size * size
    boxes, scores = g.input(count, 4), g.input(count, classes)
    most = g("ReduceMax", scores, [1], keepdims=0)
    rows = g("Squeeze", g("NonZero", g("Greater", most, 1.5)), [0])
    return g("Gather", boxes, rows), g("Gather", g("ArgMax", scores, axis=1, keepdims=0), rows)


_USUAL = {"size": (3, 20, 80), "classes": (2, 20, 80)}
_FEWER = {"size": (3, 20, 40), "classes": (2, 4, 20)}
PATTERNS = {
    "detection: anchor grid, constant": pattern(anchor_grid, **_USUAL),
    "detection: anchor grid of sizes": pattern(grid_of_sizes, **_USUAL),
    "detection: distances to boxes": pattern(distances, **_USUAL),
    "detection: suppression": pattern(suppression, **_FEWER),
    "detection: TopK of all scores": pattern(best, **_USUAL),
    "detection: peaks": pattern(peaks, **_USUAL),
    "detection: rows above a threshold": pattern(above, **_USUAL),
}
