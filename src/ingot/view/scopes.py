"""The modules that nodes were exported from: from metadata where an exporter wrote it, else from names with slashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ingot.ir.node import Node
from ingot.view.flow import Leaf

_LEAST_SHARE = 0.3
"""The share of nodes that must have a scope: a slash in a name here and there is none."""

_DEEPEST = 24

_NO_MODULE = "_empty_nn_module_stack"
"""What PyTorch writes for what it made up itself."""


class Scope(NamedTuple):
    """One level of a path: the name of a module inside of the one around it, and its class where that is known."""

    name: str
    of_class: str = ""


Path = tuple[Scope, ...]


def scopes_of(leaves: Sequence[Leaf]) -> list[Path]:
    """The path of each leaf, the outermost module first; all empty where a model has no scopes."""
    nodes = [leaf.node for leaf in leaves if leaf.node is not None]
    if not nodes:
        return [() for _ in leaves]
    written = [_from_metadata(node) for node in nodes]
    if sum(map(bool, written)) < _LEAST_SHARE * len(nodes):
        written = [_from_name(node) for node in nodes]
    if sum(map(bool, written)) < _LEAST_SHARE * len(nodes):
        written = [() for _ in nodes]
    paths = iter(written)
    return [() if leaf.node is None else next(paths) for leaf in leaves]


def _from_metadata(node: Node) -> Path:
    """The path in `namespace`, as PyTorch writes it: `: pkg.Net/a: pkg.Encoder/a.0: pkg.Layer/add: aten.add`.

    Each part repeats the names of those before it; the last one is the operation, and the first the model.
    """
    metadata = node.metadata_if_any
    text = None if metadata is None else metadata.get("namespace")
    if not text:
        return ()
    path: list[Scope] = []
    around = ""
    for part in text.split("/")[:-1][:_DEEPEST]:
        name, _, of_class = part.partition(": ")
        inner = name.removeprefix(around).removeprefix(".") if around and name.startswith(f"{around}.") else name
        if name.strip(": ") and not name.startswith(_NO_MODULE):
            path.append(Scope(inner, of_class.rpartition(".")[2]))
            around = name
    return tuple(path)


def _from_name(node: Node) -> Path:
    """The path in a name with slashes: `/encoder/layer.0/attention/MatMul`, without the operation."""
    name = node.name or (node.outputs[0].name if node.outputs else "")
    if "/" not in name:
        return ()
    return tuple(Scope(part) for part in name.split("/")[:-1][:_DEEPEST] if part)
