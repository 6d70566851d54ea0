"""Fusion: kernels that store some tensors, with everything else computed where it is read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ingot.fuse.build import Fused, build
from ingot.fuse.decide import decide
from ingot.fuse.verify import verify
from ingot.prim.tensor import Tensor


def fuse(results: Sequence[Tensor], prefix: str = "") -> Fused:
    """Kernels and calls that compute `results`, each stored in the order of its axes; names begin with `prefix`.

    With the environment variable `INGOT_DEBUG`, the decision is verified.
    """
    decision = decide(results, prefix)
    if os.environ.get("INGOT_DEBUG"):
        verify(decision)
    return build(decision)
