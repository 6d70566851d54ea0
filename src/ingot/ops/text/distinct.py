"""What is computed of texts once for each that is different: columns of models hold the same ones again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ingot.dtypes import Array

_FEW = 8
"""Texts of which it does not pay to find out which are equal."""


def looked_up(texts: list[Any], table: Mapping[Any, Any], dtype: npt.DTypeLike) -> Array:
    """The values of texts in a table, as a vector."""
    return np.fromiter(map(table.__getitem__, texts), dtype, len(texts))


def of_each(function: Callable[[str], Any], x: Array, dtype: npt.DTypeLike) -> Array:
    """The values of a function of texts."""
    result = _of_each(function, texts_of(x), dtype)
    return result if x.ndim == 1 else result.reshape(x.shape)


def texts_of(x: Array) -> list[str]:
    """The elements of a tensor of strings, in order."""
    texts: list[str] = x.tolist() if x.ndim == 1 else x.reshape(-1).tolist()
    return texts


def _of_each(function: Callable[[str], Any], texts: list[str], dtype: npt.DTypeLike) -> Array:
    different = set(texts) if len(texts) > _FEW else texts
    if 2 * len(different) > len(texts):
        return np.fromiter(map(function, texts), dtype, len(texts))
    return looked_up(texts, {text: function(text) for text in different}, dtype)


def numbered(texts: list[str]) -> tuple[list[str], Array | None]:
    """The different texts, as they first come, and which of them each is; None where hardly any comes twice."""
    different = dict.fromkeys(texts)
    if len(texts) <= _FEW or 2 * len(different) > len(texts):
        return texts, None
    places = {text: place for place, text in enumerate(different)}
    return list(different), looked_up(texts, places, np.int64)
