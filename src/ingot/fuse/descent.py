"""Decision trees as a nest: their tables are loaded, and so are the features of rows."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.fuse.contraction import require_load, require_stored
from ingot.fuse.read import Placed, Reader, linear, of_var
from ingot.loops.ir import Descent as DescentNest
from ingot.loops.ir import Index, Load, Local, Store, Var
from ingot.prim.descent import Descent
from ingot.prim.tensor import Tensor


def descent_nest(tensor: Descent, target: Placed, placed: Mapping[Tensor, Placed]) -> DescentNest:
    """The nest that stores the votes of trees at `target`; StoreFirst if the features have to be stored before."""
    trees, x = tensor.trees, tensor.x
    row, column, feature = Var("row", tensor.shape[0]), Var("target", tensor.shape[1]), Var("feature", x.shape[1])
    require_stored(x, placed)
    reader = Reader(placed, lambda _tensor, _at: None)
    at = tuple(Index() if var.extent == 1 else of_var(var) for var in (row, column, feature))
    features = require_load(x, reader.read(x, (at[0], at[2])))

    def table(tensor: Tensor) -> Load:
        return Load(tensor.dtype, placed[tensor].buffer, Index())

    bits = trees.bits
    return DescentNest(
        tensor.function,
        row,
        column,
        feature,
        features,
        trees.key,
        trees.missing,
        table(trees.nodes),
        trees.wide,
        trees.shift,
        table(trees.roots),
        table(trees.votes),
        None if trees.targets is None else table(trees.targets),
        trees.by_leaf,
        trees.trees,
        trees.steps,
        (Store(target.buffer, linear(at[:2], target.strides), Local(tensor.dtype, "votes")),),
        0 if bits is None else bits.leaves,
        bits is not None and bits.between,
        None if bits is None else table(bits.tests),
        None if bits is None else table(bits.spans),
        None if bits is None else table(bits.exits),
    )
