"""Where nodes go now: the model or function in the making, and the graph of it that is being written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ingot.builder.location import failure
from ingot.builder.names import Names
from ingot.builder.versions import OPSET, domain_version_of
from ingot.errors import BuildError
from ingot.ir.domains import STANDARD
from ingot.ir.graph import Graph
from ingot.ir.model import Function, FunctionId
from ingot.ir.node import Node
from ingot.ir.value import Value

if TYPE_CHECKING:
    from ingot.builder.constants import Constants

Checker = Callable[[Node, Mapping[str, int]], None]
"""Called with each node as it is made and the operator sets in force; it may set the types of the node's outputs, and
raises CheckError where the node breaks the standard."""


class Trace:
    """One model or function in the making; shared by its graph and the bodies inside."""

    __slots__ = (
        "bodies",
        "calls",
        "check",
        "constants",
        "defaults",
        "exact",
        "functions",
        "locations",
        "names",
        "opsets",
        "result_names",
        "root",
        "sources",
    )

    def __init__(
        self,
        root: Graph,
        opsets: dict[str, int],
        constants: Constants,
        *,
        names: Names | None = None,
        functions: dict[FunctionId, Function] | None,
        defaults: Mapping[str, int] | None = None,
        check: Checker | None = None,
        locations: bool = False,
        exact: bool = False,
        result_names: str | None = None,
    ) -> None:
        """A trace into `root`; `opsets` grows with the domains used, with the versions of `defaults` where it has them.

        `names` gives names to values; None leaves it to the graph. `functions` takes what is called; None where there
        is no model to hold it. `exact` leaves everything as it is written, and
        `result_names` is how results of named nodes are called: see `build`.
        """
        self.root = root
        self.opsets = opsets
        self.constants = constants
        self.names = names
        self.functions = functions
        self.sources: dict[FunctionId, object] = {}
        self.defaults = defaults or {}
        self.check = check
        self.locations = locations
        self.exact = exact
        self.result_names = result_names
        self.bodies: set[Graph] = set()
        self.calls: tuple[FunctionId, ...] = ()

    @property
    def opset(self) -> int:
        """The version of the standard operators in force."""
        return self.opsets.get(STANDARD, OPSET)

    def import_domain(self, domain: str) -> None:
        """Make sure `domain` is imported: as declared, else as `defaults` has it, else in its usual version."""
        if domain not in self.opsets:
            version = self.defaults.get(domain)
            self.opsets[domain] = domain_version_of(domain, self.opset) if version is None else version

    def named(self, name: str) -> str:
        """The name of a value that the user calls `name`: that, with a number where it is taken, unless exact."""
        if not self.exact:
            return self.fresh_name(name)
        return name if self.names is None else self.names.note(name)

    def fresh_name(self, stem: str) -> str:
        """A name no value of the whole trace has."""
        return self.root.fresh_name(stem) if self.names is None else self.names.fresh(stem)


class Scope:
    """A graph being written: `place` puts a node where it belongs, `outer` is the scope of the graph around it."""

    __slots__ = ("graph", "outer", "place", "trace")

    def __init__(
        self,
        trace: Trace,
        graph: Graph,
        outer: Scope | None = None,
        place: Callable[[Node], object] | None = None,
    ) -> None:
        self.trace = trace
        self.graph = graph
        self.outer = outer
        self.place = place or graph.append

    @property
    def outermost(self) -> Scope:
        scope = self
        while scope.outer is not None:
            scope = scope.outer
        return scope

    def admit(self, value: Value) -> Value:
        """`value` if a node here may read it; BuildError with the reason why not."""
        graph = value.graph
        if graph is self.graph:
            return value
        scope: Scope | None = self
        around: Graph | None = None
        while scope is not None:
            if scope.graph is graph and graph is not None:
                return value
            around, scope = scope.graph, scope.outer
        while around is not None:
            if around is graph:
                return value
            around = around.outer
        raise self._refusal(value)

    def _refusal(self, value: Value) -> BuildError:
        name = value.name or "?"
        if value.graph is None:
            return failure(f"nothing defines value '{name}'")
        if value.graph in self.trace.bodies or value.graph.root is self.trace.root.root:
            return failure(f"value '{name}' belongs to a body that has ended", hint="return it from the body")
        if self.trace.calls:
            return failure(
                f"function '{self.trace.calls[-1]}' reads '{name}', which is not its own",
                hint="a function sees only its inputs and attributes: pass it as an argument",
            )
        return failure(f"value '{name}' belongs to another build", hint="a model reads only its own values")


_running: ContextVar[Scope | None] = ContextVar("ingot.builder.scope", default=None)


def current(what: str) -> Scope:
    """The scope that is open now; BuildError naming `what` needs one if none is."""
    scope = _running.get()
    if scope is None:
        raise failure(
            f"{what} outside of a build",
            hint="use it in a function under @build, while that function runs, or in 'with inserting(...)'",
        )
    return scope


@contextmanager
def opened(scope: Scope) -> Iterator[Scope]:
    """Make `scope` the current one for a while."""
    token = _running.set(scope)
    try:
        yield scope
    finally:
        _running.reset(token)
