"""`inserting`: the same `op` writes into a graph that exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from ingot.builder.constants import Constants
from ingot.builder.location import failure
from ingot.builder.scope import Checker, Scope, Trace, opened
from ingot.builder.versions import OPSET
from ingot.ir.domains import STANDARD, OpsetImports
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node


def inserting(
    *,
    before: Node | None = None,
    after: Node | None = None,
    at_end_of: Graph | None = None,
    model: Model | None = None,
    check: Checker | None = None,
    locations: bool = False,
    exact: bool = False,
) -> AbstractContextManager[list[Node]]:
    """While it is open, `op` puts nodes, in order, before or after a node, or at the end of a graph.

    It gives the list of the nodes made so far. `op` takes the graph's own `ir.Value`s, and `var.value` is the new one
    to wire in. Constants become initialisers of the outermost graph, Constant nodes in a function; domains used are
    imported; a function that the model already has under the name of one called is taken as it is. `model` is needed
    only to call a `@function` inside a function of the model. `exact` leaves names as they are written (see `build`).
    """
    anchors = [anchor for anchor in (before, after) if anchor is not None]
    if len(anchors) + (at_end_of is not None) != 1:
        raise failure("inserting needs one place", hint="give one of before=node, after=node, at_end_of=graph")
    graph = at_end_of if at_end_of is not None else anchors[0].graph
    if graph is None:
        raise failure(f"node '{anchors[0].label}' is in no graph")
    owner = graph.root.owner
    holder = owner if isinstance(owner, Model | Function) else None
    home = model or (owner if isinstance(owner, Model) else None)
    trace = Trace(
        graph.root,
        OpsetImports({STANDARD: OPSET}) if holder is None else holder.opset_imports,
        Constants(as_nodes=isinstance(owner, Function)),
        functions=None if home is None else home.functions,
        defaults=_imports(home),
        check=check,
        locations=locations,
        exact=exact,
    )
    return _inserting(trace, graph, before, after)


@contextmanager
def _inserting(trace: Trace, graph: Graph, before: Node | None, after: Node | None) -> Iterator[list[Node]]:
    inserted: list[Node] = []

    def put(node: Node) -> None:
        if before is not None:
            graph.insert_before(before, node)
        elif after is not None:
            graph.insert_after(inserted[-1] if inserted else after, node)
        else:
            graph.append(node)
        inserted.append(node)

    with opened(Scope(trace, graph, place=put)):
        yield inserted


def _imports(model: Model | None) -> Mapping[str, int]:
    return {} if model is None else model.opset_imports
