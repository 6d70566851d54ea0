"""Fusion: kernels that store some tensors, with everything else computed where it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingot.fuse.build import Fused, build
from ingot.fuse.decide import decide
from ingot.fuse.limits import FusionLimits
from ingot.prim.debug import verified
from ingot.prim.tensor import Tensor

if TYPE_CHECKING:
    from ingot.fuse.decision import Decision


def fuse(results: Sequence[Tensor], limits: FusionLimits, prefix: str = "") -> Fused:
    """Kernels and calls that compute `results`, each stored in the order of its axes; names begin with `prefix`.

    With the environment variable `INGOT_DEBUG`, the decision is verified.
    """
    return build(verified(decide(results, limits, prefix), _verify))


def _verify(decision: Decision) -> None:
    from ingot.fuse.verify import verify  # for INGOT_DEBUG alone

    verify(decision)
