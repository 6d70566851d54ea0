"""Attention as frameworks spell it, and rotary embeddings."""

from __future__ import annotations

import numpy as np

from benchmarks.tables.pattern_graph import PatternGraph, pattern

_LOWEST = float(np.finfo(np.float32).min)


def heads(g: PatternGraph, x: str, batch: int, heads_: int, depth: int) -> str:
    """`[batch, sequence, heads * depth]` as `[batch, heads, sequence, depth]`."""
    return str(g("Transpose", g("Reshape", x, [batch, -1, heads_, depth]), perm=[0, 2, 1, 3]))


def joined(g: PatternGraph, x: str, batch: int, width: int) -> str:
    return str(g("Reshape", g("Transpose", x, perm=[0, 2, 1, 3]), [batch, -1, width]))


def projected(g: PatternGraph, x: str, inner: int, outer: int) -> str:
    return str(g("Add", g("MatMul", x, g.weight(inner, outer)), g.weight(outer)))


def eager(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """PyTorch's modules, in eager mode: scores divided, mask added."""
    width = heads_ * depth
    x, mask = g.input(batch, length, width), g.input(batch, 1, 1, length)
    q, k, v = (heads(g, projected(g, x, width, width), batch, heads_, depth) for _ in range(3))
    scores = g("Div", g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2])), float(np.sqrt(depth)))
    weights = g("Softmax", g("Add", scores, mask), axis=-1)
    return projected(g, joined(g, g("MatMul", weights, v), batch, width), width, width)


def scaled_dot_product(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """PyTorch's scaled_dot_product_attention: both factors scaled by a square root, and NaN rows cleared."""
    q, k, v = (g.input(batch, heads_, length, depth) for _ in range(3))
    mask = g.input(batch, 1, length, length, dtype="bool")
    root = float(np.sqrt(1 / np.sqrt(depth)))
    scores = g("MatMul", g("Mul", q, root), g("Mul", g("Transpose", k, perm=[0, 1, 3, 2]), root))
    weights = g("Softmax", g("Add", scores, g("Where", mask, 0.0, -np.inf)), axis=-1)
    weights = g("Where", g("IsNaN", weights), 0.0, weights)
    return str(g("MatMul", weights, v))


def causal_of_shapes(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """A causal mask made of sizes while the model runs: Range, Less and Where."""
    q, k, v = (g.input(batch, heads_, ("length", length), depth) for _ in range(3))
    size = g("Gather", g("Shape", q), 2, axis=0)
    places = g("Range", 0, size, 1)
    mask = g("LessOrEqual", g("Unsqueeze", places, [0]), g("Unsqueeze", places, [1]))
    scores = g("Mul", g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2])), 1 / float(np.sqrt(depth)))
    weights = g("Softmax", g("Where", mask, scores, _LOWEST), axis=-1)
    return str(g("MatMul", weights, v))


def gpt2(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """One product for all three, split; a slice of a constant triangle as the mask."""
    width = heads_ * depth
    x = g.input(batch, length, width)
    qkv = g("Add", g("MatMul", x, g.weight(width, 3 * width)), g.weight(3 * width))
    q, k, v = (heads(g, part, batch, heads_, depth) for part in g("Split", qkv, [width] * 3, axis=2, outputs=3))
    scores = g("Div", g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2])), float(np.sqrt(depth)))
    triangle = g.constant(np.tril(np.ones((1, 1, 1024, 1024), bool)))
    mask = g("Slice", triangle, [0, 0], [length, length], [2, 3])
    weights = g("Softmax", g("Where", mask, scores, _LOWEST), axis=-1)
    return projected(g, joined(g, g("MatMul", weights, v), batch, width), width, width)


def t5(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """No scale; a bias by distance, looked up in a table of buckets."""
    width = heads_ * depth
    x, buckets = g.input(batch, length, width), g.input(length, length, dtype="int64", below=32)
    q, k, v = (heads(g, g("MatMul", x, g.weight(width, width)), batch, heads_, depth) for _ in range(3))
    bias = g("Transpose", g("Gather", g.weight(32, heads_), buckets), perm=[2, 0, 1])
    scores = g("Add", g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2])), g("Unsqueeze", bias, [0]))
    weights = g("Softmax", scores, axis=-1)
    return str(g("MatMul", joined(g, g("MatMul", weights, v), batch, width), g.weight(width, width)))


