"""Edits of a model, as data: each names what it changes by the names in the model as it is then."""

from __future__ import annotations

from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.ir.types import Type

AttributeLiteral: TypeAlias = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A graph of a model: the main one, or the body of a function, or one inside of nodes of these.

    `function` is the domain, name and overload of a function. `inside` are ways into nodes, from the outside: a value
    that the node computes, the name of its attribute, and which of its graphs.
    """

    function: tuple[str, str, str] | None = None
    inside: tuple[tuple[str, str, int], ...] = ()


MAIN = Place()


@dataclass(frozen=True, slots=True)
class Named:
    """A value by its name in the graph at a place."""

    place: Place
    value: str


@dataclass(frozen=True, slots=True)
class RenameValue:
    """Another name for a value."""

    place: Place
    value: str
    name: str


@dataclass(frozen=True, slots=True)
class RenameNode:
    """Another name for the node that computes `value`."""

    place: Place
    value: str
    name: str


@dataclass(frozen=True, slots=True)
class Delete:
    """The node that computes `value` taken out: its readers read its first input."""

    place: Place
    value: str


@dataclass(frozen=True, slots=True)
class Insert:
    """A node put behind `value`, which reads it first, and `inputs` besides; what read the value reads its output."""

    place: Place
    value: str
    operator: str
    domain: str
    output: str
    inputs: tuple[Named, ...] = ()
    attributes: tuple[tuple[str, AttributeLiteral], ...] = ()


@dataclass(frozen=True, slots=True)
class Rewire:
    """Another source for input `index` of the node that computes `value`; None omits it."""

    place: Place
    value: str
    index: int
    source: Named | None


@dataclass(frozen=True, slots=True)
class SetOperator:
    """Another operator for the node that computes `value`."""

    place: Place
    value: str
    operator: str
    domain: str


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """Another value for an attribute of the node that computes `value`; None removes it.

    `kind` is that of an empty list, which does not show it.
    """

    place: Place
    value: str
    name: str
    literal: AttributeLiteral | None
    kind: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class SetWeight:
    """Other elements for a constant: an initialiser, or what a Constant node states."""

    place: Place
    value: str
    array: Array


@dataclass(frozen=True, slots=True)
class FillWeight:
    """One number for all elements of a constant."""

    place: Place
    value: str
    number: float
    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class SetType:
    """Another type for an input of the main graph."""

    value: str
    type: Type


@dataclass(frozen=True, slots=True)
class AddOutput:
    """A value that the main graph returns too."""

    value: str


@dataclass(frozen=True, slots=True)
class RemoveOutput:
    """A value that the main graph returns no longer."""

    value: str


@dataclass(frozen=True, slots=True)
class CutOut:
    """The part between values of the main graph, as the whole; no `inputs` are those that are needed."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApplyPass:
    """A pass over the whole model, by its name in `passes.PASSES`."""

    name: str


Edit: TypeAlias = (
    RenameValue
    | RenameNode
    | Delete
    | Insert
    | Rewire
    | SetOperator
    | SetAttribute
    | SetWeight
    | FillWeight
    | SetType
    | AddOutput
    | RemoveOutput
    | CutOut
    | ApplyPass
)
