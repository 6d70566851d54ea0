"""Padding: zeros, another number, or what lies inside mirrored."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, constant, rank
from ingot.convert.tensorflow.operands import known
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.view import reversed_along
from ingot.dtypes import DType


@rule("Pad")
def pad(site: Site, x: Var, paddings: Var) -> Var:
    return op.Pad(x, _pads(paddings))


@rule("PadV2")
def pad_v2(site: Site, x: Var, paddings: Var, value: Var) -> Var:
    return op.Pad(x, _pads(paddings), value)


@rule("MirrorPad")
def mirror_pad(site: Site, x: Var, paddings: Var, *, mode: str) -> Var:
    """`REFLECT` leaves the edge out of the mirror image, `SYMMETRIC` has it twice."""
    if mode == "REFLECT":
        return op.Pad(x, _pads(paddings), mode="reflect")
    for axis, (before, after) in enumerate(known(paddings, "the padding").tolist()):
        parts = [x]
        if before:
            parts.insert(0, reversed_along(op.Slice(x, [0], [before], [axis]), [axis]))
        if after:
            parts.append(reversed_along(op.Slice(x, [-after], [np.iinfo(np.int64).max], [axis]), [axis]))
        x = op.Concat(*parts, axis=axis) if len(parts) > 1 else x
    return x


def _pads(paddings: Var) -> Any:
    """What is put before all axes, then after them."""
    held = constant(paddings)
    if held is not None:
        return np.asarray(held, np.int64).T.ravel()
    rank(paddings)
    return op.Reshape(op.Transpose(cast(paddings, DType.INT64), perm=[1, 0]), np.array([-1]))
