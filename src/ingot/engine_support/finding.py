"""What a target cannot take of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["ir_version", "opset", "operator", "type", "restriction", "size", "sizes"]
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a target does not take a model, and the nodes that it holds for, by their labels.

    `operator` is the operator and its version, as `Gelu-20`, where the reason is about one. A warning is what the
    target takes otherwise than the model says, or only with some help.
    """

    kind: Kind
    message: str
    operator: str = ""
    nodes: tuple[str, ...] = ()
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        text = f"{self.severity}: {self.message}"
        return f"{text}\n  {self.place}" if self.nodes else text

    @property
    def place(self) -> str:
        """`in node 'a'`, or `in nodes 'a', 'b', 'c' and 4 more`; empty where no node is concerned."""
        if not self.nodes:
            return ""
        named = ", ".join(f"'{node}'" for node in self.nodes[:_MOST_NAMED])
        more = len(self.nodes) - _MOST_NAMED
        return f"in node{'s' if len(self.nodes) > 1 else ''} {named}{f' and {more:,} more' if more > 0 else ''}"
