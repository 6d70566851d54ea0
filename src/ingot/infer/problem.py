"""What a check finds: a sentence, where it holds, and what may help."""

from __future__ import annotations

from typing import Literal

from ingot.dataclass import dataclass
from ingot.errors import IngotError

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a model, or (a warning) that is unknown or cannot be meant."""

    message: str
    where: tuple[str, ...] = ()
    hint: str | None = None
    severity: Severity = "error"

    @classmethod
    def of(cls, error: IngotError, *, within: tuple[str, ...] = ()) -> Problem:
        """What an error says; `within` are lines that say where the whole is."""
        return cls(error.message, (*error.where, *within), error.hint)

    def __str__(self) -> str:
        lines = [f"{self.severity}: {self.message}", *(f"  {line}" for line in self.where)]
        return "\n".join(lines if self.hint is None else [*lines, f"  hint: {self.hint}"])
