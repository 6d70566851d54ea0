"""The names that a graph in the making can see."""

from __future__ import annotations

from ingot.ir.value import Value


class Scope:
    """The names a graph can see: its own values, then those of the graphs around it."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Scope | None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer

    def find(self, name: str) -> Value:
        """The value of that name; one that nothing defines if there is none, the same for every reader."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.outer
        found = self.names[name] = Value(name)
        return found
