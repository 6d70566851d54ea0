"""Numpy's errors of floats ignored, as `np.errstate(all="ignore")` does, but at the price of a context variable."""

from __future__ import annotations

from contextvars import ContextVar, Token, copy_context
from typing import Any

import numpy as np


def _ignoring() -> tuple[ContextVar[Any], Any] | None:
    """The context variable that `np.errstate` sets, and what it sets it to; None where it is not to be found so."""
    before = copy_context()
    with np.errstate(all="ignore"):
        during = copy_context()
    changed = [(variable, value) for variable, value in during.items() if before.get(variable) is not value]
    if len(changed) != 1:
        return None
    variable, value = changed[0]
    token = variable.set(value)
    try:
        return changed[0] if set(np.geterr().values()) == {"ignore"} else None
    finally:
        variable.reset(token)


_IGNORING = _ignoring()


def ignore() -> Token[Any] | np.errstate:
    """Ignore errors of floats from now on; `restore` ends it."""
    if _IGNORING is not None:
        return _IGNORING[0].set(_IGNORING[1])
    state = np.errstate(all="ignore")
    state.__enter__()
    return state


def restore(before: Token[Any] | np.errstate) -> None:
    """What numpy did with errors before `ignore`, which returned this."""
    if isinstance(before, Token):
        before.var.reset(before)
    else:
        before.__exit__(None, None, None)