def rotated(g: PatternGraph, x: str, cos: str, sin: str, depth: int) -> str:
    """Halves exchanged and negated, as in Llama."""
    first = g("Slice", x, [0], [depth // 2], [3])
    second = g("Slice", x, [depth // 2], [np.iinfo(np.int64).max], [3])
    return str(g("Add", g("Mul", x, cos), g("Mul", g("Concat", g("Neg", second), first, axis=-1), sin)))


def angles(g: PatternGraph, positions: str, depth: int) -> tuple[str, str]:
    """Cosines and sines of positions, as a model computes them."""
    rates = g.constant(np.float32(10000.0 ** (-np.arange(0, depth, 2) / depth)).reshape(1, -1, 1))
    steps = g("Cast", g("Unsqueeze", positions, [1]), to=1)
    turned = g("Transpose", g("MatMul", rates, steps), perm=[0, 2, 1])
    both = g("Unsqueeze", g("Concat", turned, turned, axis=-1), [1])
    return g("Cos", both), g("Sin", both)


def llama(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """Rotary embeddings, and keys and values of a quarter of the heads, repeated by Expand."""
    width, few = heads_ * depth, max(1, heads_ // 4)
    x, positions = g.input(batch, length, width), g.input(batch, length, dtype="int64", below=length)
    cos, sin = angles(g, positions, depth)
    q = rotated(g, heads(g, g("MatMul", x, g.weight(width, width)), batch, heads_, depth), cos, sin, depth)
    k = rotated(g, heads(g, g("MatMul", x, g.weight(width, few * depth)), batch, few, depth), cos, sin, depth)
    v = heads(g, g("MatMul", x, g.weight(width, few * depth)), batch, few, depth)
    k, v = (repeated(g, part, batch, few, heads_ // few, length, depth) for part in (k, v))
    scores = g("Mul", g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2])), 1 / float(np.sqrt(depth)))
    mask = g.constant(np.triu(np.full((1, 1, length, length), _LOWEST, np.float32), 1))
    weights = g("Softmax", g("Add", scores, mask), axis=-1)
    return str(g("MatMul", joined(g, g("MatMul", weights, v), batch, width), g.weight(width, width)))


def repeated(g: PatternGraph, x: str, batch: int, few: int, times: int, length: int, depth: int) -> str:
    shape = [batch, few, times, length, depth]
    return str(g("Reshape", g("Expand", g("Unsqueeze", x, [2]), shape), [batch, few * times, length, depth]))


def decoding(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> tuple[str, str, str]:
    """One token with a cache that grows by Concat."""
    q, k, v = (g.input(batch, heads_, 1, depth) for _ in range(3))
    past = [g.input(batch, heads_, ("past", length), depth) for _ in range(2)]
    keys, values = g("Concat", past[0], k, axis=2), g("Concat", past[1], v, axis=2)
    scores = g("Div", g("MatMul", q, g("Transpose", keys, perm=[0, 1, 3, 2])), float(np.sqrt(depth)))
    return g("MatMul", g("Softmax", scores, axis=-1), values), keys, values


def vit(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """One product, reshaped to five axes and gathered."""
    width = heads_ * depth
    x = g.input(batch, length, width)
    qkv = g("Reshape", projected(g, x, width, 3 * width), [batch, length, 3, heads_, depth])
    parts = g("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    q, k, v = (g("Gather", parts, place, axis=0) for place in range(3))
    scores = g("Mul", g("MatMul", q, g("Transpose", k, perm=[0, 1, 3, 2])), 1 / float(np.sqrt(depth)))
    return projected(g, joined(g, g("MatMul", g("Softmax", scores, axis=-1), v), batch, width), width, width)


def tf2onnx(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """Keras' attention through tf2onnx: projections as products of matrices, and a mask of (1 - m) * -1e9."""
    width = heads_ * depth
    x, mask = g.input(batch, length, width), g.input(batch, length, dtype="int32", below=2)
    rows = g("Reshape", x, [-1, width])
    parts = []
    for _ in range(3):
        product = g("Reshape", g("MatMul", rows, g.weight(width, width)), [batch, length, heads_, depth])
        parts.append(g("Transpose", g("Add", product, g.weight(heads_, depth)), perm=[0, 2, 1, 3]))
    scores = g("MatMul", g("Mul", parts[0], 1 / float(np.sqrt(depth))), g("Transpose", parts[1], perm=[0, 1, 3, 2]))
    off = g("Mul", g("Sub", 1.0, g("Cast", g("Unsqueeze", mask, [1, 2]), to=1)), -1e9)
    weights = g("Softmax", g("Add", scores, off), axis=-1)
    mixed = g("Transpose", g("MatMul", weights, parts[2]), perm=[0, 2, 1, 3])
    flat = g("MatMul", g("Reshape", mixed, [-1, width]), g.weight(width, width))
    return str(g("Reshape", flat, [batch, length, width]))


def einsum(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """Both products as Einsum."""
    q, k, v = (g.input(batch, length, heads_, depth) for _ in range(3))
    scores = g("Mul", g("Einsum", q, k, equation="bqhd,bkhd->bhqk"), 1 / float(np.sqrt(depth)))
    return str(g("Einsum", g("Softmax", scores, axis=-1), v, equation="bhqk,bkhd->bqhd"))


def rolled(g: PatternGraph, x: str, shift: int, size: int) -> str:
    """torch.roll of both axes of an image of channels last."""
    for axis in (1, 2):
        place = shift % size
        parts = [g("Slice", x, [size - place], [size], [axis]), g("Slice", x, [0], [size - place], [axis])]
        x = g("Concat", *parts, axis=axis)
    return x


def swin(g: PatternGraph, size: int, window: int, heads_: int, depth: int) -> str:
    """Windows of a rolled image, each with its mask and a bias by place, and all of it undone."""
    width, count, area = heads_ * depth, size // window, window * window
    x = rolled(g, g.input(1, size, size, width), -(window // 2), size)
    parts = g("Transpose", g("Reshape", x, [1, count, window, count, window, width]), perm=[0, 1, 3, 2, 4, 5])
    windows = g("Reshape", parts, [count * count, area, width])
    qkv = g("Reshape", projected(g, windows, width, 3 * width), [count * count, area, 3, heads_, depth])
    gathered = g("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    q, k, v = (g("Gather", gathered, place, axis=0) for place in range(3))
    scores = g("MatMul", g("Mul", q, 1 / float(np.sqrt(depth))), g("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g("Add", scores, g.weight(1, heads_, area, area))
    mask = g.constant(np.where(np.arange(area) % 3, 0, -100.0) * np.ones((1, count * count, 1, area, 1)), "float32")
    masked = g("Add", g("Reshape", scores, [1, count * count, heads_, area, area]), mask)
    weights = g("Softmax", g("Reshape", masked, [count * count, heads_, area, area]), axis=-1)
    mixed = projected(g, joined(g, g("MatMul", weights, v), count * count, width), width, width)
    back = g("Reshape", mixed, [1, count, count, window, window, width])
    image = g("Reshape", g("Transpose", back, perm=[0, 1, 3, 2, 4, 5]), [1, size, size, width])
    return rolled(g, image, window // 2, size)


def fused(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """onnxruntime's own fused operator, as its optimiser writes it."""
    width = heads_ * depth
    x, mask = g.input(batch, length, width), g.input_of(np.ones((batch, length), np.int32))
    weights = (g.weight(width, 3 * width), g.weight(3 * width))
    return str(g("Attention", x, *weights, mask, num_heads=heads_, domain="com.microsoft"))


def rotary(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    x, positions = g.input(batch, heads_, length, depth), g.input(batch, length, dtype="int64", below=length)
    return rotated(g, x, *angles(g, positions, depth), depth)


def rotary_gathered(g: PatternGraph, batch: int, length: int, heads_: int, depth: int) -> str:
    """Cosines and sines looked up in tables, pairs side by side."""
    x, positions = g.input(batch, heads_, length, depth), g.input(batch, length, dtype="int64", below=length)
    table = np.arange(length)[:, None] * 10000.0 ** (-np.arange(depth // 2) / depth)
    shape = [batch, heads_, length, depth // 2, 2]
    cos, sin = (
        g("Unsqueeze", g("Gather", g.constant(np.float32(np.repeat(f(table), 2, 1))), positions), [1])
        for f in (np.cos, np.sin)
    )
    pairs = g("Reshape", x, shape)
    even, odd = (g("Gather", pairs, place, axis=4) for place in (0, 1))
    turned = g("Concat", g("Unsqueeze", g("Neg", odd), [4]), g("Unsqueeze", even, [4]), axis=4)
    turned = g("Reshape", turned, [batch, heads_, length, depth])
    return str(g("Add", g("Mul", x, cos), g("Mul", turned, sin)))


_USUAL = {"batch": (1, 1, 2), "length": (3, 64, 160), "heads_": (2, 4, 12), "depth": (4, 64, 64)}
PATTERNS = {
    f"attention: {name}": pattern(build, **_USUAL)
    for name, build in {
        "BERT, PyTorch eager": eager,
        "PyTorch sdpa, boolean mask": scaled_dot_product,
        "PyTorch, causal mask of sizes": causal_of_shapes,
        "GPT-2": gpt2,
        "T5": t5,
        "Llama, rotary and grouped queries": llama,
        "decoding with a cache": decoding,
        "ViT": vit,
        "Keras by tf2onnx": tf2onnx,
        "Einsum": einsum,
        "fused by onnxruntime": fused,
    }.items()
}
PATTERNS["attention: Swin, rolled windows"] = pattern(
    swin, size=(4, 14, 56), window=(2, 7, 7), heads_=(2, 3, 3), depth=(4, 32, 32)
)
PATTERNS["rotary embedding: computed, halves"] = pattern(rotary, **_USUAL)
PATTERNS["rotary embedding: tables, pairs"] = pattern(rotary_gathered, **_USUAL)
