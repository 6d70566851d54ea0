"""`op`: a node for every operator of every domain, by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from ingot.builder import control
from ingot.builder.emission import emit
from ingot.builder.known import dtype_of
from ingot.builder.literals import as_value, is_literal
from ingot.builder.scope import current
from ingot.builder.variable import Var
from ingot.ir.attribute import Attribute
from ingot.ir.domains import canonical, spelled_out
from ingot.ir.graph import Graph
from ingot.ir.value import Value


class Operator:
    """One operator: calling it makes a node."""

    __slots__ = ("domain", "op_type", "overload")

    def __init__(self, domain: str, op_type: str, overload: str = "") -> None:
        self.domain = domain
        self.op_type = op_type
        self.overload = overload

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, *inputs: object, outputs: Literal[1] | str = 1, name: str | None = None, **attributes: object
    ) -> Var: ...
    @overload
    def __call__(
        self, *inputs: object, outputs: int | Sequence[str | None], name: str | None = None, **attributes: object
    ) -> tuple[Var, ...]: ...
    def __call__(
        self,
        *inputs: object,
        outputs: int | str | Sequence[str | None] = 1,
        name: str | None = None,
        **attributes: object,
    ) -> Var | tuple[Var, ...]:
        """A node with these inputs and attributes, and what it computes.

        Inputs are values, arrays, numbers, lists, and None for one left out. `outputs` is how many results to make, the
        name of the only one, or a name for each (None for one that is not wanted); several, or those of a list, come as
        a tuple. `name` names the node and its result; a name already taken gets a number. An attribute that is None is
        not set. An `ir.Attribute` among the inputs is set as it is, for one that no keyword can express.
        """
        current(f"op.{self.op_type}")
        stated = {item.name: item for item in inputs if isinstance(item, Attribute)}
        values = emit(
            self.op_type,
            _values([item for item in inputs if not isinstance(item, Attribute)]),
            {**stated, **attributes},
            outputs=outputs,
            domain=self.domain,
            overload=self.overload,
            name=name,
        )
        results = tuple(Var(value) for value in values)
        return results[0] if outputs == 1 or isinstance(outputs, str) else results

    def __repr__(self) -> str:
        return f"<Operator {self.domain + '.' if self.domain else ''}{self.op_type}>"


class Operators:
    """The operators of one domain as attributes: `ops.Relu` is an Operator whether or not the domain has it."""

    __slots__ = ("_domain",)

    def __init__(self, domain: str) -> None:
        self._domain = canonical(domain)

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("_"):
            raise AttributeError(name)
        return Operator(self._domain, name)

    def __getitem__(self, name: str | tuple[str, str]) -> Operator:
        """The operator of a name that is no Python identifier, or only known at run time; or of a name and overload."""
        return Operator(self._domain, name) if isinstance(name, str) else Operator(self._domain, *name)

    def __repr__(self) -> str:
        return f"<Operators of {spelled_out(self._domain)}>"


class StandardOperators(Operators):
    """The standard operators; those with bodies take Python functions for them."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("")

    def domain(self, domain: str) -> Operators:
        """The operators of another domain: `op.domain("com.microsoft").FusedMatMul(a, b)`."""
        return Operators(domain)

    def If(  # noqa: N802
        self,
        cond: object,
        *,
        then: Callable[[], object] | None = None,
        else_: Callable[[], object] | None = None,
        then_branch: Graph | None = None,
        else_branch: Graph | None = None,
        outputs: str | Sequence[str | None] | None = None,
        name: str | None = None,
    ) -> Any:
        """What `then()` returns where `cond` is true, else what `else_()` returns: a value, or a tuple of several.

        The functions take nothing and read the values around them. Graphs are taken as they are. `outputs` names the
        results, as in any other call.
        """
        return control.if_(cond, then or then_branch, else_ or else_branch, outputs, name)

    def Loop(  # noqa: N802
        self,
        trip_count: object,
        cond: object,
        *init: object,
        body: Callable[..., object] | Graph,
        outputs: str | Sequence[str | None] | None = None,
        name: str | None = None,
    ) -> Any:
        """The states after `body` ran `trip_count` times, or until it says stop; then what it collected, stacked.

        `body(i, *states)` returns the new states, then any values to collect. Where `cond` is given, it returns first
        whether to go on; where `cond` is None, the loop runs `trip_count` times, and where both are, for ever.
        """
        return control.loop(trip_count, cond, init, body, outputs, name)

    def Scan(  # noqa: N802
        self,
        *inputs: object,
        body: Callable[..., object] | Graph,
        outputs: str | Sequence[str | None] | None = None,
        name: str | None = None,
        **attributes: object,
    ) -> Any:
        """The states after `body` ran once for each slice of the inputs; then what it collected, stacked.

        `op.Scan(states, inputs, body=f)`: each one value or a list of them; `f(*states, *slices)` returns the new
        states, then any values to collect. With a graph for `body`, states and inputs are given one after another.
        """
        return control.scan(inputs, body, attributes, outputs, name)


op = StandardOperators()
"""The standard operators, and by `op.domain(...)` all others."""


def _values(inputs: Sequence[object]) -> list[Value | None]:
    """The inputs as values; a Python float takes the first floating-point type among the others, if there is one."""
    values = [None if item is None or is_literal(item) else as_value(item) for item in inputs]
    floats = (dtype_of(value) for value in values if value is not None)
    dtype = next(
        (dtype_of_operand for dtype_of_operand in floats if dtype_of_operand is not None and dtype_of_operand.is_float),
        None,
    )
    for position, item in enumerate(inputs):
        if is_literal(item):
            values[position] = as_value(item, dtype=dtype if isinstance(item, float) else None)
    return values
