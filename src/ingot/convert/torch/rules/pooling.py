"""Pooling: over windows, and to a size wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.operands import each_axis
from ingot.convert.torch.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default")
def max_pool(
    site: Site,
    x: Var,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Var:
    pooled: Var = _max_pool(site, x, kernel, stride, padding, dilation, ceil_mode, indices=False)[0]
    return pooled


@rule(
    "aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default",
    "aten.max_pool1d_with_indices.default",
)  # fmt: skip
def max_pool_with_indices(
    site: Site,
    x: Var,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    read = any(user.args[1] == 1 for user in site.node.users if str(user.target) == "<built-in function getitem>")
    return _max_pool(site, x, kernel, stride, padding, dilation, ceil_mode, indices=read)


@rule("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(
    site: Site,
    x: Var,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Var:
    axes = _axes(site)
    sizes = each_axis(kernel, axes)
    attributes: dict[str, Any] = {
        "kernel_shape": _fitting(sizes, padding, ceil_mode, site),
        "strides": each_axis(stride or sizes, axes),
        "pads": each_axis(padding, axes) * 2,
        "ceil_mode": 1 if ceil_mode else None,
    }
    source, batched = _batched(x, axes)
    source = source if site.dtype.is_float else cast(source, DType.FLOAT64)
    if divisor_override is None:
        pooled = op.AveragePool(source, count_include_pad=int(count_include_pad), **attributes)
    else:
        whole = _padded(source, sizes, attributes, site)
        mean = op.AveragePool(whole, kernel_shape=sizes, strides=attributes["strides"])
        pooled = op.Mul(mean, number(float(np.prod(sizes)) / divisor_override, source.dtype or site.dtype))
    pooled = cast(pooled, site.dtype)
    return pooled if batched else op.Squeeze(pooled, [0])


@rule(
    "aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default", "aten.adaptive_avg_pool1d.default",
    "aten.adaptive_avg_pool2d.default", "aten.adaptive_avg_pool3d.default",
)  # fmt: skip
def adaptive_avg_pool(site: Site, x: Var, output_size: Any) -> Var:
    return _adaptive("AveragePool", "GlobalAveragePool", site, x, output_size)


@rule(
    "aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default",
)  # fmt: skip
def adaptive_max_pool(site: Site, x: Var, output_size: Any) -> Any:
    if any(user.args[1] == 1 for user in site.node.users):
        raise UnsupportedError("the indices of adaptive max pooling")
    return _adaptive("MaxPool", "GlobalMaxPool", site, x, output_size), None


def _adaptive(op_type: str, whole: str, site: Site, x: Var, output_size: Any) -> Var:
    """To a size that divides the one given, or averaged bin by bin where it does not."""
    result = site.result[0] if isinstance(site.result, tuple | list) else site.result
    source_tensor = site.argument(0)
    axes = {"1d": 1, "2d": 2, "3d": 3}[str(site.node.target._schema.name)[-2:]]
    source, batched = _batched(x, axes)
    sizes, wanted = list(source_tensor.shape[-axes:]), list(result.shape[-axes:])
    if all(isinstance(size, int) and size == 1 for size in wanted):
        pooled = op[whole](source)
    elif not all(isinstance(size, int) for size in [*sizes, *wanted]):
        raise UnsupportedError("adaptive pooling to several bins of a size that is not known")
    elif all(size % want == 0 for size, want in zip(sizes, wanted, strict=True)):
        kernel = [size // want for size, want in zip(sizes, wanted, strict=True)]
        pooled = op[op_type](source, kernel_shape=kernel, strides=kernel)
    else:
        pooled = source
        for at, (size, want) in enumerate(zip(sizes, wanted, strict=True)):
            pooled = _binned(pooled, at - axes, size, want, op_type)
    return pooled if batched else op.Squeeze(pooled, [0])


def _binned(x: Var, axis: int, size: int, want: int, op_type: str) -> Var:
    """One axis in `want` bins."""
    reduction = "ReduceMean" if op_type == "AveragePool" else "ReduceMax"
    parts = [
        op[reduction](op.Slice(x, [first], [last], [axis]), [axis], keepdims=1) for first, last in bins(size, want)
    ]
    return op.Concat(*parts, axis=axis) if len(parts) > 1 else parts[0]


def bins(size: int, count: int) -> Iterator[tuple[int, int]]:
    """Where each of `count` bins over `size` places begins and ends; they overlap where it does not divide."""
    for at in range(count):
        yield at * size // count, -(-(at + 1) * size // count)


def _max_pool(
    site: Site, x: Var, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, *, indices: bool
) -> Any:
    axes = _axes(site)
    sizes = each_axis(kernel, axes)
    attributes: dict[str, Any] = {
        "kernel_shape": _fitting(sizes, padding, ceil_mode, site),
        "strides": each_axis(stride or sizes, axes),
        "pads": each_axis(padding, axes) * 2,
        "ceil_mode": 1 if ceil_mode else None,
        "dilations": each_axis(dilation, axes),
    }
    source, batched = _batched(x, axes)
    dtype = source.dtype
    if dtype is not None and not dtype.is_float and dtype not in (DType.INT8, DType.UINT8):
        source = cast(source, DType.FLOAT64)
    if not indices:
        pooled = cast(op.MaxPool(source, **attributes), site.dtype)
        return (pooled if batched else op.Squeeze(pooled, [0])), None
    pooled, places = op.MaxPool(source, outputs=2, **attributes)
    pooled = cast(pooled, site.dtype)
    area = op.ReduceProd(op.Slice(op.Shape(source), [2], [2 + axes]), keepdims=0)
    places = op.Mod(places, area)  # torch counts within a channel
    return (pooled, places) if batched else (op.Squeeze(pooled, [0]), op.Squeeze(places, [0]))


def _fitting(sizes: list[int], padding: Any, ceil_mode: bool, site: Site) -> list[int]:
    """A window rounded up may be larger than what it is over; torch cuts it."""
    sizes_before = site.argument(0).shape[-len(sizes) :]
    pads = each_axis(padding, len(sizes))
    if not ceil_mode or not all(isinstance(size, int) for size in sizes_before):
        return sizes
    return [min(size, have + 2 * pad) for size, have, pad in zip(sizes, sizes_before, pads, strict=True)]


def _padded(x: Var, sizes: list[int], attributes: dict[str, Any], site: Site) -> Var:
    """Padded with zeros so far that every window is whole."""
    axes = len(sizes)
    before = attributes["pads"][:axes]
    sizes_before, sizes_after = site.argument(0).shape[-axes:], site.result.shape[-axes:]
    after = list(before)
    if attributes["ceil_mode"]:
        if not all(isinstance(size, int) for size in [*sizes_before, *sizes_after]):
            raise UnsupportedError("a divisor for windows whose number is not known")
        ends = [(many - 1) * stride for many, stride in zip(sizes_after, attributes["strides"], strict=True)]
        reach = [end + size for end, size in zip(ends, sizes, strict=True)]
        after = [max(last - have - pad, 0) for last, have, pad in zip(reach, sizes_before, before, strict=True)]
    return op.Pad(x, np.array([0, 0, *before, 0, 0, *after], np.int64))


def _axes(site: Site) -> int:
    name = str(site.node.target._schema.name)
    return next(count for count in (1, 2, 3) if f"{count}d" in name)


def _batched(x: Var, axes: int) -> tuple[Var, bool]:
    batched = rank(x) == axes + 2
    return (x if batched else op.Unsqueeze(x, [0])), batched
