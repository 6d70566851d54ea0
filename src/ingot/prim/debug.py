"""Results of stages that are verified where somebody debugs the compiler."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def verified(result: T, verify: Callable[[T], None]) -> T:
    """The result of a stage, verified if the environment variable `INGOT_DEBUG` is set; CompileError if it is wrong.

    Verifiers are imported by the functions that are given here: a first start needs none.
    """
    if os.environ.get("INGOT_DEBUG", "0") not in ("", "0"):
        verify(result)
    return result
