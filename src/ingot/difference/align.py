"""Which node of one graph is which of another: by operators, wiring and weights first, by names and places then.

Each phase pairs nodes that no earlier one has paired, and the surest come first: nodes that compute the same from the
same inputs and weights; nodes of one operator and name; neighbours of pairs; nodes of one operator in order between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from hashlib import blake2b

from ingot.dtypes import DType
from ingot.errors import ExternalDataError
from ingot.ir.attribute import Attribute
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value

Digests = dict[Value, Hashable]


class Alignment:
    """Pairs of nodes of two graphs, in both directions."""

    def __init__(self, a: Graph, b: Graph) -> None:
        self.a, self.b = a, b
        self.partner: dict[Node, Node] = {}
        self.origin: dict[Node, Node] = {}

    def pair(self, a: Node, b: Node) -> None:
        self.partner[a] = b
        self.origin[b] = a

    @property
    def left(self) -> list[Node]:
        """Nodes of the first graph without a partner, in order."""
        return [node for node in self.a.nodes if node not in self.partner]

    @property
    def right(self) -> list[Node]:
        """Nodes of the second graph without a partner, in order."""
        return [node for node in self.b.nodes if node not in self.origin]


def align(a: Graph, b: Graph, weights: Callable[[Tensor | SparseTensor], Hashable] | None = None) -> Alignment:
    """Pair the nodes of two graphs; `weights` gives the digests of constants, of their elements if it is None."""
    alignment = Alignment(a, b)
    digest = weights or content_digest
    _pair_by(alignment, _deep_digests(a, digest), _deep_digests(b, digest))
    _pair_by(alignment, _own_digests(a, digest), _own_digests(b, digest))
    _pair_neighbours(alignment)
    _pair_by(alignment, _deep_digests(a, _type_digest), _deep_digests(b, _type_digest))
    _pair_neighbours(alignment)
    _pair_by(alignment, {node: _named(node) for node in a.nodes}, {node: _named(node) for node in b.nodes})
    _pair_neighbours(alignment)
    _pair_in_order(alignment)
    _pair_neighbours(alignment)
    return alignment


def content_digest(tensor: Tensor | SparseTensor) -> Hashable:
    """The type and shape of a constant, and a digest of its elements; where these are missing, of where they lie."""
    if isinstance(tensor, SparseTensor):
        return tensor.shape, content_digest(tensor.values), content_digest(tensor.indices)
    try:
        raw = b"\0".join(tensor.strings()) if tensor.dtype is DType.STRING else tensor.raw()
    except ExternalDataError:
        return tensor.dtype, tensor.shape, place_of(tensor)
    return tensor.dtype, tensor.shape, blake2b(raw, digest_size=16).digest()


def place_of(tensor: Tensor) -> Hashable:
    """Where the elements of a constant lie outside of its model."""
    external = tensor.external
    return None if external is None else (external.location, external.offset, external.length)


def _type_digest(tensor: Tensor | SparseTensor) -> Hashable:
    return tensor.dtype, tensor.shape


def _deep_digests(graph: Graph, weights: Callable[[Tensor | SparseTensor], Hashable]) -> dict[Node, Hashable]:
    """A digest of what each node computes, from the inputs of the graph and its weights on."""
    values: Digests = {value: ("input", place) for place, value in enumerate(graph.inputs)}
    values |= {value: ("weight", weights(value.constant)) for value in graph.initializers.values() if value.constant}
    digests: dict[Node, Hashable] = {}
    for node in graph.nodes:
        inputs = tuple(None if value is None else values.get(value, ("outer", value.name)) for value in node.inputs)
        digests[node] = hash((_signature(node), inputs))
        values |= {value: (digests[node], value.index) for value in node.outputs}
    return digests


def _own_digests(graph: Graph, weights: Callable[[Tensor | SparseTensor], Hashable]) -> dict[Node, Hashable]:
    """A digest of each node and the weights that it reads; nothing that another has where it reads none."""
    digests: dict[Node, Hashable] = {}
    for node in graph.nodes:
        constants = [None if value is None else value.constant for value in node.inputs]
        read = tuple(None if constant is None else weights(constant) for constant in constants)
        digests[node] = (_signature(node), read) if any(constant is not None for constant in constants) else id(node)
    return digests


def _signature(node: Node) -> Hashable:
    attributes = tuple(sorted((name, attribute_digest(item)) for name, item in node.attributes.items()))
    return node.domain, node.op_type, node.overload, attributes


def attribute_digest(attribute: Attribute) -> str:
    """A text that is the same for attributes of the same content; graphs by what their nodes are."""
    if attribute.graphs:
        return str([[hash(_signature(node)) for node in graph.nodes] for graph in attribute.graphs])
    if attribute.tensors:
        return str([content_digest(tensor) for tensor in attribute.tensors])
    return f"{attribute.kind.name} {attribute.ref} {attribute.value!r}"


def _named(node: Node) -> Hashable:
    """What nodes of the same name share; nothing that another has where it has no name."""
    name = node.name or next((value.name for value in node.outputs if value.name), "")
    return (node.domain, node.op_type, name) if name else id(node)


def _pair_by(alignment: Alignment, of_a: dict[Node, Hashable], of_b: dict[Node, Hashable]) -> None:
    """Pair nodes of equal keys that are as many on both sides, in order."""
    groups: dict[Hashable, list[Node]] = defaultdict(list)
    for node in alignment.right:
        groups[of_b[node]].append(node)
    wanting: dict[Hashable, list[Node]] = defaultdict(list)
    for node in alignment.left:
        wanting[of_a[node]].append(node)
    for key, nodes in wanting.items():
        if len(groups[key]) == len(nodes):
            for one, other in zip(nodes, groups[key], strict=True):
                alignment.pair(one, other)


def _pair_neighbours(alignment: Alignment) -> None:
    """Pair producers of the same input, and only readers of the same output, of pairs, until there are no more."""
    pending = list(alignment.partner.items())
    while pending:
        for pair in _neighbours(*pending.pop()):
            if pair[0] in alignment.partner or pair[1] in alignment.origin:
                continue
            alignment.pair(*pair)
            pending.append(pair)


def _neighbours(a: Node, b: Node) -> Iterator[tuple[Node, Node]]:
    for one, other in zip(a.inputs, b.inputs, strict=False):
        if one is None or other is None or one.producer is None or other.producer is None:
            continue
        if (
            one.producer.graph is a.graph
            and other.producer.graph is b.graph
            and _is_alike(one.producer, other.producer)
        ):
            yield one.producer, other.producer
    for value, twin in zip(a.outputs, b.outputs, strict=False):
        for use in value.uses:
            readers = [
                other.node
                for other in twin.uses
                if other.position == use.position and other.node.graph is b.graph and _is_alike(use.node, other.node)
            ]
            same = [other for other in value.uses if other.position == use.position and _is_alike(use.node, other.node)]
            if len(readers) == 1 and len(same) == 1 and use.node.graph is a.graph:
                yield use.node, readers[0]


def _is_alike(a: Node, b: Node) -> bool:
    return a.applies(b.op_type, domain=b.domain)


def _pair_in_order(alignment: Alignment) -> None:
    """Pair what is left between two pairs, and of one operator, in the order of the graphs."""
    for left, right in _gaps(alignment):
        matcher = SequenceMatcher(None, [_key(node) for node in left], [_key(node) for node in right], autojunk=False)
        for start, other, length in matcher.get_matching_blocks():
            for place in range(length):
                alignment.pair(left[start + place], right[other + place])


def _key(node: Node) -> Hashable:
    return node.domain, node.op_type


def _gaps(alignment: Alignment) -> Iterator[tuple[Sequence[Node], Sequence[Node]]]:
    """The nodes without a partner that stand behind the same pair, in both graphs."""
    behind_a = _behind(alignment.a.nodes, alignment.partner)
    behind_b = _behind(alignment.b.nodes, alignment.origin)
    for anchor, nodes in behind_a.items():
        partner = None if anchor is None else alignment.partner[anchor]
        others = behind_b.get(partner, [])
        if nodes and others:
            yield nodes, others


def _behind(nodes: Sequence[Node], paired: dict[Node, Node]) -> dict[Node | None, list[Node]]:
    groups: dict[Node | None, list[Node]] = {None: []}
    anchor: Node | None = None
    for node in nodes:
        if node in paired:
            anchor = node
            groups[anchor] = []
        else:
            groups[anchor].append(node)
    return groups
