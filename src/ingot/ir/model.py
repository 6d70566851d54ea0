"""A model: a graph, the functions it may call, the operator sets it imports, and its metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from ingot.dataclass import dataclass
from ingot.ir.annotated import Annotated
from ingot.ir.attribute import Attribute
from ingot.ir.domains import STANDARD, OpsetImports, canonical, spelled_out
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.sharding import DeviceConfiguration

if TYPE_CHECKING:
    from ingot.ir.value import Value

IR_VERSION = 14
"""The newest version of the format this package knows."""


class FunctionId(NamedTuple):
    """What a node names to call a function."""

    domain: str
    name: str
    overload: str = ""

    def __str__(self) -> str:
        text = f"{self.domain}.{self.name}" if self.domain else self.name
        return f"{text}:{self.overload}" if self.overload else text


class Function(Annotated):
    """An operator defined by a graph of its own; it sees its inputs and attributes, and nothing of its caller.

    `attributes` maps each attribute to its default, or to None where the caller must give it.
    """

    __slots__ = (
        "_domain",
        "_opset_imports",
        "attributes",
        "doc_string",
        "graph",
        "name",
        "overload",
        "residue",
    )

    def __init__(
        self,
        domain: str,
        name: str,
        graph: Graph,
        *,
        overload: str = "",
        attributes: Mapping[str, Attribute | None] | None = None,
        opset_imports: Mapping[str, int] | None = None,
        doc_string: str = "",
    ) -> None:
        self.domain = domain
        self.name = name
        self.overload = overload
        self.graph = graph
        self.attributes: dict[str, Attribute | None] = dict(attributes or {})
        self.opset_imports = OpsetImports(opset_imports or {})
        self.doc_string = doc_string
        self.residue: Any = None
        self._metadata = None
        graph.adopt(self)

    @property
    def domain(self) -> str:
        """The canonical name of the domain that calls give."""
        return self._domain

    @domain.setter
    def domain(self, domain: str) -> None:
        self._domain = canonical(domain)

    @property
    def opset_imports(self) -> OpsetImports:
        """The versions of the operator sets its body is written in, by domain."""
        return self._opset_imports

    @opset_imports.setter
    def opset_imports(self, imports: Mapping[str, int]) -> None:
        self._opset_imports = imports if isinstance(imports, OpsetImports) else OpsetImports(imports)

    @property
    def id(self) -> FunctionId:
        return FunctionId(self.domain, self.name, self.overload)

    @property
    def inputs(self) -> list[Value]:
        return list(self.graph.inputs)

    @property
    def outputs(self) -> list[Value]:
        return list(self.graph.outputs)

    def __repr__(self) -> str:
        return f"<Function {self.id}({', '.join(v.name for v in self.inputs)}), {len(self.graph)} nodes>"


@dataclass(slots=True, eq=False)
class TrainingInfo:
    """How to initialise and to step the training of a model; bindings map a state's name to what updates it."""

    initialization: Graph | None = None
    algorithm: Graph | None = None
    initialization_binding: dict[str, str] = field(default_factory=dict)
    update_binding: dict[str, str] = field(default_factory=dict)
    residue: Any = field(default=None, repr=False)


class Model:
    """A whole model: what `load` returns and `save` takes."""

    __slots__ = (
        "_opset_imports",
        "configurations",
        "doc_string",
        "domain",
        "functions",
        "graph",
        "ir_version",
        "metadata",
        "model_version",
        "producer_name",
        "producer_version",
        "residue",
        "training",
    )

    def __init__(
        self,
        graph: Graph,
        opset_imports: Mapping[str, int] | int,
        *,
        functions: Iterable[Function] = (),
        ir_version: int = IR_VERSION,
        producer_name: str = "",
        producer_version: str = "",
        domain: str = "",
        model_version: int = 0,
        doc_string: str = "",
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """A model of `graph`; an integer for `opset_imports` is the version of the standard operators."""
        self.graph = graph
        imports = {STANDARD: opset_imports} if isinstance(opset_imports, int) else opset_imports
        self.opset_imports = OpsetImports(imports)
        self.functions: dict[FunctionId, Function] = {function.id: function for function in functions}
        self.ir_version = ir_version
        self.producer_name = producer_name
        self.producer_version = producer_version
        self.domain = domain
        self.model_version = model_version
        self.doc_string = doc_string
        self.metadata: dict[str, str] = dict(metadata or {})
        self.training: list[TrainingInfo] = []
        self.configurations: list[DeviceConfiguration] = []
        self.residue: Any = None
        graph.adopt(self)

    @property
    def opset_imports(self) -> OpsetImports:
        """The versions of the operator sets it is written in, by domain."""
        return self._opset_imports

    @opset_imports.setter
    def opset_imports(self, imports: Mapping[str, int]) -> None:
        self._opset_imports = imports if isinstance(imports, OpsetImports) else OpsetImports(imports)

    @property
    def opset(self) -> int | None:
        """The version of the standard operators it imports; None if it imports none."""
        return self._opset_imports.get(STANDARD)

    def function_of(self, node: Node) -> Function | None:
        """The function of the model that `node` calls; None if it applies an operator."""
        if not self.functions:
            return None
        return self.functions.get(FunctionId(node.domain, node.op_type, node.overload))

    @property
    def inputs(self) -> list[Value]:
        """What a caller must give: the graph's inputs without those that have a default."""
        return [value for value in self.graph.inputs if value.constant is None]

    @property
    def outputs(self) -> list[Value]:
        return list(self.graph.outputs)

    def graphs(self) -> Iterator[Graph]:
        """Every graph: the main one, those of training and of functions, and all their subgraphs, outermost first."""
        for root in self.roots():
            yield from nested_graphs(root)

    def roots(self) -> Iterator[Graph]:
        """The graphs that no node holds: the main one, those of training, the bodies of functions."""
        yield self.graph
        for training in self.training:
            if training.initialization is not None:
                yield training.initialization
            if training.algorithm is not None:
                yield training.algorithm
        for function in self.functions.values():
            yield function.graph

    def nodes(self) -> Iterator[Node]:
        """Every node of every graph, subgraphs and functions included."""
        for graph in self.graphs():
            yield from graph

    def copy(self) -> Model:
        """A deep copy; constants are shared."""
        from ingot.ir.clone import copy_model  # it makes models, so it imports this module

        return copy_model(self)

    def __repr__(self) -> str:
        imports = ", ".join(f"{spelled_out(domain)} {version}" for domain, version in self.opset_imports.items())
        return f"<Model {self.graph!r}, {imports}>"


def nested_graphs(graph: Graph) -> Iterator[Graph]:
    """`graph` and the graphs inside its nodes, however deep, outermost first."""
    pending = [graph]
    while pending:
        current = pending.pop()
        yield current
        inner = [subgraph for node in current.nodes if node.attributes for subgraph in node.attributes.graphs()]
        pending.extend(reversed(inner))
