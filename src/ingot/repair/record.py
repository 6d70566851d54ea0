"""What a repair reports, and what rules are given."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.ir.model import Model
from ingot.ops.catalog import Catalog
from ingot.repair.facts import RepairFacts, facts_of


@dataclass(frozen=True, slots=True)
class Repair:
    """One change of a model: the rule that made it, where, and what was changed."""

    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.where}: {self.what}"


class Subject:
    """A model under repair, and what is known of its values, which is inferred again after each change."""

    def __init__(self, model: Model, catalog: Catalog) -> None:
        self.model = model
        self.catalog = catalog
        self._facts: RepairFacts | None = None

    @property
    def facts(self) -> RepairFacts:
        if self._facts is None:
            self._facts = facts_of(self.model, self.catalog)
        return self._facts

    def changed(self) -> None:
        """Forget what is known: the model is no longer as it was."""
        self._facts = None
