"""`annotate`: doc strings and metadata put onto a model that was built without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingot.errors import InputError
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor


def annotate(model: Model, notes: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> None:
    """Set `doc_string` and `metadata` of the parts of a model, by kind and by their number among all of that kind.

    The kinds are `functions`, `graphs`, `nodes` and `values`, in the order in which the model has them, and `tensors`:
    the initialisers of each graph, by name. InputError for a kind or number that there is not.
    """
    parts: dict[str, list[Any]] = {
        "functions": list(model.functions.values()),
        "graphs": list(model.graphs()),
        "nodes": list(model.nodes()),
        "values": [value for graph in model.graphs() for value in graph.values()],
        "tensors": [
            graph.initializers[name].constant for graph in model.graphs() for name in sorted(graph.initializers)
        ],
    }
    for kind, entries in notes.items():
        if kind not in parts:
            raise InputError(f"notes on {kind}", hint=f"there are notes on {', '.join(parts)}")
        for number, texts in entries.items():
            if not 0 <= int(number) < len(parts[kind]):
                raise InputError(f"a note on number {number} of {len(parts[kind])} {kind}")
            part = parts[kind][int(number)]
            if "doc_string" in texts:
                part.doc_string = texts["doc_string"]
            if "metadata" in texts:
                part.metadata = dict(texts["metadata"]) if isinstance(part, Tensor) else texts["metadata"]
