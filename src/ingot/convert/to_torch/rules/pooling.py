"""Pools of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.rules.convolution import same_pads
from ingot.convert.to_torch.say import ints, rank_of, tupled
from ingot.convert.to_torch.site import Site
from ingot.errors import UnsupportedError


class _Windows:
    """How windows move, with all defaults filled in."""

    def __init__(
        self,
        site: Site,
        x: Operand,
        kernel_shape: Sequence[int],
        auto_pad: str,
        dilations: Sequence[int] | None,
        pads: Sequence[int] | None,
        strides: Sequence[int] | None,
        value: str,
    ) -> None:
        count = len(kernel_shape)
        self.x = str(x)
        self.kernel = tuple(kernel_shape)
        self.strides = tuple(strides or [1] * count)
        self.dilations = tuple(dilations or [1] * count)
        self.pads = (0,) * (2 * count) if pads is None or auto_pad == "VALID" else tuple(pads)
        if auto_pad.startswith("SAME"):
            upper = auto_pad == "SAME_UPPER"
            computed = same_pads(x, self.kernel, self.strides, self.dilations, upper)
            if computed is not None:
                self.pads = tuple(computed)
            else:
                sizes = f"{self.kernel}, {self.strides}, {self.dilations}"
                self.x = f"{site.use('pad_same')}({x}, {sizes}, upper={upper}, value={value})"

    @property
    def is_torch(self) -> bool:
        """Whether torch's own pools take it: as much padding before as after, and at most half a window."""
        count = len(self.kernel)
        before, after = self.pads[:count], self.pads[count:]
        fits = all(0 <= 2 * pad <= size for pad, size in zip(before, self.kernel, strict=True))
        return before == after and fits and 1 <= count <= 3

    def options(self, *, dilated: bool) -> str:
        count = len(self.kernel)
        text = f", stride={_one_or_all(self.strides)}"
        if any(self.pads):
            text += f", padding={_one_or_all(self.pads[:count])}"
        if dilated and any(gap != 1 for gap in self.dilations):
            text += f", dilation={_one_or_all(self.dilations)}"
        return text

    def settings(self) -> str:
        return f"{self.kernel}, {self.strides}, {self.dilations}, {self.pads}"


def _one_or_all(values: Sequence[int]) -> str:
    return str(values[0]) if len(set(values)) == 1 else tupled(values)


@rule("MaxPool")
def max_pool(
    site: Site,
    x: Operand,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str,
    ceil_mode: int,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    storage_order: int,
    strides: Sequence[int] | None,
) -> Expression:
    moving = _Windows(site, x, kernel_shape, auto_pad, dilations, pads, strides, 'float("-inf")')
    ceil = ", ceil=True" if ceil_mode else ""
    if len(site.node.outputs) > 1:
        order = ", columns_first=True" if storage_order else ""
        return f"{site.use('max_pool_places')}({moving.x}, {moving.settings()}{ceil}{order})"
    if moving.is_torch and not x.is_integer:
        mode = ", ceil_mode=True" if ceil_mode else ""
        name = f"F.max_pool{len(kernel_shape)}d"
        return f"{name}({moving.x}, {_one_or_all(moving.kernel)}{moving.options(dilated=True)}{mode})"
    return f"{site.use('max_pool')}({moving.x}, {moving.settings()}{ceil})"


@rule("AveragePool")
def average_pool(
    site: Site,
    x: Operand,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str,
    ceil_mode: int,
    count_include_pad: int,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    if auto_pad.startswith("SAME") and not _is_sized(x):
        raise UnsupportedError("the sizes of its input, which its padding follows, are not known")
    moving = _Windows(site, x, kernel_shape, auto_pad, dilations, pads, strides, "0.0")
    plain = all(gap == 1 for gap in moving.dilations)
    if moving.is_torch and plain:
        options = ", ceil_mode=True" if ceil_mode else ""
        if any(moving.pads) and not count_include_pad:
            options += ", count_include_pad=False"
        name = f"F.avg_pool{len(kernel_shape)}d"
        return f"{name}({moving.x}, {_one_or_all(moving.kernel)}{moving.options(dilated=False)}{options})"
    options = ", ceil=True" * bool(ceil_mode) + ", count_pads=True" * bool(count_include_pad)
    return f"{site.use('average_pool')}({moving.x}, {moving.settings()}{options})"


def _is_sized(x: Operand) -> bool:
    return x.shape is not None and all(isinstance(size, int) for size in x.shape[2:])


@rule("LpPool")
def lp_pool(
    site: Site,
    x: Operand,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str,
    ceil_mode: int,
    dilations: Sequence[int] | None,
    p: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    moving = _Windows(site, x, kernel_shape, auto_pad, dilations, pads, strides, "0.0")
    return f"{site.use('lp_pool')}({moving.x}, {p}, {moving.settings()}{', ceil=True' if ceil_mode else ''})"


@rule("MaxUnpool")
def max_unpool(
    site: Site,
    x: Operand,
    indices: Operand,
    output_shape: Operand | None = None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Expression:
    count = len(kernel_shape)
    steps, around = list(strides or [1] * count), list(pads or [0] * (2 * count))
    sizes: list[Any] = [f"{x}.shape[0]", f"{x}.shape[1]"]
    for axis in range(count):
        less = kernel_shape[axis] - steps[axis] - around[axis] - around[axis + count]
        more = f" + {less}" if less > 0 else f" - {-less}" if less else ""
        sizes.append(f"{x}.shape[{axis + 2}] * {steps[axis]}{more}")
    text = f"{site.use('max_unpool')}({x}, {indices}, {tupled(sizes)})"
    if output_shape is None:
        return text
    return f"{site.use('unpooled_in')}({x}, {indices}, {tupled(sizes)}, {ints(output_shape)})"


@rule("MaxRoiPool")
def max_roi_pool(
    site: Site, x: Operand, rois: Operand, *, pooled_shape: Sequence[int], spatial_scale: float
) -> Expression:
    rank_of(x)
    return f"{site.use('max_roi_pool')}({x}, {rois}, {tuple(pooled_shape)}, {spatial_scale!r})"
