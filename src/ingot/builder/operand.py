"""What stands for something of the graph in the user's function: a value, or an attribute of a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ingot.builder.location import failure
from ingot.ir.attribute import AttributeKind
from ingot.ir.value import Value

if TYPE_CHECKING:
    from ingot.builder.scope import Trace


class Traced:
    """A value of the graph that is being built."""

    __slots__ = ("value",)

    value: Value

    def __init__(self, value: Value | Traced) -> None:
        self.value = value.value if isinstance(value, Traced) else value


class AttributeRef:
    """An attribute of the function that is being built: usable as an attribute of its nodes, and as an operand."""

    __slots__ = ("_trace", "kind", "name")

    def __init__(self, name: str, kind: AttributeKind, trace: Trace) -> None:
        self.name = name
        self.kind = kind
        self._trace = trace

    def checked(self, trace: Trace) -> AttributeRef:
        """Itself; BuildError if it belongs to another function than the one being built."""
        if trace is not self._trace:
            raise failure(f"attribute '{self.name}' belongs to another function", hint="declare it in this one too")
        return self

    def __bool__(self) -> NoReturn:
        raise self._unknown()

    def __eq__(self, other: object) -> NoReturn:
        raise self._unknown()

    __hash__ = object.__hash__

    def _unknown(self) -> Exception:
        return failure(
            f"attribute '{self.name}' is not known while the function is built",
            hint="make two functions, or decide where the function is called",
        )

    def __repr__(self) -> str:
        return f"<AttributeRef {self.name}: {self.kind.name.lower()}>"
