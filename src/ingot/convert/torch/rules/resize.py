"""Images in other sizes, and sampled along a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.rule import Rule, Site, rule
from ingot.convert.torch.sizes import Extent, as_vector
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


def _vec(mode: str) -> Any:
    """The overloads that take a size or factors, and say whether corners are aligned, unless they are nearest."""

    def nearest(site: Site, x: Var, size: Sequence[Extent] | None, factors: Sequence[float] | None) -> Var:
        return _resized(site, x, size, factors, mode, align=False)

    def smooth(site: Site, x: Var, size: Sequence[Extent] | None, align: bool, factors: Sequence[float] | None) -> Var:
        return _resized(site, x, size, factors, mode, align=align)

    return nearest if mode == "nearest" else smooth


def _default(mode: str) -> Any:
    """The overloads that take a size and, by axis, the factors it came from."""

    def nearest(site: Site, x: Var, size: Sequence[Extent], *factors: Any) -> Var:
        return _resized(site, x, size, _all(factors), mode, align=False)

    def smooth(site: Site, x: Var, size: Sequence[Extent], align: bool, *factors: Any) -> Var:
        return _resized(site, x, size, _all(factors), mode, align=align)

    return nearest if mode == "nearest" else smooth


_KINDS = {
    "nearest1d": "nearest", "nearest2d": "nearest", "nearest3d": "nearest", "linear1d": "linear",
    "bilinear2d": "linear", "trilinear3d": "linear", "bicubic2d": "cubic",
}  # fmt: skip

upsample_vec = {name: Rule((f"aten.upsample_{name}.vec",), _vec(mode)) for name, mode in _KINDS.items()}
upsample = {name: Rule((f"aten.upsample_{name}.default",), _default(mode)) for name, mode in _KINDS.items()}

_EXACT = {"_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"}


def _exact(site: Site, x: Var, size: Sequence[Extent] | None, *factors: Any) -> Var:
    scales = factors[0] if len(factors) == 1 and isinstance(factors[0], list | tuple) else _all(factors)
    return _resized(site, x, size, scales, "nearest", align=False, exact=True)


exact = {name: Rule((f"aten.{name}.vec", f"aten.{name}.default"), _exact) for name in _EXACT}


@rule("aten._upsample_bilinear2d_aa.default", "aten._upsample_bilinear2d_aa.vec")
def bilinear_antialiased(site: Site, x: Var, size: Any, align: bool, *factors: Any) -> Var:
    return _antialiased(site, x, size, align, factors, "linear")


@rule("aten._upsample_bicubic2d_aa.default", "aten._upsample_bicubic2d_aa.vec")
def bicubic_antialiased(site: Site, x: Var, size: Any, align: bool, *factors: Any) -> Var:
    return _antialiased(site, x, size, align, factors, "cubic", coefficient=-0.5)


def _antialiased(
    site: Site, x: Var, size: Any, align: bool, factors: Sequence[Any], mode: str, coefficient: float = -0.75
) -> Var:
    """With a size, and factors that it may come from; ONNX does not say what it is where corners are aligned."""
    scales = factors[0] if len(factors) == 1 and isinstance(factors[0], list | tuple) else _all(factors)
    if align or (size is not None and scales is not None):
        raise UnsupportedError("a size beside factors, or aligned corners, where images are smoothed")
    return _resized(site, x, size, scales, mode, align=align, antialias=1, coefficient=coefficient)


@rule("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default", "aten.grid_sampler.default")
def grid_sampler(site: Site, x: Var, grid: Var, mode: int, padding: int, align: bool) -> Var:
    if (mode, padding) == (_CUBIC, _BORDER):
        x, grid = _beyond_border(x, grid, align)
    return op.GridSample(
        x,
        grid,
        mode=("linear", "nearest", "cubic")[mode],
        padding_mode=("zeros", "border", "reflection")[padding],
        align_corners=int(align),
    )


_CUBIC, _BORDER, _REACH = 2, 1, 2


def _beyond_border(x: Var, grid: Var, align: bool) -> tuple[Var, Var]:
    """An image with its border repeated as far as a cubic reaches, and the grid over that.

    ONNX moves a point beyond the border to it; torch repeats the border for each of the pixels around the point.
    """
    dtype = x.dtype
    assert dtype is not None
    sizes = cast(op.Slice(op.Shape(x), [3], [1], [0], [-1]), dtype)  # width, height: as the grid has them
    if align:
        sizes = op.Sub(sizes, number(1, dtype))
    smaller = op.Div(sizes, op.Add(sizes, number(2 * _REACH, dtype)))
    pads = np.full(4, _REACH, np.int64)
    return op.Pad(x, pads, None, np.array([2, 3], np.int64), mode="edge"), op.Mul(grid, smaller)


@rule("aten.affine_grid_generator.default")
def affine_grid(site: Site, theta: Var, size: Sequence[Extent], align: bool) -> Var:
    return op.AffineGrid(theta, as_vector(size), align_corners=int(align))


@rule("aten.pixel_shuffle.default")
def pixel_shuffle(site: Site, x: Var, factor: int) -> Var:
    """Channels spread over the pixels, the rows before the columns of each block."""
    if rank(x) == 4:
        return op.DepthToSpace(x, blocksize=factor, mode="CRD")
    return op.Squeeze(op.DepthToSpace(op.Unsqueeze(x, [0]), blocksize=factor, mode="CRD"), [0])


def _resized(
    site: Site,
    x: Var,
    size: Sequence[Extent] | None,
    factors: Sequence[float] | None,
    mode: str,
    *,
    align: bool,
    exact: bool = False,
    antialias: int | None = None,
    coefficient: float = -0.75,
) -> Var:
    axes = list(range(2, rank(x)))
    attributes: dict[str, Any] = {"mode": mode, "axes": axes, "antialias": antialias, "exclude_outside": antialias}
    pixels = "asymmetric" if mode == "nearest" and not exact else "half_pixel"
    attributes["coordinate_transformation_mode"] = "align_corners" if align else pixels
    if mode == "nearest":
        attributes["nearest_mode"] = "round_prefer_ceil" if exact else "floor"
    if mode == "cubic":
        attributes["cubic_coeff_a"] = coefficient
    if factors is not None and not align:
        scaled: Var = op.Resize(x, None, np.array(factors, np.float32), **attributes)
        return scaled
    if size is not None:
        wanted = as_vector(size)
    elif factors is not None:  # corners are aligned in whole sizes: for factors, ONNX aligns them in others
        sizes = op.Mul(op.Cast(op.Shape(x, start=2), to=int(DType.FLOAT64)), np.array(factors, np.float64))
        wanted = op.Cast(op.Floor(sizes), to=int(DType.INT64))
    else:
        wanted = as_vector(list(site.result.shape[2:]))
    resized: Var = op.Resize(x, None, None, wanted, **attributes)
    return resized


def _all(factors: Sequence[Any]) -> Sequence[float] | None:
    return list(factors) if factors and all(factor is not None for factor in factors) else None
