"""Calls of Keras without its warnings: they are about what its own code does, and about masks that end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """While it is open, nothing is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
