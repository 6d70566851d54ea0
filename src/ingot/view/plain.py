"""Arrays as numpy's own files have them."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array


def plain(array: Array) -> Array:
    """An array of a type that numpy itself has: others become float32 or int8, and objects strings."""
    if array.dtype.kind == "O":
        return array.astype(np.str_)
    if array.dtype.kind == "V" or array.dtype.isbuiltin != 1:
        return array.astype(np.int8 if "int" in array.dtype.name else np.float32)
    return array
