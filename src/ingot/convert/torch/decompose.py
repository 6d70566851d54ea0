"""Which operators torch takes apart before they are translated: all that have no rule of their own."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch

from ingot.convert.torch.program import quiet, untraced

_APART = {
    "aten.reshape.default", "aten.dropout.default", "aten.to.dtype", "aten.chunk.default", "aten.split.Tensor",
    "aten.unflatten.int", "aten.flatten.using_ints", "aten.narrow.default", "aten.movedim.intlist",
    "aten.movedim.int", "aten.contiguous.default", "aten.numpy_T.default", "aten.mT.default",
    "aten.expand_as.default", "aten.broadcast_to.default", "aten.tensor_split.sections", "aten.argsort.default",
    "aten.cdist.default", "aten.softmax.int", "aten.log_softmax.int", "aten.index_put_.default",
    "aten.searchsorted.Tensor", "aten.bucketize.Tensor", "aten.einsum.default",
    "aten.item.default", "aten.cumprod.default",
}  # fmt: skip
"""Operators that have a rule, for programs that are given already exported, yet read no worse when taken apart."""


def decomposed(program: Any, preserved: Collection[str]) -> Any:
    """The program in operators of the core set and those `preserved`, without changes in place.

    ConvertError, with what torch says, if it cannot take it apart.
    """
    table = torch.export.default_decompositions()
    for overload in list(table):
        name = str(overload)
        if name in preserved and name not in _APART:
            table.pop(overload)
    try:
        with quiet():
            return program.run_decompositions(table)
    except Exception as error:
        raise untraced("torch cannot take the program apart", error) from error
