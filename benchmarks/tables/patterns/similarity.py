"""Products of two operands that a run computes: similarities of embeddings, scores of queries, bilinear forms."""

from __future__ import annotations

from benchmarks.tables.pattern_graph import PatternGraph, pattern


def transposed(g: PatternGraph, rows: int, width: int, columns: int) -> str:
    """Rows beside rows, as embeddings are compared: all sizes are left open but the width."""
    x, y = g.input(("rows", rows), width), g.input(("columns", columns), width)
    return str(g("MatMul", x, g("Transpose", y, perm=[1, 0])))


def plain(g: PatternGraph, rows: int, width: int, columns: int) -> str:
    """Rows beside columns."""
    return str(g("MatMul", g.input(("rows", rows), width), g.input(width, ("columns", columns))))


def cosine(g: PatternGraph, rows: int, width: int, columns: int) -> str:
    """Cosines, as PyTorch's `normalize` is exported."""
    parts = []
    for x in (g.input(("rows", rows), width), g.input(("columns", columns), width)):
        length = g("Clip", g("ReduceL2", x, [1], keepdims=1), 1e-12)
        parts.append(g("Div", x, g("Expand", length, g("Shape", x))))
    return str(g("MatMul", parts[0], g("Transpose", parts[1], perm=[1, 0])))


def by_head(g: PatternGraph, rows: int, width: int, columns: int) -> str:
    """Scores of attention without the softmax that would make one kernel of it."""
    x, y = g.input(12, ("rows", rows), width), g.input(12, ("columns", columns), width)
    return str(g("Mul", g("MatMul", x, g("Transpose", y, perm=[0, 2, 1])), 0.125))


_ROWS = {"one row": (1, 1, 1), "ten rows": (10, 10, 10), "as many rows": (4, 100, 1000)}

PATTERNS = {
    f"similarity: {name}, {count}": pattern(build, rows=rows, width=(16, 128, 512), columns=(4, 100, 1000))
    for name, build in (("transposed", transposed), ("plain", plain), ("cosine", cosine))
    for count, rows in _ROWS.items()
} | {
    f"similarity: heads, {count}": pattern(by_head, rows=rows, width=(16, 64, 64), columns=(4, 64, 512))
    for count, rows in {"one row": (1, 1, 1), "as many rows": (4, 64, 512)}.items()
}
