"""Numpy's errors of floats ignored, as `np.errstate(all="ignore")` does, but at the price of a context variable."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
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


def _ignore() -> np.errstate:
    state = np.errstate(all="ignore")
    state.__enter__()
    return state


def _restore(before: np.errstate) -> None:
    before.__exit__(None, None, None)


_IGNORING = _ignoring()

ignore: Callable[[], Any] = _ignore if _IGNORING is None else partial(_IGNORING[0].set, _IGNORING[1])
"""Ignore errors of floats from now on; `restore` ends it."""

restore: Callable[[Any], None] = _restore if _IGNORING is None else _IGNORING[0].reset
"""What numpy did with errors before `ignore`, which returned this."""
