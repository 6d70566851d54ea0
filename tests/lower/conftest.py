"""What models are lowered to is verified here, and so are the kernels that it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ingot import compile as stages
from ingot.fuse.fuse import Fused, fuse
from ingot.loops.ir import kernels_in
from ingot.loops.verify import verify_kernel
from ingot.prim import Tensor
from ingot.prim.verify import verify


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def fused(stored: Sequence[Tensor], *arguments: Any) -> Fused:
        verify(stored)
        result = fuse(stored, *arguments)
        for kernel in kernels_in(result.steps):
            verify_kernel(kernel)
        return result

    monkeypatch.setattr(stages, "fuse", fused)
