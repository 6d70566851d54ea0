"""A graph in single-assignment form: values, and the nodes that define and use them.

The links are kept by the objects themselves: a node is a user of its inputs from the moment it is made until it is
removed, and `value.uses` is always right, across subgraphs too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from ingot.errors import CheckError, InputError, nearest
from ingot.ir.attribute import Attribute, Attributes
from ingot.ir.sort import sorted_nodes
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import Type
from ingot.ir.values import Initializers, Inputs, Outputs

if TYPE_CHECKING:
    from ingot.ir.attribute import AttributeValue
    from ingot.ir.model import Function, Model
    from ingot.ir.sharding import NodeConfiguration, TensorAnnotation


class Use(NamedTuple):
    """One place where a value is read: input `position` of `node`."""

    node: Node
    position: int


class Value:
    """What flows along one edge: defined once, by a node, an input or an initialiser, and read any number of times.

    A value with the empty name is an output nobody asked for.
    """

    __slots__ = (
        "_graph",
        "_metadata",
        "_name",
        "_output_of",
        "_uses",
        "constant",
        "doc_string",
        "index",
        "producer",
        "residue",
        "type",
    )

    type: Type | None
    constant: Tensor | SparseTensor | None
    doc_string: str
    producer: Node | None
    index: int
    residue: Any
    _name: str | None
    _graph: Graph | None
    _metadata: dict[str, str] | None
    _output_of: list[Graph] | None
    _uses: dict[tuple[Node, int], None]

    def __init__(
        self,
        name: str | None = None,
        type: Type | None = None,
        *,
        constant: Tensor | SparseTensor | None = None,
        doc_string: str = "",
    ) -> None:
        """A value that nothing defines yet. Without a name it gets a fresh one when it enters a graph."""
        self._name = name
        self.type = type if type is not None or constant is None else constant.type
        self.constant = constant
        self.doc_string = doc_string
        self.producer = None
        self.index = 0
        self.residue = None
        self._graph = None
        self._metadata = None
        self._output_of = None
        self._uses = {}

    @property
    def name(self) -> str:
        return self._name or ""

    @name.setter
    def name(self, name: str) -> None:
        self._name = name
        if (graph := self.graph) is not None:
            graph.claim(name)

    @property
    def metadata(self) -> dict[str, str]:
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def graph(self) -> Graph | None:
        """The graph that defines it; None for a value nothing defines."""
        return self._graph if self.producer is None else self.producer.graph

    @property
    def uses(self) -> tuple[Use, ...]:
        """Where it is read, subgraphs included, in the order the uses were made."""
        return tuple(Use(*use) for use in self._uses)

    @property
    def users(self) -> tuple[Node, ...]:
        """The nodes that read it, each once."""
        return tuple(dict.fromkeys(node for node, _ in self._uses))

    @property
    def is_input(self) -> bool:
        return self._graph is not None and self in self._graph.inputs

    @property
    def is_output(self) -> bool:
        """Whether a graph returns it."""
        return bool(self._output_of)

    @property
    def is_initializer(self) -> bool:
        return self._graph is not None and self.constant is not None and self in self._graph.initializers.values()

    def replace_uses(self, new: Value) -> None:
        """Make everything that reads this value read `new`; where a graph returns it, the graph returns `new`.

        The names of a graph's outputs stay: `new` takes over the name, or, where it cannot because it is an input, an
        initialiser, another output or a value of an outer graph, an Identity node that bears it.
        """
        if new is self:
            return
        for node, index in list(self._uses):
            node.replace_input(index, new)
        for graph in list(self._output_of or ()):
            for position, value in enumerate(graph.outputs):
                if value is self:
                    graph.outputs[position] = _returned_as(self, new, graph)

    def __repr__(self) -> str:
        return f"<Value {self.name!r}: {self.type or '?'}>"


def _returned_as(old: Value, new: Value, graph: Graph) -> Value:
    name = old.name
    old.name = graph.fresh_name(name)
    if new.producer is not None and new.graph is graph and not new.is_output:
        new.name = name
        new.type = new.type or old.type
        return new
    node = Node("Identity", [new], [Value(name, old.type)])
    graph.append(node)
    return node.outputs[0]


class Node:
    """One application of an operator."""

    __slots__ = (
        "_inputs",
        "_live",
        "_metadata",
        "_next",
        "_outputs",
        "_previous",
        "attributes",
        "device_configurations",
        "doc_string",
        "domain",
        "graph",
        "name",
        "op_type",
        "overload",
        "residue",
    )

    op_type: str
    domain: str
    overload: str
    name: str
    doc_string: str
    attributes: Attributes
    device_configurations: tuple[NodeConfiguration, ...]
    graph: Graph | None
    residue: Any
    _inputs: tuple[Value | None, ...]
    _outputs: tuple[Value, ...]
    _live: bool
    _metadata: dict[str, str] | None
    _previous: Node | None
    _next: Node | None

    def __init__(
        self,
        op_type: str,
        inputs: Iterable[Value | None] = (),
        outputs: int | Iterable[Value | str] = 1,
        attributes: Iterable[Attribute] | Mapping[str, object] = (),
        *,
        domain: str = "",
        overload: str = "",
        name: str = "",
        doc_string: str = "",
    ) -> None:
        """A node outside any graph; `outputs` are values, names, or how many to make. None is an omitted input."""
        self.op_type = op_type
        self.domain = domain
        self.overload = overload
        self.name = name
        self.doc_string = doc_string
        self.device_configurations = ()
        self.graph = None
        self.residue = None
        self._metadata = None
        self._previous = self._next = None
        self._live = True
        self._inputs = tuple(inputs)
        for index, value in enumerate(self._inputs):
            if value is not None:
                value._uses[self, index] = None
        made = [Value() for _ in range(outputs)] if isinstance(outputs, int) else outputs
        self._outputs = tuple(Value(out) if isinstance(out, str) else out for out in made)
        for index, value in enumerate(self._outputs):
            if value.producer is not None or value._graph is not None:
                raise CheckError(f"value '{value.name}' is already defined elsewhere")
            value.producer, value.index = self, index
        self.attributes = Attributes(self, attributes)

    @property
    def inputs(self) -> tuple[Value | None, ...]:
        return self._inputs

    @inputs.setter
    def inputs(self, inputs: Iterable[Value | None]) -> None:
        if self._live:
            self._drop_uses()
        self._inputs = tuple(inputs)
        if self._live:
            self._add_uses()

    def replace_input(self, index: int, value: Value | None) -> None:
        """Read `value` at `index`; None omits the input."""
        inputs = list(self._inputs)
        inputs[index] = value
        if self._live:
            old = self._inputs[index]
            if old is not None:
                del old._uses[self, index]
            if value is not None:
                value._uses[self, index] = None
        self._inputs = tuple(inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        return self._outputs

    @property
    def output(self) -> Value:
        """The first output."""
        return self._outputs[0]

    def add_output(self, value: Value | str | None = None) -> Value:
        """One more output at the end."""
        made = value if isinstance(value, Value) else Value(value)
        if made.producer is not None or made._graph is not None:
            raise CheckError(f"value '{made.name}' is already defined elsewhere")
        made.producer, made.index = self, len(self._outputs)
        self._outputs += (made,)
        if self.graph is not None and made._name is None:
            made.name = self.graph.fresh_name(self.op_type.lower())
        return made

    @property
    def metadata(self) -> dict[str, str]:
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def subgraphs(self) -> tuple[Graph, ...]:
        """The graphs its attributes hold: the branches of an If, the body of a Loop or Scan."""
        return tuple(self.attributes.graphs())

    @property
    def label(self) -> str:
        """What messages call it: its name, or the name of what it computes."""
        return self.name or next((v.name for v in self._outputs if v.name), "") or f"<unnamed {self.op_type}>"

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or `default` if the node does not have it."""
        attribute = self.attributes.get(name)
        return default if attribute is None else attribute.value

    def __getitem__(self, name: str) -> AttributeValue:
        """The value of an attribute; KeyError if the node does not have it."""
        return self.attributes[name].value

    def __setitem__(self, name: str, value: object) -> None:
        self.attributes[name] = value

    def __delitem__(self, name: str) -> None:
        del self.attributes[name]

    def __contains__(self, name: str) -> bool:
        return name in self.attributes

    def _add_uses(self) -> None:
        for index, value in enumerate(self._inputs):
            if value is not None:
                value._uses[self, index] = None

    def _drop_uses(self) -> None:
        for index, value in enumerate(self._inputs):
            if value is not None:
                value._uses.pop((self, index), None)

    def _set_live(self, live: bool) -> None:
        """Start or stop being a user of the inputs, and so with every node of the subgraphs."""
        if live == self._live:
            return
        self._live = live
        if live:
            self._add_uses()
        else:
            self._drop_uses()
        for graph in self.attributes.graphs():
            graph._set_live(live)

    def __repr__(self) -> str:
        ins = ", ".join("" if v is None else v.name for v in self._inputs)
        outs = ", ".join(v.name for v in self._outputs)
        domain = f"{self.domain}." if self.domain else ""
        return f"<Node {outs} = {domain}{self.op_type}({ins})>"


