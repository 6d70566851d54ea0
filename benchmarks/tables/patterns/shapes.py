"""Arithmetic with sizes, as exporters of models with open sizes write it."""

from __future__ import annotations

import numpy as np

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def size_of(g: PatternGraph, x: str, axis: int) -> str:
    return str(g("Unsqueeze", g("Gather", g("Shape", x), axis, axis=0), [0]))


def split_heads(g: PatternGraph, length: int, width: int) -> str:
    """Shape, Gather, Unsqueeze, Concat, Reshape, Transpose."""
    x = g.input(("batch", 2), ("length", length), width)
    target = g("Concat", size_of(g, x, 0), size_of(g, x, 1), [4], [width // 4], axis=0)
    return str(g("Transpose", g("Reshape", x, target), perm=[0, 2, 1, 3]))


def flatten_rest(g: PatternGraph, length: int, width: int) -> str:
    x = g.input(("batch", 2), ("length", length), width)
    target = g("Concat", size_of(g, x, 0), [-1], axis=0)
    return str(g("Relu", g("Reshape", x, target)))


def positions(g: PatternGraph, length: int, width: int) -> str:
    """Embeddings of places: a range of a size, a slice of a table, added."""
    x = g.input(("batch", 2), ("length", length), width)
    count = g("Gather", g("Shape", x), 1, axis=0)
    places = g("Unsqueeze", g("Range", 0, count, 1), [0])
    return str(g("Add", x, g("Gather", g.weight(2048, width), places)))


def expand_mask(g: PatternGraph, length: int) -> str:
    """Hugging Face's mask: unsqueezed, expanded to sizes, cast, inverted, filled."""
    mask = g.input(("batch", 2), ("length", length), dtype="int64", below=2)
    scores = g.input(("batch", 2), 4, ("length", length), ("length", length))
    target = g("Concat", size_of(g, mask, 0), [1], size_of(g, mask, 1), size_of(g, mask, 1), axis=0)
    wide = g("Expand", g("Unsqueeze", mask, [1, 2]), target)
    off = g("Sub", 1.0, g("Cast", wide, to=1))
    filled = g("Where", g("Cast", off, to=9), float(np.finfo(np.float32).min), off)
    return str(g("Softmax", g("Add", scores, filled), axis=-1))


def pad_to_multiple(g: PatternGraph, length: int, width: int) -> str:
    """A size rounded up to a multiple, by arithmetic, and Pad with computed pads."""
    x = g.input(1, ("length", length), width)
    size = g("Gather", g("Shape", x), 1, axis=0)
    missing = g("Sub", g("Mul", g("Div", g("Add", size, 7), 8), 8), size)
    pads = g("Concat", [0, 0, 0, 0], g("Unsqueeze", missing, [0]), [0], axis=0)
    return str(g("Mul", g("Pad", x, pads, 0.0), 2.0))


def half_resize(g: PatternGraph, length: int, width: int) -> str:
    """Sizes halved by Shape, Cast, Mul, Floor, Cast, and Resize to them."""
    size = max(4, int(np.sqrt(length * width)) // 2)
    x = g.input(1, 4, ("height", size), ("width", size))
    both = g("Cast", g("Slice", g("Shape", x), [2], [4], [0]), to=1)
    halves = g("Cast", g("Floor", g("Mul", both, 0.5)), to=7)
    target = g("Concat", g("Slice", g("Shape", x), [0], [2], [0]), halves, axis=0)
    return str(g("Resize", x, None, None, target, mode="linear", coordinate_transformation_mode="pytorch_half_pixel"))


def last_token(g: PatternGraph, length: int, width: int) -> str:
    """The row of the last token that a mask leaves."""
    x, mask = g.input(2, length, width), g.input_of(np.ones((2, length), np.int64))
    place = g("Sub", g("ReduceSum", mask, [1], keepdims=0), 1)
    places = g("Concat", g.constant([[0], [1]], "int64"), g("Unsqueeze", place, [1]), axis=1)
    return str(g("GatherND", x, places))


def mean_pooling(g: PatternGraph, length: int, width: int) -> str:
    """sentence-transformers: a mean weighted by a mask, scaled to length one."""
    x, mask = g.input(2, ("length", length), width), g.input(2, ("length", length), dtype="int64", below=2)
    wide = g("Cast", g("Expand", g("Unsqueeze", mask, [2]), g("Shape", x)), to=1)
    total = g("ReduceSum", g("Mul", x, wide), [1], keepdims=0)
    count = g("Clip", g("ReduceSum", wide, [1], keepdims=0), 1e-9)
    mean = g("Div", total, count)
    return str(g("Div", mean, g("Clip", g("ReduceL2", mean, [1]), 1e-12)))


def sliced_by_size(g: PatternGraph, length: int, width: int) -> str:
    """A slice whose end is the size of another input."""
    table, x = g.constant(np.ones((2048, width), np.float32)), g.input(("length", length), width)
    end = size_of(g, x, 0)
    return str(g("Add", x, g("Slice", table, [0], end, [0], [1])))


_USUAL = {"length": (3, 64, 512), "width": (8, 256, 1024)}
PATTERNS = {
    "shapes: split heads": pattern(split_heads, **_USUAL),
    "shapes: flatten the rest": pattern(flatten_rest, **_USUAL),
    "shapes: embeddings of places": pattern(positions, **_USUAL),
    "shapes: mask expanded to sizes": pattern(expand_mask, length=(3, 64, 256)),
    "shapes: pad to a multiple": pattern(pad_to_multiple, **_USUAL),
    "shapes: resize to half": pattern(half_resize, **_USUAL),
    "shapes: row of the last token": pattern(last_token, **_USUAL),
    "shapes: mean pooling": pattern(mean_pooling, **_USUAL),
    "shapes: slice to a size": pattern(sliced_by_size, **_USUAL),
}
