"""Building graphs in bulk, for those who read whole models: what is read is linked, and nothing is checked.

The edits of `Graph` and `Node` keep these invariants one step at a time; here they hold once a graph is complete:

1. The nodes of a graph are live and form a doubly linked list of length `_count` from `_head` to `_tail`; their
   `graph` is the graph.
2. A value that a node computes has that node as `producer` and its position as `index`, and no `_graph`; an input or
   initialiser has the graph that defines it as `_graph` and no producer.
3. `(node, position)` is in the `_uses` of a value exactly where a live node reads it at that position.
4. A graph is in the `_output_of` of a value once for every time it returns it.
5. The graphs that the attributes of a node hold have the node as `_owner`.
6. `_names` of a graph is None until a fresh name is asked for: a graph that is being built keeps no list of names.

The order of calls is free but for two: `link_nodes` once for a graph, and `connect` once for a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ingot.ir.attribute import Attribute, Attributes
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.value import Value


def add_input(graph: Graph, value: Value) -> None:
    """Make a value that nothing defines yet the last input of `graph`."""
    value._graph = graph
    graph.inputs._items.append(value)


def add_initializer(graph: Graph, value: Value) -> None:
    """Make a value with a constant an initialiser of `graph`: one that nothing defines yet, or an input of it."""
    value._graph = graph
    graph.initializers._members[value] = None


def add_output(graph: Graph, value: Value) -> None:
    """Return `value`, whatever defines it, as the last output of `graph`."""
    graph.outputs._items.append(value)
    if value._output_of is None:
        value._output_of = []
    value._output_of.append(graph)


def new_node(op_type: str, outputs: Iterable[str | None], name: str = "") -> Node:
    """A node of the standard that computes values of the names `outputs`; what it reads is for `connect` to say."""
    node = Node.__new__(Node)
    node.op_type = op_type
    node.name = name
    node._domain = node.overload = node.doc_string = ""
    node.device_configurations = node._inputs = ()
    node.graph = node.residue = node._metadata = node._previous = node._next = None
    node._live = True
    values = []
    for index, output in enumerate(outputs):
        value = Value.__new__(Value)
        value._name = output
        value.producer = node
        value.index = index
        value.doc_string = ""
        value.type = value.constant = value.residue = value._graph = value._metadata = value._output_of = None
        value._uses = {}
        values.append(value)
    node._outputs = tuple(values)
    attributes = Attributes.__new__(Attributes)
    attributes._node = node
    node.attributes = attributes
    return node


def link_nodes(graph: Graph, nodes: Sequence[Node]) -> None:
    """Make `nodes`, which are in no graph, the nodes of `graph`, which has none."""
    previous: Node | None = None
    for node in nodes:
        node.graph = graph
        node._previous = previous
        if previous is None:
            graph._head = node
        else:
            previous._next = node
        previous = node
    graph._tail = previous
    graph._count = len(nodes)


def connect(node: Node, inputs: Sequence[Value | None]) -> None:
    """Make a node without inputs read `inputs`; None is an omitted one."""
    node._inputs = tuple(inputs)
    for position, value in enumerate(inputs):
        if value is not None:
            value._uses[node, position] = None


def add_attribute(node: Node, attribute: Attribute) -> None:
    """Give `node` an attribute of a name it does not have; the graphs in it belong to no node yet."""
    dict.__setitem__(node.attributes, attribute.name, attribute)
    for graph in attribute.graphs:
        graph._owner = node