class Graph:
    """Nodes in order, with the values that enter and leave.

    Iterating visits the nodes that are in the graph when the walk begins and still in it when their turn comes, so a
    walk may insert, replace and remove as it goes.
    """

    __slots__ = (
        "_count",
        "_head",
        "_metadata",
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
    _names: set[str] | None
    _metadata: dict[str, str] | None

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
    def metadata(self) -> dict[str, str]:
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

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
        found = self.find(name)
        if found is None:
            raise InputError(f"the graph has no value '{name}'", hint=nearest(name, [v.name for v in self.values()]))
        return found

    def find(self, name: str) -> Value | None:
        """The value this graph defines under `name`, or None."""
        return next((value for value in self.values() if value.name == name), None)

    def values(self) -> Iterator[Value]:
        """Every value the graph defines: inputs, initialisers, what its nodes compute."""
        yield from self.inputs
        for value in self.initializers.values():
            if not value.is_input:
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

    def fresh_name(self, stem: str = "value") -> str:
        """A name that no value of this graph, its subgraphs or the graphs around it has; taken from now on."""
        names = self._known_names()
        name, count = stem or "value", 0
        while name in names:
            count += 1
            name = f"{stem}_{count}"
        names.add(name)
        return name

    def claim(self, name: str) -> None:
        """Note that `name` is taken, so that fresh names avoid it."""
        root = self.root
        if root._names is not None:
            root._names.add(name)

    def adopt(self, owner: Node | Function | Model | None) -> None:
        """Say whose graph this is; CheckError if it is somebody's already: a graph has one place."""
        if owner is not None and self._owner is not None and self._owner is not owner:
            raise CheckError("the graph already belongs elsewhere", hint="give a copy: graph.copy()")
        self._owner = owner
        if isinstance(owner, Node):
            self._set_live(owner._live)
            if owner.graph is not None:
                owner.graph.root._names = None
        elif owner is None:
            self._set_live(False)
        else:
            self._set_live(True)

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
        if any(True for _ in node.attributes.graphs()):
            self.root._names = None

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

    def _known_names(self) -> set[str]:
        root = self.root
        if root._names is None:
            names: set[str] = set()
            pending = [root]
            while pending:
                graph = pending.pop()
                names.update(value.name for value in graph.values())
                for node in graph.nodes:
                    names.update(value.name for value in node.inputs if value is not None)
                    pending.extend(node.attributes.graphs())
            root._names = names
        return root._names

    def __repr__(self) -> str:
        ins = ", ".join(f"{v.name}: {v.type or '?'}" for v in self.inputs)
        outs = ", ".join(f"{v.name}: {v.type or '?'}" for v in self.outputs)
        return f"<Graph {self.name}({ins}) -> ({outs}), {len(self)} nodes>"


def _nested(node: Node) -> Iterator[Graph]:
    for graph in node.attributes.graphs():
        yield graph
        for inner in graph.nodes:
            yield from _nested(inner)
