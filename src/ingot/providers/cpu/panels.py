"""Packed weights shared by all plans that read them: a model compiled again has its weights in memory once."""

from __future__ import annotations

import hashlib
from mmap import mmap
from typing import Any, TypeAlias
from weakref import ref

import numpy as np

from ingot.codegen.llvm.code_pack import code_panels
from ingot.codegen.llvm.pack import packed
from ingot.dtypes import Array
from ingot.fuse.contraction import Packed
from ingot.loops.ir import Contraction, Tile
from ingot.prim.coded import Coded
from ingot.providers.cpu.large_pages import zeros
from ingot.schedule.winograd import Filters

_Key: TypeAlias = tuple[Any, ...]

_BY_SOURCE: dict[_Key, tuple[ref[Any], ref[Array]]] = {}
"""Panels by the memory that they were packed from, with its owner: valid while both are there. Only of mapped files,
which nobody writes to."""

_BY_CONTENT: dict[_Key, ref[Array]] = {}
"""Panels by their shape and a part of their content: for weights that are computed anew when a model is compiled."""

_SAMPLE = 1 << 12
"""Bytes at the beginning that candidates are found by, before all of them are compared."""


def panels_of(weights: Packed | Filters, tile: Tile, inner: int = 1) -> Array:
    """The panels of weights for a tile: those that another plan holds, if there are any.

    `inner` is the length of the innermost axis that is summed.
    """
    owner, key = _owner(weights.array), (*_source_key(weights, tile), inner if tile.dot is not None else 0)
    known = _BY_SOURCE.get(key)
    if known is not None and known[0]() is owner and (panels := known[1]()) is not None:
        return panels
    panels = _unique(packed(weights, tile, inner))
    if not (isinstance(owner, mmap) and memoryview(owner).readonly):
        return panels
    try:
        source = ref(owner, lambda _: _BY_SOURCE.pop(key, None))
    except TypeError:  # an owner without weak references
        return panels
    _BY_SOURCE[key] = source, ref(panels, lambda _: _BY_SOURCE.pop(key, None))
    return panels


def code_panels_of(matrix: Coded, product: Contraction) -> Array:
    """The panels of a matrix in codes of few bits, as a contraction reads them, or those that another plan holds."""
    assert product.codes is not None
    assert product.tile is not None
    return _unique(code_panels(matrix, product.codes, product.tile, zeros))


def _source_key(weights: Packed | Filters, tile: Tile) -> _Key:
    array = weights.array
    kind = (type(weights), *(getattr(weights, name, None) for name in ("side", "axes", "groups")), tile)
    return (array.ctypes.data, array.shape, array.strides, array.dtype.str, *kind)


def _owner(array: Array) -> object:
    """What the memory of an array belongs to."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
        if isinstance(owner, memoryview):
            owner = owner.obj
    return owner


def _unique(panels: Array) -> Array:
    """Panels of the same content that a plan holds, or these."""
    content = panels.reshape(-1).view(np.uint8)
    key = (panels.shape, panels.dtype.str, hashlib.sha256(content[:_SAMPLE].tobytes()).digest())
    known = _BY_CONTENT.get(key)
    other = None if known is None else known()
    if other is not None and np.array_equal(other.reshape(-1).view(np.uint8), content):
        return other
    _BY_CONTENT[key] = ref(panels, lambda gone: _forget(key, gone))
    return panels


def _forget(key: _Key, gone: ref[Array]) -> None:
    if _BY_CONTENT.get(key) is gone:
        del _BY_CONTENT[key]
