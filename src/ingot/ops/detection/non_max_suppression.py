"""NonMaxSuppression: of boxes that overlap, those with the best scores."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import maximum, minimum
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import FLOAT32, INT64, types
from ingot.prim.suppression import Suppression, corners_of, suppress
from ingot.prim.tensor import SizeReader

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
    floor = None
    if score_threshold is not None and score_threshold.size:
        floor = np.float32(_number(score_threshold, "score_threshold", 0.0))
    rows = [np.empty((0, 3), np.int64)]
    if most > 0:
        for batch in range(boxes.shape[0]):
            corners = corners_of(boxes[batch], bool(center_point_box))
            for class_ in range(scores.shape[1]):
                chosen = suppress(corners, scores[batch, class_], int(most), overlap, floor)
                rows.append(np.stack([np.full_like(chosen, batch), np.full_like(chosen, class_), chosen], axis=1))
    return np.concatenate(rows)


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


@non_max_suppression.lower
def lower(
    boxes: prim.Tensor,
    scores: prim.Tensor,
    max_output_boxes_per_class: prim.Tensor | None = None,
    iou_threshold: prim.Tensor | None = None,
    score_threshold: prim.Tensor | None = None,
    /,
    *,
    center_point_box: int,
    facts: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    """One kernel finds what is kept of each class; how many that are is read, and another one puts them together."""
    if center_point_box not in (0, 1):
        raise prim.Refused(f"center_point_box is {center_point_box}")
    most = _one(max_output_boxes_per_class)
    if most is None:
        raise prim.Refused("no box is kept")
    overlap, floor = _one(iou_threshold), _one(score_threshold)
    if overlap is None:
        overlap = prim.scalar(0.0, DType.FLOAT32)
    batch, classes, many = scores.shape
    boxes = prim.assume_shape(boxes, (batch, many, 4))
    known = facts[2].elements
    places = many if known is None or known[0] is None else minimum(maximum(known[0], 0), many)
    shape = (batch, classes, places + 1)
    table = Suppression(DType.INT64, shape, boxes, scores, most, overlap, floor, bool(center_point_box))
    return _rows(table, read)


def _one(x: prim.Tensor | None) -> prim.Tensor | None:
    """One number without axes; None if there is none. Refused where it is not known whether it is one."""
    if x is None or prim.count(x.shape) == 0:
        return None
    if prim.count(x.shape) != 1:
        raise prim.Refused("a limit that is not one number")
    return prim.reshape(x, ())


def _rows(table: prim.Tensor, read: SizeReader) -> prim.Tensor:
    """Rows of batch, class and box from a table with how many there are, and which, for each batch and class."""
    batch, classes, width = table.shape
    groups = batch * classes
    table = prim.reshape(table, (groups, width))
    counts = prim.reshape(prim.slice_(table, [0, 0], [groups, 1]), (groups,))
    (total,) = read(prim.reduce_("add", counts, [0]))
    row, group = prim.iota((total,), 0), prim.full(0, (total,), DType.INT64)
    if groups != 1:
        ends = prim.scan("add", counts, 0)
        behind = prim.apply("less_equal", prim.unsqueeze(ends, [0]), prim.iota((total, groups), 0))
        group = prim.squeeze(prim.reduce_("add", prim.cast(behind, DType.INT64), [1]), [1])
        row = row - prim.gather(ends - counts, [group], (total,), in_range=True)
    box = prim.gather(table, [group, row + 1], (total,), in_range=True)
    per_batch = prim.apply("maximum", prim.size(classes), 1)
    columns = (group / per_batch, prim.apply("remainder", group, per_batch), box)
    return prim.concat([prim.unsqueeze(column, [1]) for column in columns], 1)


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
