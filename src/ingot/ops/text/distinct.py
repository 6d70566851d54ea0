"""What is computed of texts once for each that is different: columns of models hold the same ones again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ingot.dtypes import Array

_FEW = 8
"""Texts of which it does not pay to find out which are equal."""

_SAMPLE = 1024
"""Texts by which it is guessed how many different ones there are."""

_CODES = 256
"""Different texts that a byte can tell apart."""


def of_each(function: Callable[[str], Any], x: Array, dtype: npt.DTypeLike) -> Array:
    """The values of a function of texts."""
    different, which = numbered(texts_of(x))
    values = np.fromiter(map(function, different), dtype, len(different))
    result = values if which is None else values.take(which)
    return result if x.ndim == 1 else result.reshape(x.shape)


def texts_of(x: Array) -> list[str]:
    """The elements of a tensor of strings, in order."""
    texts: list[str] = x.tolist() if x.ndim == 1 else x.reshape(-1).tolist()
    return texts


def numbered(texts: list[str]) -> tuple[list[str], Array | None]:
    """The different texts, in any order, and which of them each is; None where hardly any comes twice."""
    if len(texts) <= _FEW:
        return texts, None
    for sample in (texts[:_SAMPLE], texts):
        different = list(set(sample))
        if 2 * len(different) > len(sample):
            return texts, None
        numbers = {text: number for number, text in enumerate(different)}.__getitem__
        try:
            if len(different) <= _CODES:
                return different, np.frombuffer(bytes(map(numbers, texts)), np.uint8)
            return different, np.fromiter(map(numbers, texts), np.int64, len(texts))
        except KeyError:  # a text that is not in the sample
            continue
    raise AssertionError("a text is not among all of them")
