"""Non-maximum suppression as a primitive: of boxes that overlap, those with the best scores."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.prim.tensor import Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Suppression(Tensor):
    """For each batch and class, how many boxes are selected, then which: int64 of shape [batch, class, 1 + places].

    `boxes` is float32 [batch, box, 4], `scores` [batch, class, box]. `most`, `overlap` and `floor` are tensors without
    axes: the most boxes that are selected of a class, at most as many as there are places, the part of their union that
    two of them may share, and what a score must be above. What is behind the selected ones of a class is anything.
    """

    boxes: Tensor
    scores: Tensor
    most: Tensor
    overlap: Tensor
    floor: Tensor | None
    centred: bool

    @property
    def reads(self) -> tuple[Tensor, ...]:
        numbers = (self.most, self.overlap) if self.floor is None else (self.most, self.overlap, self.floor)
        return (self.boxes, self.scores, *numbers)


def selected_boxes(tensor: Suppression, reads: list[Array], shape: tuple[int, ...]) -> Array:
    """What a suppression is, for arrays."""
    boxes, scores, most, overlap = reads[:4]
    floor = np.float32(reads[4]) if len(reads) > 4 else None
    result = np.zeros(shape, np.int64)
    for batch in range(shape[0]):
        corners = corners_of(boxes[batch], tensor.centred)
        for class_ in range(shape[1]):
            selected = suppress(corners, scores[batch, class_], int(most), np.float32(overlap), floor)
            result[batch, class_, 0] = len(selected)
            result[batch, class_, 1 : 1 + len(selected)] = selected
    return result


def suppress(corners: Array, scores: Array, most: int, overlap: np.float32, floor: np.float32 | None) -> Array:
    """The boxes of one class that are selected, the best first; equal scores keep their order, NaN comes last."""
    order = np.argsort(-scores, kind="stable")
    if floor is not None:
        order = order[scores[order] > floor]
    selected: list[int] = []
    while order.size and len(selected) < most:
        best, order = int(order[0]), order[1:]
        selected.append(best)
        order = order[~_overlapping(corners[best], corners[order], overlap)]
    return np.asarray(selected, np.int64)


def _overlapping(box: Array, others: Array, threshold: np.float32) -> Array:
    """Which boxes share more than the threshold of their union with `box`; a box without area shares nothing."""
    with np.errstate(invalid="ignore", over="ignore"):
        sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
        shared = np.where((sides > 0).all(1), sides[:, 0] * sides[:, 1], np.float32(0))
        area = (box[2] - box[0]) * (box[3] - box[1])
        areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
        union = area + areas - shared
        covered = (shared > 0) & (area > 0) & (areas > 0) & (union > 0)
        return np.asarray(covered & (shared / np.where(covered, union, np.float32(1)) > threshold))


def corners_of(boxes: Array, centred: bool) -> Array:
    """Boxes as `[low, low, high, high]`, from two opposite corners or from centre and size."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if centred:
        half = second / 2
        return np.concatenate([first - half, first + half], axis=1)
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)
