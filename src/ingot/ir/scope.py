"""The names that a graph in the making can see, for those who read models: from bytes, and from text."""

from __future__ import annotations

from ingot.ir.value import Value


class Scope:
    """The names a graph can see: its own values, then those of the graphs around it."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Scope | None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer

    def define(self, value: Value) -> None:
        if value.name:
            self.names.setdefault(value.name, value)

    def find(self, name: str) -> Value | None:
        """The value of that name, or None."""
        scope: Scope | None = self
        while scope is not None:
            if (value := scope.names.get(name)) is not None:
                return value
            scope = scope.outer
        return None

    def meant(self, value: Value) -> Value | None:
        """The value that the name of `value` stands for: itself if nothing else defines the name."""
        visible = self.find(value.name)
        if visible is None and value.name:
            visible = self.names[value.name] = value
        return visible

    def need(self, name: str) -> Value:
        """The value of that name; one that nothing defines if there is none, the same for every reader."""
        return self.find(name) or self.names.setdefault(name, Value(name))
