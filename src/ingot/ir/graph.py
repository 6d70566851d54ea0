"""A graph in single-assignment form: values, and the nodes that define and use them.

The links are kept by the objects themselves: a node is a user of its inputs from the moment it is made until it is
removed, and `value.uses` is always right, across subgraphs too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ingot.errors import CheckError, InputError, nearest
from ingot.ir.annotated import Annotated
from ingot.ir.containers import Initializers, Inputs, Outputs
from ingot.ir.node import Node
from ingot.ir.sort import sorted_nodes
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value

if TYPE_CHECKING:
    import numpy.typing as npt

    from ingot.ir.model import Function, Model
    from ingot.ir.sharding import TensorAnnotation


class Graph(Annotated):
    """Nodes in order, with the values that enter and leave.

    Iterating visits the nodes that are in the graph when the walk begins and still in it when their turn comes, so a
    walk may insert, replace and remove as it goes.
    """

    __slots__ = (
        "_count",
        "_head",
        "_names",
        "_owner",
        "_tail",
        "doc_string",
        "initializers",
        "inputs",
        "name",
        "outputs",
        "quantization",
        "residue",
    )

    name: str
    doc_string: str
    inputs: Inputs
    outputs: Outputs
    initializers: Initializers
    quantization: list[TensorAnnotation]
    residue: Any
    _head: Node | None
    _tail: Node | None
    _count: int
    _owner: Node | Function | Model | None
    _names: dict[str, int] | None

    def __init__(
        self,
        inputs: Iterable[Value] = (),
        outputs: Iterable[Value] = (),
        nodes: Iterable[Node] = (),
        initializers: Iterable[Value | Tensor] = (),
        *,
        name: str = "",
        doc_string: str = "",
    ) -> None:
        self.name = name
        self.doc_string = doc_string
        self.quantization = []
        self.residue = None
        self._metadata = None
        self._head = self._tail = None
        self._count = 0
        self._owner = None
        self._names = None
        self.inputs = Inputs(self)
        self.outputs = Outputs(self)
        self.initializers = Initializers(self)
        self.inputs.extend(inputs)
        for initializer in initializers:
            if isinstance(initializer, Value):
                self.initializers.add(initializer)
            else:
                self.add_initializer(initializer.name, initializer)
        for node in nodes:
            self.append(node)
        self.outputs.extend(outputs)

    def __iter__(self) -> Iterator[Node]:
        for node in self.nodes:
            if node.graph is self:
                yield node

    def __reversed__(self) -> Iterator[Node]:
        for node in reversed(self.nodes):
            if node.graph is self:
                yield node

    def __len__(self) -> int:
        """The number of nodes, those of subgraphs not counted."""
        return self._count

    def __bool__(self) -> bool:
        return True

    @property
    def nodes(self) -> list[Node]:
        """The nodes in order: a list of its own, which later edits leave alone."""
        nodes = []
        node = self._head
        while node is not None:
            nodes.append(node)
            node = node._next
        return nodes

    @property
    def owner(self) -> Node | Function | Model | None:
        """Whose graph it is: a node's, a function's, a model's, or nobody's yet."""
        return self._owner

    @property
    def parent(self) -> Node | None:
        """The node whose attribute holds this graph; None for the graph of a model or a function."""
        return self._owner if isinstance(self._owner, Node) else None

    @property
    def outer(self) -> Graph | None:
        """The graph around the node that holds this one, whose values this one may read."""
        parent = self.parent
        return None if parent is None else parent.graph

    @property
    def root(self) -> Graph:
        """The outermost graph: this one, or the last of `outer`."""
        graph = self
        while (outer := graph.outer) is not None:
            graph = outer
        return graph

    def value(self, name: str) -> Value:
        """The value this graph defines under `name`; InputError with the nearest names if there is none."""
        value = self.find(name)
        if value is None:
            raise InputError(f"the graph has no value '{name}'", hint=nearest(name, [v.name for v in self.values()]))
        return value

    def find(self, name: str) -> Value | None:
        """The value this graph defines under `name`, or None."""
        return next((value for value in self.values() if value.name == name), None)

    def values(self) -> Iterator[Value]:
        """Every value the graph defines: inputs, initialisers, what its nodes compute."""
        yield from self.inputs
        inputs = set(self.inputs)
        for value in self.initializers.values():
            if value not in inputs:
                yield value
        for node in self.nodes:
            for value in node.outputs:
                if value.name:
                    yield value

    def append(self, node: Node) -> Node:
        """Put `node` last; a node already in a graph is moved."""
        self._link(node, self._tail, None)
        return node

    def extend(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.append(node)

    def insert_before(self, anchor: Node, *nodes: Node) -> None:
        """Put `nodes`, in their order, right before `anchor`."""
        self._own(anchor)
        for node in nodes:
            if node is not anchor:
                self._link(node, anchor._previous, anchor)

    def insert_after(self, anchor: Node, *nodes: Node) -> None:
        """Put `nodes`, in their order, right after `anchor`."""
        self._own(anchor)
        for node in nodes:
            if node is not anchor:
                self._link(node, anchor, anchor._next)
                anchor = node

    def remove(self, *nodes: Node) -> None:
        """Take `nodes` out; CheckError, and nothing removed, if what they compute is read by others or returned."""
        leaving = set(nodes)
        for node in nodes:
            self._own(node)
            inside = {graph for leaver in leaving for graph in _nested(leaver)}
            for value in node.outputs:
                if value.is_output:
                    raise CheckError(f"cannot remove '{node.label}': the graph returns '{value.name}'")
                for user, _ in value._uses:
                    if user not in leaving and user.graph not in inside:
                        raise CheckError(
                            f"cannot remove '{node.label}': '{user.label}' reads '{value.name}'",
                            hint="replace its uses first: value.replace_uses(other)",
                        )
        for node in nodes:
            self._unlink(node)
            node._set_live(False)

    def splice(self, nodes: Node | Iterable[Node], new: Iterable[Node], replace: Mapping[Value, Value]) -> None:
        """Replace `nodes` by `new`: `replace` says which new value stands in for which old one.

        The new nodes go where the first old one was; topological order is the caller's to keep or to restore with sort.
        """
        old = [nodes] if isinstance(nodes, Node) else list(nodes)
        if not old:
            raise InputError("splice needs at least one node to replace")
        self.insert_before(old[0], *new)
        for before, after in replace.items():
            before.replace_uses(after)
        self.remove(*old)

    def add_initializer(self, name: str, values: Tensor | SparseTensor | npt.ArrayLike) -> Value:
        """A new constant of the graph."""
        tensor = values if isinstance(values, Tensor | SparseTensor) else Tensor(values, name=name)
        return self.initializers.add(Value(name, constant=tensor))

    def return_instead(self, position: int, new: Value) -> None:
        """Return `new` as output `position`, under the name of what was returned there so far.

        `new` takes over the name and the old value gets a fresh one; where `new` cannot, because it is an input, an
        initialiser, another output or a value of an outer graph, an Identity node bears the name.
        """
        old = self.outputs[position]
        name = old.name
        old.name = self.fresh_name(name)
        if new.producer is not None and new.graph is self and not new.is_output:
            new.name = name
            new.type = new.type or old.type
            self.outputs[position] = new
        else:
            self.outputs[position] = self.append(Node("Identity", [new], [Value(name, old.type)])).output

    def fresh_name(self, stem: str = "value") -> str:
        """A name that no value of this graph, its subgraphs or the graphs around it has; taken from now on."""
        stem = stem or "value"
        names = self._known_names()
        name, count = stem, names.get(stem, 0)
        while name in names:
            count += 1
            name = f"{stem}_{count}"
        names[stem] = count
        names.setdefault(name, 0)
        return name

    def claim(self, name: str) -> None:
        """Note that `name` is taken, so that fresh names avoid it."""
        names = self.root._names
        if names is not None:
            names.setdefault(name, 0)

    def adopt(self, owner: Node | Function | Model | None) -> None:
        """Say whose graph this is; CheckError if it is somebody's already: a graph has one place."""
        if owner is not None and self._owner is not None:
            raise CheckError("the graph already belongs elsewhere", hint="give a copy: graph.copy()")
        self._owner = owner
        self._set_live(owner is not None and (not isinstance(owner, Node) or owner._live))
        if isinstance(owner, Node) and owner.graph is not None:
            owner.graph._claim_all(self)

    def sort(self) -> None:
        """Order the nodes so that each follows what it reads; CheckError naming the nodes of a cycle."""
        for node in sorted_nodes(self):
            self.append(node)

    def copy(self) -> Graph:
        """A deep copy; constants are shared, values of outer graphs are still the same ones."""
        from ingot.ir.clone import copy_graph  # it makes graphs, so it imports this module

        return copy_graph(self)

    def _own(self, node: Node) -> None:
        if node.graph is not self:
            raise InputError(f"node '{node.label}' is not in this graph")

    def _link(self, node: Node, previous: Node | None, following: Node | None) -> None:
        if node.graph is not None:
            if node is previous:
                previous = node._previous
            if node is following:
                following = node._next
            node.graph._unlink(node)
        node.graph = self
        node._previous, node._next = previous, following
        if previous is None:
            self._head = node
        else:
            previous._next = node
        if following is None:
            self._tail = node
        else:
            following._previous = node
        self._count += 1
        node._set_live(True)
        for value in node.outputs:
            if value._name is None:
                value._name = self.fresh_name(node.op_type.lower() or "value")
            else:
                self.claim(value._name)
        for subgraph in node.attributes.graphs():
            self._claim_all(subgraph)

    def _unlink(self, node: Node) -> None:
        if node._previous is None:
            self._head = node._next
        else:
            node._previous._next = node._next
        if node._next is None:
            self._tail = node._previous
        else:
            node._next._previous = node._previous
        node.graph = node._previous = node._next = None
        self._count -= 1

    def _set_live(self, live: bool) -> None:
        for node in self.nodes:
            node._set_live(live)

    def _known_names(self) -> dict[str, int]:
        """Every name in use from the root down, each with the last number a fresh name of that stem was given."""
        root = self.root
        if root._names is None:
            root._names = dict.fromkeys(_names_in(root), 0)
        return root._names

    def _claim_all(self, subgraph: Graph) -> None:
        names = self.root._names
        if names is not None:
            for name in _names_in(subgraph):
                names.setdefault(name, 0)

    def __repr__(self) -> str:
        ins = ", ".join(f"{v.name}: {v.type or '?'}" for v in self.inputs)
        outs = ", ".join(f"{v.name}: {v.type or '?'}" for v in self.outputs)
        return f"<Graph {self.name}({ins}) -> ({outs}), {len(self)} nodes>"


def _names_in(graph: Graph) -> Iterator[str]:
    """The names of all values that a graph and the graphs inside it define or read."""
    pending = [graph]
    while pending:
        current = pending.pop()
        for value in current.values():
            yield value.name
        for node in current.nodes:
            for read in node.inputs:
                if read is not None:
                    yield read.name
            pending.extend(node.attributes.graphs())


def _nested(node: Node) -> Iterator[Graph]:
    for graph in node.attributes.graphs():
        yield graph
        for inner in graph.nodes:
            yield from _nested(inner)
