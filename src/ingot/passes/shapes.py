"""Shape arithmetic evaluated away: integers that inference knows are constants, whatever they are computed from."""

from __future__ import annotations

import numpy as np

from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.tensor import Tensor
from ingot.ir.types import is_static
from ingot.ops.facts import Fact
from ingot.passes.replacing import replace_by_constant
from ingot.queries.values import fact


def known_integers(model: Model, facts: Facts) -> int:
    """Replace what nodes compute by constants where every element is known to be a plain integer; how many values.

    Sizes that depend on the sizes of inputs stay computed.
    """
    replaced = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if node.applies("Constant") or (node.applies("Identity") and node.output.is_output):
                continue
            for value in node.outputs:
                if node.graph is not None and value.is_used:
                    tensor = _tensor(fact(value, facts))
                    if tensor is not None:
                        replace_by_constant(value, tensor, facts)
                        replaced += 1
    return replaced


def _tensor(known: Fact) -> Tensor | None:
    integers = known.integers
    if integers is None or known.dtype is None or known.shape is None or not is_static(known.shape):
        return None
    sizes = [dim for dim in known.shape if isinstance(dim, int)]
    if len(integers) != int(np.prod(sizes)):
        return None
    try:
        return Tensor(np.array(integers, known.dtype.numpy).reshape(sizes))
    except OverflowError:  # the run wraps around where inference counts on
        return None
