"""Sorts as a nest: rows are loaded as they lie in memory, and places are stored."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.fuse.contraction import require_load, require_stored
from ingot.fuse.read import Placed, Reader, StoreFirst, linear, of_var
from ingot.loops.ir import PLACE, Index, Local, Sort, Store, Var
from ingot.prim.order import Order
from ingot.prim.tensor import Tensor


def sort_nest(tensor: Order, target: Placed, placed: Mapping[Tensor, Placed]) -> Sort:
    """The nest that stores the places of sorted rows at `target`; StoreFirst if the rows have to be stored before."""
    x = tensor.x
    rows = [Var(f"i{axis}", size) for axis, size in enumerate(x.shape[:-1])]
    element, rank = Var("element", x.shape[-1]), Var("rank", tensor.shape[-1])
    require_stored(x, placed)
    reader = Reader(placed, lambda _tensor, _at: None)
    at = tuple(Index() if var.extent == 1 else of_var(var) for var in (*rows, element, rank))
    load = require_load(x, reader.read(x, at[:-1]))
    if load.where or (element.extent != 1 and load.index.factor(element) != 1):
        raise StoreFirst(x, "its rows are sorted", in_order=True)
    store = Store(target.buffer, linear((*at[:-2], at[-1]), target.strides), Local(tensor.dtype, PLACE))
    return Sort(tuple(row for row in rows if row.extent != 1), element, rank, load, tensor.descending, (store,))
