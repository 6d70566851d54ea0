"""Windows that move over spatial axes: the padding that keeps their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.dims import Dim


def same_padding(
    sizes: Sequence[Dim | None], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> dict[str, Any]:
    """The attributes of Conv and pools for an output of `ceil(size / stride)`, the odd element padded at the end.

    Numbers where they follow from the sizes that are known, else `auto_pad`.
    """
    before, after = [], []
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        span = (width - 1) * dilation + 1
        if stride == 1:
            total = span - 1
        elif isinstance(size, int):
            total = max((-(-size // stride) - 1) * stride + span - size, 0)
        else:
            return {"auto_pad": "SAME_UPPER"}
        before.append(total // 2)
        after.append(total - total // 2)
    return {"pads": before + after} if any(after) else {}
