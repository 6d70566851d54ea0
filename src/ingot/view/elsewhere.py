"""The values of a run computed by another provider, or in another precision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.infer import infer
from ingot.ir.interface import add_outputs
from ingot.ir.model import Model
from ingot.ir.types import TensorType
from ingot.passes.precisions import PRECISIONS, Precision
from ingot.session import Cancel, Session

COMPILED = "cpu"

_MOST_SECONDS = 600.0


def values_compiled(
    model: Model,
    names: Iterable[str],
    feeds: Mapping[str, Any],
    precision: Precision | None = None,
    cancel: Cancel | None = None,
    seed: int | None = None,
) -> dict[str, Array]:
    """Values of the main graph by name, computed by compiled kernels, in a precision or in that of the model.

    Each is stored to be looked at, so that fewer nodes are fused than in a plain run. Those that are no tensors are
    left out. InputError for a precision that does not exist; IngotError as of a session.
    """
    if precision is not None and precision not in PRECISIONS:
        raise InputError(f"there is no precision '{precision}'", hint=f"there are {', '.join(PRECISIONS)}")
    asked = model.copy()
    infer(asked)
    known = {value.name: value for node in asked.graph for value in node.outputs if isinstance(value.type, TensorType)}
    wanted = [name for name in names if name in known]
    add_outputs(asked, wanted)
    session = Session(asked, providers=(COMPILED, "reference"), fallback=False, precision=precision)
    arrays = session.run(wanted, feeds, cancel=cancel, seed=seed, deadline=_MOST_SECONDS)
    return dict(zip(wanted, arrays, strict=True))
