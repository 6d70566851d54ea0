"""Which versions go together: an operator set, the format and the side domains of the release that brought it."""

from __future__ import annotations

from bisect import bisect_right

from ingot.ir.domains import STANDARD, canonical

OPSET = 28
"""The newest version of the standard operators this package knows."""

# From the release table of ONNX: the first opset of each IR version, and of each version of ai.onnx.ml.
_IR_SINCE = {1: 3, 9: 4, 10: 5, 11: 6, 12: 7, 15: 8, 19: 9, 21: 10, 23: 11, 24: 12, 25: 13, 28: 14}
_ML_SINCE = {1: 1, 11: 2, 16: 3, 20: 4, 21: 5}

_FUNCTIONS_SINCE = 8
_OVERLOADS_SINCE = 10
INITIALIZERS_ALONE_SINCE = 4
"""Before this IR version every initialiser had to be an input of the graph too."""


def ir_version_of(opset: int, *, functions: bool = False, overloads: bool = False) -> int:
    """The IR version released with `opset`, or the first that can express what the model has."""
    version = _newest(_IR_SINCE, opset)
    if functions:
        version = max(version, _FUNCTIONS_SINCE)
    return max(version, _OVERLOADS_SINCE) if overloads else version


def domain_version_of(domain: str, opset: int) -> int:
    """The version to import of a domain nobody declared: what was released with `opset`, or 1 if it is not ONNX's."""
    if canonical(domain) == STANDARD:
        return opset
    return _newest(_ML_SINCE, opset) if domain == "ai.onnx.ml" else 1


def _newest(since: dict[int, int], opset: int) -> int:
    first = list(since)
    return since[first[bisect_right(first, opset) - 1]]
