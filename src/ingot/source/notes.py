"""Doc strings and metadata of nodes, values and graphs, which would bury a program if they stood where they belong."""

from __future__ import annotations

from typing import Any

from ingot.ir.annotated import Annotated
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.source.layout import Expression, Group, labelled, mapping
from ingot.source.literals import elements, quoted

Notes = dict[str, dict[int, dict[str, Any]]]


def notes_of(model: Model) -> Notes:
    """What `ingot.builder.annotate` takes: texts by kind and number, in the order in which a model lists its parts."""
    notes: Notes = {"functions": {}, "graphs": {}, "nodes": {}, "values": {}, "tensors": {}}
    for number, function in enumerate(model.functions.values()):
        _note(notes["functions"], number, function, "")
    values = tensors = 0
    for number, graph in enumerate(model.graphs()):
        _note(notes["graphs"], number, graph, graph.doc_string)
    for number, node in enumerate(model.nodes()):
        _note(notes["nodes"], number, node, node.doc_string)
    for graph in model.graphs():
        for value in graph.values():
            _note(notes["values"], values, value, value.doc_string)
            values += 1
        for name in sorted(graph.initializers):
            tensor = graph.initializers[name].constant
            if isinstance(tensor, Tensor) and (elements(tensor) is None or tensor.doc_string or tensor.metadata):
                texts = _texts(tensor.doc_string, dict(tensor.metadata))
                if texts:
                    notes["tensors"][tensors] = texts
            tensors += 1
    return {kind: entries for kind, entries in notes.items() if entries}


def written_notes(notes: Notes) -> Expression:
    """The notes as a dict of the program."""
    rows = []
    for kind, entries in notes.items():
        pairs: list[tuple[str, Expression]] = [(str(number), _texts_shown(texts)) for number, texts in entries.items()]
        rows.append(labelled(f"{quoted(kind)}: ", mapping(pairs)))
    return Group("{", tuple(rows), "}")


def _texts_shown(texts: dict[str, Any]) -> Expression:
    pairs: list[tuple[str, Expression]] = []
    for key, text in texts.items():
        if isinstance(text, str):
            pairs.append((quoted(key), quoted(text)))
        else:
            pairs.append((quoted(key), mapping([(quoted(k), quoted(v)) for k, v in text.items()])))
    return mapping(pairs)


def _note(entries: dict[int, dict[str, Any]], number: int, noted: Annotated, doc_string: str) -> None:
    texts = _texts(doc_string, noted.metadata_if_any)
    if texts:
        entries[number] = texts


def _texts(doc_string: str, metadata: dict[str, str] | None) -> dict[str, Any]:
    texts: dict[str, Any] = {}
    if doc_string:
        texts["doc_string"] = doc_string
    if metadata:
        texts["metadata"] = metadata
    return texts
