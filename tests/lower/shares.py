"""Kernels that share their work among threads however little it is, so that small models show what threads do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from ingot.codegen.llvm import loops, product, templates, winograd


@contextmanager
def small_shares() -> Iterator[None]:
    """While it is open, a thread is worth 16 elements or 64 products; nothing compiled so is seen by others."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, {"INGOT_CACHE": folder}),
        patch.object(templates, "TEMPLATES", {}),
        patch.object(loops, "LOOP_GRAIN", 16),
        patch.object(product, "CONTRACTION_GRAIN", 64),
        patch.object(winograd, "CONTRACTION_GRAIN", 64),
    ):
        yield
