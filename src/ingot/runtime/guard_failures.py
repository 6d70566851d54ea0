"""How often guards of a body have failed: now and then costs a run on the reference, again and again a compilation."""

from __future__ import annotations

import logging

from ingot.prim.guard import BROADCASTS
from ingot.runtime.guards import GuardFailed

_MOST = 4
"""Failures in excess of successes after which a body is compiled otherwise."""


class GuardFailures:
    """The failures of one body, which all runs of it share; threads that count at once may lose a few."""

    __slots__ = ("_logged", "excess")

    def __init__(self) -> None:
        self.excess = 0
        """How many more runs failed than did not, at most as many as lead to a compilation."""
        self._logged = False

    def note(self, failed: GuardFailed, recompiles: bool) -> bool:
        """Whether the model is to be compiled without what was assumed, which it can be where it `recompiles`.

        What is done about it is logged the first time.
        """
        self.excess = min(self.excess + 1, _MOST)
        helps = recompiles and any(guard.choice == BROADCASTS for guard in failed.guards)
        is_to_recompile = helps and self.excess == _MOST
        if not self._logged and (is_to_recompile or not helps):
            self._logged = True
            then = "the model is compiled without the assumption" if is_to_recompile else "the reference runs it"
            logging.getLogger("ingot").debug("guards of a body fail, %s: %s", then, failed)
        return is_to_recompile

    def forgive(self) -> None:
        """Note a run whose guards held."""
        self.excess = max(self.excess - 1, 0)
