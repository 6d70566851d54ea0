"""Models that break the standard and still have one sensible meaning, changed so that they say it properly."""

import sys
from types import ModuleType
from typing import Any

from ingot.repair.apply_rules import repair
from ingot.repair.record import Repair
from ingot.repair.rules import RULES, Rule

__all__ = ["RULES", "Repair", "Rule", "repair"]


class _CallableModule(ModuleType):
    """The package can be called, so that `ingot.repair(model)` works whether or not it was imported before."""

    def __call__(self, *args: Any, **named: Any) -> list[Repair]:
        return repair(*args, **named)


sys.modules[__name__].__class__ = _CallableModule
