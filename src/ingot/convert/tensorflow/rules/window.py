"""Windows that move over spatial axes: what their padding is in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.builder import Var
from ingot.convert.operands import rank, shape
from ingot.convert.windows import same_padding


def spatial(values: Sequence[int], data_format: str) -> list[int]:
    """The spatial part of an attribute that has a number for each axis."""
    return list(values[2:]) if data_format.startswith("NC") else list(values[1:-1])


def explicit(paddings: Sequence[int], data_format: str) -> list[int]:
    """Explicit paddings, given as pairs for each axis, as ONNX has them: all before, then all after."""
    pairs = [(paddings[at], paddings[at + 1]) for at in range(0, len(paddings), 2)]
    inner = pairs[2:] if data_format.startswith("NC") else pairs[1:-1]
    return [before for before, _ in inner] + [after for _, after in inner]


def window(
    x: Var, padding: str, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int]
) -> dict[str, Any]:
    """The attributes of padding for a channels-first `x`: numbers where they follow from what is known."""
    if padding == "EXPLICIT":
        return {"pads": list(pads)}
    if padding == "VALID":
        return {}
    return same_padding(shape(x)[rank(x) - len(kernel) :], kernel, strides, dilations)
