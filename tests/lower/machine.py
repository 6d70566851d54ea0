"""What a graph computes as machine code against what the reference computes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

import ingot
from ingot.dtypes import Array
from ingot.errors import IngotError
from ingot.ir.model import Model

HEADER = '<ir_version: 13, opset_import: ["" : 28, "com.microsoft" : 1]>'


def runs(graph: str, *cases: dict[str, Any], rtol: float = 1e-6, atol: float = 0, threads: int = 1) -> None:
    """AssertionError unless a graph, in text form, is compiled whole and gives for each case what the reference gives.

    An error of the reference is to be one of the machine code too.
    """
    model = ingot.parse_model(f"{HEADER} {graph}")
    compiled = ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)
    assert compiled.compiled is not None
    reasons = [f"{node.op_type}: {call.reason}" for node, call in compiled.compiled.program.calls.items()]
    assert not reasons
    for feeds in cases:
        expected, result = _outcome(model, feeds, None), _outcome(model, feeds, compiled)
        if isinstance(expected, IngotError):
            assert type(result) is type(expected), f"{result!r} where the reference says {expected}"
            continue
        assert not isinstance(result, IngotError), result
        for name, one, other in zip(compiled.outputs, result, expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), name
            if other.dtype.kind in "biu":
                np.testing.assert_array_equal(one, other, name)
            else:
                wide, exact = one.astype(np.float64), other.astype(np.float64)
                np.testing.assert_allclose(wide, exact, rtol=rtol, atol=atol, err_msg=name)


def _outcome(model: Model, feeds: dict[str, Any], session: ingot.Session | None) -> list[Array] | IngotError:
    session = session or ingot.Session(model, providers=("reference",))
    try:
        return session.run(None, {name: np.asarray(array) for name, array in feeds.items()})
    except IngotError as error:
        return error
