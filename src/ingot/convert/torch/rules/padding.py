"""Padding, and windows as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.rule import Rule, Site, rule
from ingot.convert.torch.sizes import Extent, as_vector
from ingot.dtypes import DType


@rule("aten.constant_pad_nd.default")
def constant_pad(site: Site, x: Var, pad: Sequence[Extent], value: Any = 0) -> Var:
    return _padded(x, pad, "constant", number(value, site.dtype))


@rule("aten.pad.default")
def pad(site: Site, x: Var, pad: Sequence[Extent], mode: str = "constant", value: Any = None) -> Var:
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    return _padded(x, pad, kind, number(value or 0, site.dtype) if mode == "constant" else None)


def _mode(mode: str) -> Any:
    return lambda site, x, pad: _padded(x, pad, mode, None)  # noqa: ARG005


reflection = Rule(tuple(f"aten.reflection_pad{n}d.default" for n in (1, 2, 3)), _mode("reflect"))
replication = Rule(tuple(f"aten.replication_pad{n}d.default" for n in (1, 2, 3)), _mode("edge"))
circular = Rule(("aten._pad_circular.default",), _mode("wrap"))


@rule("aten.col2im.default")
def col2im(
    site: Site,
    x: Var,
    size: Sequence[int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Var:
    """Windows, as columns, added up in an image."""
    batched = rank(x) == 3
    source = x if batched else op.Unsqueeze(x, [0])
    image = op.Col2Im(
        source,
        np.array(size, np.int64),
        np.array(kernel, np.int64),
        dilations=list(dilation),
        pads=list(padding) * 2,
        strides=list(stride),
    )
    return image if batched else op.Squeeze(image, [0])


@rule("aten.im2col.default")
def im2col(
    site: Site,
    x: Var,
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Var:
    """Every window of an image as a column."""
    batched = rank(x) == 4
    source = x if batched else op.Unsqueeze(x, [0])
    source = op.Pad(source, np.array([0, 0, *padding, 0, 0, *padding], np.int64))
    sizes = [op.Squeeze(op.Shape(source, start=axis, end=axis + 1), [0]) for axis in (2, 3)]
    places = []
    for axis in range(2):
        reach = dilation[axis] * (kernel[axis] - 1)
        starts = op.Range(np.array(0), op.Sub(sizes[axis], np.array(reach)), np.array(stride[axis]))
        places.append(op.Add(np.arange(kernel[axis])[:, None] * dilation[axis], op.Unsqueeze(starts, [0])))
    windows = op.Gather(op.Gather(source, places[0], axis=2), places[1], axis=4)  # n c kh oh kw ow
    windows = op.Transpose(windows, perm=[0, 1, 2, 4, 3, 5])
    channels = op.Mul(op.Shape(source, start=1, end=2), np.array([kernel[0] * kernel[1]]))
    shape = op.Concat(op.Shape(source, start=0, end=1), channels, np.array([-1]), axis=0)
    columns = op.Reshape(windows, shape)
    return columns if batched else op.Squeeze(columns, [0])


def _padded(x: Var, pad: Sequence[Extent], mode: str, value: Any) -> Var:
    """Torch counts from the last axis, a pair for each; ONNX wants all befores, then all afters."""
    count, padded_axes = rank(x), len(pad) // 2
    axes = np.array([count - 1 - at for at in range(padded_axes)], np.int64)
    if padded_axes == 0:
        return op.Identity(x)
    pads = as_vector([*pad[0::2], *pad[1::2]])
    if x.dtype is DType.BOOL and mode == "constant":
        padded = op.Pad(cast(x, DType.UINT8), pads, np.array(value).astype(np.uint8), axes, mode=mode)
        return cast(padded, DType.BOOL)
    return op.Pad(x, pads, value, axes, mode=mode)
