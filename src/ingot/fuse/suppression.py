"""Non-maximum suppression as a nest: boxes and scores are loaded, counts and places of those selected stored."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.fuse.contraction import require_load, require_stored
from ingot.fuse.read import Placed, Reader, StoreFirst, linear, of_var
from ingot.loops.ir import COUNT, PLACE, Index, Local, Store, Suppress, Var
from ingot.prim.suppression import Suppression
from ingot.prim.tensor import Tensor


def suppression_nest(tensor: Suppression, target: Placed, placed: Mapping[Tensor, Placed]) -> Suppress:
    """The nest that stores the boxes selected at `target`; StoreFirst if boxes or scores have to be stored before."""
    sizes = {"batch": tensor.shape[0], "group": tensor.shape[1], "box": tensor.boxes.shape[1], "corner": 4}
    batch, group, box, corner = (Var(name, size) for name, size in sizes.items())
    rank = Var("rank", tensor.shape[2] - 1)
    at = {var: Index() if var.extent == 1 else of_var(var) for var in (batch, group, box, corner, rank)}
    reader = Reader(placed, lambda _tensor, _at: None)
    for operand in (tensor.boxes, tensor.scores):
        require_stored(operand, placed)
    boxes = require_load(tensor.boxes, reader.read(tensor.boxes, (at[batch], at[box], at[corner])))
    if boxes.where:
        raise StoreFirst(tensor.boxes, "its boxes overlap", in_order=True)
    scores = require_load(tensor.scores, reader.read(tensor.scores, (at[batch], at[group], at[box])))
    if scores.where or (box.extent != 1 and scores.index.factor(box) != 1):
        raise StoreFirst(tensor.scores, "its rows are sorted", in_order=True)
    first = linear((at[batch], at[group], Index()), target.strides)
    places = linear((at[batch], at[group], at[rank].plus(1)), target.strides)
    return Suppress(
        batch,
        group,
        box,
        corner,
        rank,
        boxes,
        scores,
        reader.read(tensor.most, ()),
        reader.read(tensor.overlap, ()),
        None if tensor.floor is None else reader.read(tensor.floor, ()),
        tensor.centred,
        (Store(target.buffer, first, Local(tensor.dtype, COUNT)),),
        (Store(target.buffer, places, Local(tensor.dtype, PLACE)),),
    )
