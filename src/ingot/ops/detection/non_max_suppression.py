"""NonMaxSuppression: of boxes that overlap, those with the best scores."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import FLOAT32, INT64, types

Floats: TypeAlias = Annotated[Array, types("", FLOAT32)]
Integers: TypeAlias = Annotated[Array, types("", INT64)]


@operator("NonMaxSuppression", since=(10, 11))
def non_max_suppression(
    boxes: Floats,
    scores: Floats,
    max_output_boxes_per_class: Integers | None = None,
    iou_threshold: Floats | None = None,
    score_threshold: Floats | None = None,
    /,
    *,
    center_point_box: int = 0,
) -> Integers:
    """Rows `[batch, class, box]` of the boxes kept, for each class from the best score down.

    A box goes if its score is not above `score_threshold`, or if it and one kept before share more than
    `iou_threshold` of the area they cover together. Equal scores keep their order.
    """
    _check(boxes.shape, scores.shape, center_point_box)
    most = _number(max_output_boxes_per_class, "max_output_boxes_per_class", 0)
    overlap = np.float32(_number(iou_threshold, "iou_threshold", 0.0))
    floor = None if score_threshold is None or not score_threshold.size else _number(score_threshold, "score", 0.0)
    rows = [np.empty((0, 3), np.int64)]
    if most > 0:
        for batch in range(boxes.shape[0]):
            corners = _corners(boxes[batch], center_point_box)
            for class_ in range(scores.shape[1]):
                chosen = _chosen(corners, scores[batch, class_], int(most), overlap, floor)
                rows.append(np.stack([np.full_like(chosen, batch), np.full_like(chosen, class_), chosen], axis=1))
    return np.concatenate(rows)


def _chosen(corners: Array, scores: Array, most: int, overlap: np.float32, floor: float | None) -> Array:
    order = np.argsort(-scores, kind="stable")
    if floor is not None:
        order = order[scores[order] > np.float32(floor)]
    chosen: list[int] = []
    while order.size and len(chosen) < most:
        best, order = int(order[0]), order[1:]
        chosen.append(best)
        order = order[~_overlapping(corners[best], corners[order], overlap)]
    return np.asarray(chosen, np.int64)


def _overlapping(box: Array, others: Array, threshold: np.float32) -> Array:
    """Which boxes share more than the threshold of their union with `box`; a box without area shares nothing."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = np.where((sides > 0).all(1), sides[:, 0] * sides[:, 1], np.float32(0))
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    union = area + areas - shared
    covered = (shared > 0) & (area > 0) & (areas > 0) & (union > 0)
    return np.asarray(covered & (shared / np.where(covered, union, np.float32(1)) > threshold))


def _corners(boxes: Array, center_point_box: int) -> Array:
    """Boxes as `[low, low, high, high]`, from two opposite corners or from centre and size."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if center_point_box:
        half = second / 2
        first, second = first - half, first + half
        return np.concatenate([first, second], axis=1)
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)


@non_max_suppression.infer
def infer(boxes: Fact, scores: Fact, /, *_: Fact, center_point_box: int) -> Inferred:
    require_rank(boxes, 3, "boxes")
    require_rank(scores, 3, "scores")
    if boxes.shape is not None:
        unify(boxes.shape[2], 4, "the numbers of a box and")
    if boxes.shape is not None and scores.shape is not None:
        unify(boxes.shape[0], scores.shape[0], "the batch sizes of boxes and scores")
        unify(boxes.shape[1], scores.shape[2], "the numbers of boxes and scores")
    return TensorType(DType.INT64, (None, 3))


def _check(boxes: tuple[int, ...], scores: tuple[int, ...], center_point_box: int) -> None:
    if len(boxes) != 3 or len(scores) != 3 or boxes != (scores[0], scores[2], 4):
        raise ShapeError(f"boxes of shape {list(boxes)} and scores of shape {list(scores)} do not fit")
    if center_point_box not in (0, 1):
        raise CheckError(f"center_point_box is {center_point_box}, expected 0 or 1")


def _number(tensor: Array | None, name: str, default: float) -> float:
    if tensor is None or not tensor.size:
        return default
    if tensor.size != 1:
        raise InputError(f"{name} must be one number, it has shape {list(tensor.shape)}")
    number: float = tensor.reshape(()).item()
    return number
