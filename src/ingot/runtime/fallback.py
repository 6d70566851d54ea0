"""The warning that the reference runs a model that should have run compiled."""

from __future__ import annotations

import os
import sys
import warnings

from ingot.errors import FallbackWarning

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn_fallback(message: str) -> None:
    """Warn of a fallback, at the line outside of this package that led to it."""
    level, frame = 1, sys._getframe().f_back
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, FallbackWarning, stacklevel=level + 1)
