"""Two models compared by running them on the same random inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.cli.placement import placement
from ingot.cli.units import counted
from ingot.errors import CheckError, IngotError
from ingot.format import decode, encode
from ingot.ir import Model
from ingot.session import Session
from ingot.tools.bench.inputs import inputs

_RELATIVE = 1e-5
_ABSOLUTE = 1e-6
_ROUNDED = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-10}
_ROUNDED_SHORT = 5e-2
"""How far a result may be from what it was, as a part of the largest, where a model sums in another order: a thousand
roundings of its type, and for 16 bits some fifty."""


def prove(before: Model, after: Model, shapes: dict[str, str], seed: int, *, rounds: bool = False) -> str:
    """A sentence that says how alike the outputs of two models are, the second one as it would be saved.

    CheckError if one differs by more than rounding; with `rounds`, by more than all the roundings of a deep model.
    Inputs are made up as for measuring: by `shapes`, then by the metadata of the first; sizes that neither says are 1.
    """
    feeds, open_sizes = inputs(before.copy(), shapes, {}, seed)
    names = before.graph.outputs.names
    try:
        old = Session(before, seed=seed).run(names, feeds)
    except IngotError as error:
        if error.hint is None and open_sizes:
            error.hint = f"sizes that are not given are 1: try --shape {open_sizes[0]}=..., or --no-prove"
        raise
    written = after if placement(after) else decode(encode(after))  # weights in other files stay where they are
    new = Session(written, seed=seed).run(names, feeds)
    largest = 0.0
    for name, one, other in zip(names, old, new, strict=True):
        largest = max(largest, _difference(name, one, other, rounds))
    exact = "equal" if largest == 0 else f"at most {largest:.1e} apart"
    return f"ran both on random inputs: {counted(len(names), 'output')} {exact}"


def _difference(name: str, one: Any, other: Any, rounds: bool) -> float:
    """The largest difference between two results; CheckError if they are of two kinds, or it is more than rounding."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max((_difference(name, a, b, rounds) for a, b in zip(one, other, strict=True)), default=0.0)
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        if type(one) is type(other) and one == other:
            return 0.0
        raise CheckError(f"output '{name}' is not what it was")
    if one.dtype != other.dtype or one.shape != other.shape:
        raise CheckError(f"output '{name}' was {one.dtype}{list(one.shape)}, it is {other.dtype}{list(other.shape)}")
    if one.dtype.kind in "biuO":
        if np.array_equal(one, other):
            return 0.0
        raise CheckError(f"output '{name}' is not what it was")
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    a, b = one.astype(wide), other.astype(wide)
    absolute = _ABSOLUTE
    if rounds:
        absolute = _ROUNDED.get(one.dtype, _ROUNDED_SHORT) * float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    if not np.allclose(a, b, rtol=_RELATIVE, atol=absolute, equal_nan=True):
        raise CheckError(f"output '{name}' is up to {np.nanmax(np.abs(a - b)):.3g} from what it was")
    finite = np.isfinite(a) & np.isfinite(b)
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0))
