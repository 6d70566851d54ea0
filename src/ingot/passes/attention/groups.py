"""Grouped heads: keys and values repeated for each query head are read once by Attention, which repeats them itself."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.value import Value
from ingot.passes.replacing import drop
from ingot.passes.reshape import VIEWS
from ingot.queries.values import produced_by, shape


def take_groups(model: Model, facts: Facts) -> int:
    """Have Attention read keys and values before each of their heads is repeated; how many."""
    count = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if not node.applies("Attention") or len(shape(node.inputs[1], facts) or ()) != 4:
                continue
            sources = [_repeated(value, facts) for value in node.inputs[1:3]]
            if sources[0] is None or sources[1] is None:
                continue
            if (shape(sources[0], facts) or ())[:3] != (shape(sources[1], facts) or ())[:3]:
                continue
            for index, source in enumerate(sources, 1):
                old = node.inputs[index]
                node.replace_input(index, source)
                if old is not None and old.producer is not None:
                    drop(old.producer)
            count += 1
    return count


def _repeated(value: Value | None, facts: Facts) -> Value | None:
    """What a value repeats: `[b, h, s, d]` seen as `[b, h, 1, s, d]`, expanded, and seen as `[b, h*n, s, d]`."""
    joined = produced_by(value, *VIEWS)
    expanded = produced_by(joined.inputs[0], "Expand") if joined is not None else None
    parted = produced_by(expanded.inputs[0], *VIEWS) if expanded is not None else None
    if expanded is None or parted is None:
        return None
    source, one, many = (shape(v, facts) for v in (parted.inputs[0], expanded.inputs[0], expanded.output))
    whole = shape(value, facts)
    if source is None or one is None or many is None or whole is None or len(source) != 4 or len(many) != 5:
        return None
    if one != (*source[:2], 1, *source[2:]) or many != (*source[:2], many[2], *source[2:]):
        return None
    return parted.inputs[0] if whole == (source[0], source[1] * many[2], *source[2:]) else None
