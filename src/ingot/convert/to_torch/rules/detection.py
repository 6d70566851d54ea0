"""Boxes and regions."""

from __future__ import annotations

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import integer, short
from ingot.convert.to_torch.site import Site
from ingot.errors import UnsupportedError


@rule("NonMaxSuppression")
def non_max_suppression(
    site: Site,
    boxes: Operand,
    scores: Operand,
    most: Operand | None = None,
    overlap: Operand | None = None,
    least: Operand | None = None,
    *,
    center_point_box: int,
) -> Expression:
    options = "0" if most is None else integer(most)
    options += ", 0.0" if overlap is None else f", {_float(overlap)}"
    options += ", None" if least is None else f", {_float(least)}"
    return (
        f"{site.use('non_max_suppression')}({boxes}, {scores}, {options}{', centred=True' if center_point_box else ''})"
    )


def _float(operand: Operand) -> str:
    return operand.literal or f"float({operand})"


@rule("RoiAlign")
def roi_align(
    site: Site,
    x: Operand,
    rois: Operand,
    batch_indices: Operand,
    *,
    coordinate_transformation_mode: str,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
) -> Expression:
    if mode not in ("avg", "max"):
        raise UnsupportedError("its mode is none that is known")
    half = coordinate_transformation_mode == "half_pixel"
    options = f"({output_height}, {output_width}), {sampling_ratio}, {short(spatial_scale)}, half_pixel={half}"
    largest = ", largest=True" if mode == "max" else ""
    return f"{site.use('roi_align')}({x}, {rois}, {batch_indices}, {options}{largest})"
