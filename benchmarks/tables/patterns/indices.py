"""Embeddings, one-hot products, masks and sorting around them."""

from __future__ import annotations

import numpy as np

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def bert_embeddings(g: PatternGraph, length: int, width: int, words: int) -> str:
    """Three tables, added, and a layer norm."""
    tokens = g.input(1, length, dtype="int64", below=words)
    kinds = g.input(1, length, dtype="int64", below=2)
    places = g.constant(np.arange(length)[None], "int64")
    tables = [g("Gather", g.weight(rows, width), index) for rows, index in ((words, tokens), (2, kinds), (512, places))]
    total = g("Add", g("Add", tables[0], tables[1]), tables[2])
    return str(g("LayerNormalization", total, g.weight(width), g.weight(width)))


def one_hot_product(g: PatternGraph, length: int, width: int, words: int) -> str:
    tokens = g.input(length, dtype="int64", below=words)
    return str(g("MatMul", g("OneHot", tokens, words, g.constant([0.0, 1.0])), g.weight(words, width)))


def categories(g: PatternGraph, length: int, width: int, words: int) -> str:
    """Tabular: columns gathered one by one, embedded, joined with numbers, and a dense layer."""
    columns, numbers = g.input(length, 4, dtype="int64", below=min(words, 50)), g.input(length, 6)
    parts = [g("Gather", g.weight(min(words, 50), 8), g("Gather", columns, place, axis=1)) for place in range(4)]
    joined = g("Concat", numbers, *parts, axis=1)
    return str(g("Relu", g("Gemm", joined, g.weight(38, width), g.weight(width))))


def where_mask(g: PatternGraph, length: int, width: int) -> str:
    """Masked positions replaced, then a mean over the others."""
    x, mask = g.input(length, width), g.input(length, dtype="bool")
    wide = g("Unsqueeze", mask, [1])
    masked = g("Where", wide, 0.0, x)
    count = g("ReduceSum", g("Cast", g("Not", wide), to=1), [0], keepdims=0)
    return str(g("Div", g("ReduceSum", masked, [0], keepdims=0), g("Max", count, 1.0)))


def top_of_logits(g: PatternGraph, words: int) -> tuple[str, str]:
    """Sampling's tail: scores scaled, the best 50, a softmax of them."""
    values, places = g("TopK", g("Div", g.input(1, words), 0.8), [min(50, words)], outputs=2)
    return g("Softmax", values, axis=-1), places


def sorted_rows(g: PatternGraph, length: int, width: int) -> str:
    """Rows in the order of a score: TopK of all, and a gather."""
    x, scores = g.input(length, width), g.input(length)
    _, order = g("TopK", scores, [length], outputs=2)
    return str(g("Gather", x, order))


def scatter_cache(g: PatternGraph, length: int, width: int) -> str:
    """Rows of a cache replaced at computed places."""
    cache, rows = g.input(length, width), g.input(2, width)
    places = g.input_of(np.array([[0], [min(2, length - 1)]], np.int64))
    return str(g("Mul", g("ScatterND", cache, places, rows), 2.0))


def nearest(g: PatternGraph, length: int, width: int, words: int) -> tuple[str, str]:
    """Distances to a table of centres, and the nearest: squares less twice the product."""
    x, centres = g.input(length, width), np.random.default_rng(0).random((min(words, 256), width), np.float32)
    squares = g("ReduceSum", g("Mul", x, x), [1])
    product = g("MatMul", x, g.constant(np.ascontiguousarray(centres.T)))
    apart = g("Add", g("Sub", squares, g("Mul", product, 2.0)), g.constant((centres**2).sum(1)))
    place = g("ArgMin", apart, axis=1, keepdims=0)
    return place, g("Gather", g.constant(centres), place)


def running_total(g: PatternGraph, length: int) -> str:
    """Position ids from a mask: a cumulative sum, times the mask."""
    mask = g("Cast", g("Not", g("Equal", g.input(2, length, dtype="int64", below=5), 1)), to=6)
    return str(g("Add", g("Cast", g("Mul", g("CumSum", mask, 1), mask), to=7), 1))


_LENGTH, _WIDTH, _WORDS = (3, 64, 512), (8, 128, 512), (10, 1000, 30000)
_ROWS = {"length": _LENGTH, "width": _WIDTH}
PATTERNS = {
    "indices: BERT's embeddings": pattern(bert_embeddings, **_ROWS, words=_WORDS),
    "indices: one-hot product": pattern(one_hot_product, **_ROWS, words=(10, 200, 1000)),
    "indices: categories of a table": pattern(categories, length=(1, 64, 4096), width=_WIDTH, words=_WORDS),
    "indices: mean where a mask is off": pattern(where_mask, **_ROWS),
    "indices: best of logits": pattern(top_of_logits, words=_WORDS),
    "indices: rows sorted": pattern(sorted_rows, **_ROWS),
    "indices: rows of a cache": pattern(scatter_cache, **_ROWS),
    "indices: nearest centre": pattern(nearest, **_ROWS, words=_WORDS),
    "indices: places by a running total": pattern(running_total, length=_LENGTH),
}
