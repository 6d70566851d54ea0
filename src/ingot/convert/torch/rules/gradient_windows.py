"""Gradients of what slides a window: convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import number, rank
from ingot.convert.torch.operands import each_axis, known_shape
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.rules.pooling import bins
from ingot.dtypes import Array
from ingot.errors import UnsupportedError


@rule("aten.convolution_backward.default")
def convolution_backward(
    site: Site,
    grad: Var,
    x: Var,
    weight: Var,
    bias_sizes: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    wanted: Sequence[bool],
) -> Any:
    """To the input, by the transpose of what it was; to the weight, by a convolution over the batch; to the bias."""
    axes = rank(x) - 2
    strides, pads, dilations = (each_axis(numbers, axes) for numbers in (stride, padding, dilation))
    attributes: dict[str, Any] = {"strides": strides, "pads": pads * 2, "dilations": dilations, "group": groups}
    to_x = to_weight = to_bias = None
    if wanted[0] and transposed:
        to_x = op.Conv(grad, weight, **attributes)
    elif wanted[0]:
        rest = _rest(_spatial(grad), _spatial(weight), _spatial(x), strides, pads, dilations)
        to_x = op.ConvTranspose(grad, weight, output_padding=rest, **attributes)
    if wanted[1]:
        slid, window = (grad, x) if transposed else (x, grad)
        to_weight = _over_batch(slid, window, _spatial(weight), strides, pads, dilations, groups)
    if wanted[2]:
        to_bias = op.ReduceSum(grad, np.array([0, *range(2, axes + 2)], np.int64), keepdims=0)
    return to_x, to_weight, to_bias


def _over_batch(
    slid: Var, window: Var, kernel: list[int], strides: list[int], pads: list[int], dilations: list[int], groups: int
) -> Var:
    """What reaches a weight: `slid` convolved with `window`, their batches as channels, in groups of channels."""
    axes = len(kernel)
    inner = list(range(3, axes + 3))
    sizes, channels = _spatial(slid), known_shape(slid)[1]
    if not isinstance(channels, int):
        raise UnsupportedError("the gradient of a convolution over channels whose number is not known")
    parts = op.Reshape(slid, [0, groups, channels // groups, *sizes])
    parts = op.Reshape(op.Transpose(parts, perm=[2, 1, 0, *inner]), [channels // groups, -1, *sizes])
    turned = op.Transpose(window, perm=[1, 0, *range(2, axes + 2)])
    convolved = op.Conv(parts, turned, strides=dilations, dilations=strides, pads=pads * 2, group=groups)
    along = np.arange(2, axes + 2)
    convolved = op.Slice(convolved, np.zeros(axes, np.int64), np.array(kernel, np.int64), along)
    return op.Transpose(convolved, perm=[1, 0, *range(2, axes + 2)])


def _rest(
    actual: list[int], kernel: list[int], wanted: list[int], strides: list[int], pads: list[int], dilations: list[int]
) -> list[int]:
    """How many places at the end of each axis no window reached."""
    every = zip(actual, kernel, wanted, strides, pads, dilations, strict=True)
    return [want - ((n - 1) * s - 2 * p + d * (k - 1) + 1) for n, k, want, s, p, d in every]


@rule("aten.avg_pool2d_backward.default")
def avg_pool_backward(
    site: Site,
    grad: Var,
    x: Var,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Var:
    """What reached a window, divided by what it averaged over, goes to all of its places."""
    sizes, pooled_sizes = _spatial(x, 2), _spatial(grad, 2)
    kernels = each_axis(kernel, 2)
    strides, pads = each_axis(stride or kernels, 2), each_axis(padding, 2)
    reach = [(sizes[at], pooled_sizes[at], kernels[at], strides[at], pads[at]) for at in range(2)]
    down, across = (_windows(*each) for each in reach)
    if divisor is not None:
        counts = np.array(divisor)
    elif count_include_pad:
        counts = np.outer(*(_widths(*each) for each in reach))
    else:
        counts = np.outer(down.sum(1), across.sum(1))
    dtype = site.dtype.numpy
    shared = op.Div(grad, counts.astype(dtype))
    return op.MatMul(op.MatMul(down.T.astype(dtype), shared), across.astype(dtype))


@rule("aten._adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool_backward(site: Site, grad: Var, x: Var) -> Var:
    sizes, pooled_sizes = _spatial(x, 2), _spatial(grad, 2)
    dtype = site.dtype.numpy
    down, across = (_binned(size, count).astype(dtype) for size, count in zip(sizes, pooled_sizes, strict=True))
    return op.MatMul(op.MatMul(down.T, grad), across)


@rule("aten.max_pool2d_with_indices_backward.default")
def max_pool_backward(site: Site, grad: Var, x: Var, *options: Any) -> Var:
    """What reached each window goes to the place its largest was at."""
    indices = options[-1]
    lead = [0] * (rank(x) - 2)
    flat = op.Mul(op.Reshape(x, [*lead, -1]), number(0, site.dtype))
    places, parts = op.Reshape(indices, [*lead, -1]), op.Reshape(grad, [*lead, -1])
    return op.Reshape(op.ScatterElements(flat, places, parts, axis=-1, reduction="add"), op.Shape(x))


def _windows(size: int, count: int, kernel: int, stride: int, pad: int) -> Array:
    """Which of `size` places each of `count` windows is over: a row of ones and zeros a window."""
    first = np.arange(count)[:, None] * stride - pad
    places = np.arange(size)[None]
    return (places >= first) & (places < first + kernel)


def _widths(size: int, count: int, kernel: int, stride: int, pad: int) -> Array:
    """How many places each window averages over, those of the padding too, but none behind it."""
    first = np.arange(count) * stride - pad
    return np.minimum(first + kernel, size + pad) - first


def _binned(size: int, count: int) -> Array:
    """What part of each bin's mean each place is: a row a bin."""
    weights = np.zeros((count, size))
    for at, (first, last) in enumerate(bins(size, count)):
        weights[at, first:last] = 1 / (last - first)
    return weights


def _spatial(x: Var, axes: int | None = None) -> list[int]:
    """The sizes behind batch and channels, or of the last axes."""
    sizes = list(known_shape(x)[2 if axes is None else -axes :])
    if not all(isinstance(size, int) for size in sizes):
        raise UnsupportedError("the gradient of windows over sizes that are not known")
    return sizes
