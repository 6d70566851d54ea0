"""Fusion: kernels that store some tensors, with everything else computed where it is read."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.fuse.build import Fused, build
from ingot.fuse.decide import decide
from ingot.fuse.limits import FusionLimits
from ingot.fuse.verify import verify
from ingot.prim.tensor import Tensor
from ingot.prim.verify import verified


def fuse(results: Sequence[Tensor], limits: FusionLimits, prefix: str = "") -> Fused:
    """Kernels and calls that compute `results`, each stored in the order of its axes; names begin with `prefix`.

    With the environment variable `INGOT_DEBUG`, the decision is verified.
    """
    return build(verified(decide(results, limits, prefix), verify))
