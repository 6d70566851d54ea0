"""Nodes: applications of operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ingot.errors import CheckError
from ingot.ir.annotated import Annotated
from ingot.ir.attribute import Attribute, Attributes
from ingot.ir.domains import STANDARD, canonical
from ingot.ir.value import Value

if TYPE_CHECKING:
    from ingot.ir.attribute import AttributeValue
    from ingot.ir.graph import Graph
    from ingot.ir.sharding import NodeConfiguration

_Rule = TypeVar("_Rule")


class Node(Annotated):
    """One application of an operator, or a call of a function: `op_type` of `domain`."""

    __slots__ = (
        "_domain",
        "_inputs",
        "_live",
        "_next",
        "_outputs",
        "_previous",
        "attributes",
        "device_configurations",
        "doc_string",
        "graph",
        "name",
        "op_type",
        "overload",
        "residue",
    )

    op_type: str
    overload: str
    name: str
    doc_string: str
    attributes: Attributes
    device_configurations: tuple[NodeConfiguration, ...]
    graph: Graph | None
    residue: Any
    _domain: str
    _inputs: tuple[Value | None, ...]
    _outputs: tuple[Value, ...]
    _live: bool
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
        values = [Value() for _ in range(outputs)] if isinstance(outputs, int) else outputs
        self._outputs = tuple(Value(out) if isinstance(out, str) else out for out in values)
        for index, value in enumerate(self._outputs):
            if value.producer is not None or value._graph is not None:
                raise CheckError(f"value '{value.name}' is already defined elsewhere")
            value.producer, value.index = self, index
        self.attributes = Attributes(self, attributes)
        self._add_uses()

    @property
    def domain(self) -> str:
        """Where its operator is from: the canonical name of a domain, empty for the standard operators."""
        return self._domain

    @domain.setter
    def domain(self, domain: str) -> None:
        self._domain = canonical(domain)

    def applies(self, *op_types: str, domain: str = STANDARD) -> bool:
        """Whether it applies one of the operators named, of the standard or of the `domain` given."""
        return self.op_type in op_types and (self._domain == domain or self._domain == canonical(domain))

    def rule_in(self, table: Mapping[str, _Rule], domain: str = STANDARD) -> _Rule | None:
        """What a table of the operators of one domain has for it; None if it has nothing, or it is of another."""
        return table.get(self.op_type) if self._domain == canonical(domain) else None

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
        output = value if isinstance(value, Value) else Value(value)
        if output.producer is not None or output._graph is not None:
            raise CheckError(f"value '{output.name}' is already defined elsewhere")
        output.producer, output.index = self, len(self._outputs)
        self._outputs += (output,)
        if self.graph is not None and output._name is None:
            output.name = self.graph.fresh_name(self.op_type.lower())
        return output

    @property
    def subgraphs(self) -> tuple[Graph, ...]:
        """The graphs its attributes hold: the branches of an If, the body of a Loop or Scan."""
        return tuple(self.attributes.graphs()) if self.attributes else ()

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
