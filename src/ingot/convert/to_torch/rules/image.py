"""Images in other sizes, and read at other places."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.rules.view import size_of
from ingot.convert.to_torch.say import axis_in, ints, short, tupled
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_FLOATS = (DType.FLOAT32, DType.FLOAT64)
_LINEAR = {3: "linear", 4: "bilinear", 5: "trilinear"}


@rule("Resize")
def resize(
    site: Site,
    x: Operand,
    roi: Operand | None = None,
    scales: Operand | None = None,
    sizes: Operand | None = None,
    *,
    antialias: int,
    axes: Sequence[int] | None,
    coordinate_transformation_mode: str,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
    keep_aspect_ratio_policy: str,
    mode: str,
    nearest_mode: str,
) -> Expression:
    scales, sizes = (None if one is None or one.shape == (0,) else one for one in (scales, sizes))
    coordinates = coordinate_transformation_mode
    _refuse_unknown(mode, coordinates, nearest_mode, keep_aspect_ratio_policy)
    target = _spatial_target(x, scales, sizes, axes)
    plain = not antialias and not exclude_outside and keep_aspect_ratio_policy == "stretch"
    if target is not None and plain and x.dtype in _FLOATS:
        how = _torch_mode(x, scales, mode, coordinates, nearest_mode, cubic_coeff_a)
        if how is not None:
            return f"F.interpolate({x}, {target}, {how})"
    crop = coordinates == "tf_crop_and_resize"
    rank = x.rank
    along = tuple(axes) if axes is not None else tuple(range(rank)) if rank is not None else None
    arguments = [str(along) if along is not None else f"tuple(range({x}.ndim))"]
    arguments += [_floats(scales) if scales is not None else "None", ints(sizes) if sizes is not None else "None"]
    arguments += [f'mode="{mode}"', f'coordinates="{coordinates}"']
    if mode == "nearest" and nearest_mode != "round_prefer_floor":
        arguments.append(f'rounding="{nearest_mode}"')
    if mode == "cubic":
        arguments.append(f"a={short(cubic_coeff_a)}")
    arguments += ["antialias=True"] * bool(antialias) + ["exclude_outside=True"] * bool(exclude_outside)
    if keep_aspect_ratio_policy != "stretch":
        arguments.append(f'policy="{keep_aspect_ratio_policy}"')
    if crop and roi is not None:
        arguments += [f"roi={_floats(roi)}", f"beyond={short(extrapolation_value)}"]
    return f"{site.use('resize')}({x}, {', '.join(arguments)})"


def _spatial_target(
    x: Operand, scales: Operand | None, sizes: Operand | None, axes: Sequence[int] | None
) -> str | None:
    """The arguments of F.interpolate, where only spatial axes change."""
    if x.rank not in _LINEAR or x.rank is None:
        return None
    along = [axis_in(axis, x.rank) for axis in (axes if axes is not None else range(x.rank))]
    if not set(range(2, x.rank)) <= set(along):
        return None
    if sizes is not None:
        if sizes.sizes is None:
            return None
        for axis, size in zip(along, sizes.sizes, strict=True):
            same = size.text == size_of(x, axis).text or (x.shape is not None and size.number == x.shape[axis])
            if axis < 2 and (not same or size.text == "None"):
                return None
        by_axis = dict(zip(along, sizes.sizes, strict=True))
        return f"size={tupled(by_axis[axis] for axis in range(2, x.rank))}"
    if scales is None or scales.constant is None:
        return None
    factors = dict(zip(along, scales.constant.numpy().tolist(), strict=True))
    if any(factors.get(axis, 1.0) != 1 for axis in (0, 1)):
        return None
    own = [factors[axis] for axis in range(2, x.rank)]
    return f"scale_factor={short(own[0]) if len(set(own)) == 1 else tupled(map(short, own))}"


def _torch_mode(
    x: Operand, scales: Operand | None, mode: str, coordinates: str, nearest_mode: str, a: float
) -> str | None:
    """The mode of F.interpolate that does the same; None where there is none."""
    whole = scales is None or (scales.constant is not None and all(one == int(one) for one in scales.constant.numpy()))
    if mode == "nearest":
        if coordinates == "asymmetric" and nearest_mode == "floor":
            return 'mode="nearest"'
        alike = nearest_mode == "round_prefer_ceil"
        if nearest_mode == "round_prefer_floor":  # no pixel of an image that grows by a whole number lies on a half
            alike = whole and scales is not None
        return 'mode="nearest-exact"' if coordinates == "half_pixel" and alike else None
    if mode == "cubic" and (x.rank != 4 or a != -0.75):
        return None
    mode_text = f'mode="{"bicubic" if mode == "cubic" else _LINEAR[x.rank or 4]}"'
    if coordinates == "half_pixel":
        return f"{mode_text}, align_corners=False"
    return f"{mode_text}, align_corners=True" if coordinates == "align_corners" and whole else None


def _floats(operand: Operand) -> str:
    if operand.constant is not None and operand.dtype is DType.FLOAT32:
        return tupled(short(one) for one in operand.constant.numpy().reshape(-1))
    return f"{operand}.tolist()"


def _refuse_unknown(mode: str, coordinates: str, nearest: str, policy: str) -> None:
    known = (
        ("nearest", "linear", "cubic"),
        (
            *("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"),
            "tf_crop_and_resize",
        ),
        ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
        ("stretch", "not_larger", "not_smaller"),
    )
    if any(one not in choices for one, choices in zip((mode, coordinates, nearest, policy), known, strict=True)):
        raise UnsupportedError("one of its modes is none that is known")


@rule("Upsample")
def upsample(site: Site, x: Operand, scales: Operand, *, mode: str) -> Expression:
    how = "nearest" if mode == "nearest" else "linear"
    along = f"tuple(range({x}.ndim))"
    rounding = ', rounding="floor"' if how == "nearest" else ""
    arguments = f'{along}, {_floats(scales)}, None, mode="{how}", coordinates="asymmetric"{rounding}'
    return f"{site.use('resize')}({x}, {arguments})"


@rule("GridSample")
def grid_sample(
    _site: Site, x: Operand, grid: Operand, *, align_corners: int, mode: str, padding_mode: str
) -> Expression:
    modes = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
    if mode not in modes or padding_mode not in ("zeros", "border", "reflection"):
        raise UnsupportedError("its mode is none that is known")
    if x.rank not in (4, 5) or (x.rank == 5 and mode == "cubic"):
        raise UnsupportedError(f"torch has none of mode {mode} for {x.rank} axes")
    options = "" if mode == "linear" else f', mode="{modes[mode]}"'
    options += "" if padding_mode == "zeros" else f', padding_mode="{padding_mode}"'
    return f"F.grid_sample({x}, {grid}{options}, align_corners={bool(align_corners)})"


@rule("AffineGrid")
def affine_grid(_site: Site, theta: Operand, size: Operand, *, align_corners: int) -> Expression:
    return f"F.affine_grid({theta}, {ints(size)}, align_corners={bool(align_corners)})"
