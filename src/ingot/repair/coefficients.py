"""Linear models with more coefficients than their features meet."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.ir.node import Node
from ingot.repair.places import place_of_node
from ingot.repair.record import Repair, Subject

_DOMAIN = "ai.onnx.ml"


def drop_spare_coefficients(subject: Subject) -> Iterator[Repair]:
    """Cut the coefficients of a linear model behind those of its last class or target.

    The standard does not say what spare ones mean. This follows onnxruntime, which reads rows of as many coefficients
    as there are features, one right after the other, and skips the rest; rows that each end in spare ones would be
    another reading.
    """
    for node in subject.model.nodes():
        if not node.applies("LinearClassifier", "LinearRegressor", domain=_DOMAIN) or not node.inputs:
            continue
        shape = subject.facts.of(node.inputs[0]).shape
        coefficients = node.get("coefficients")
        rows = _rows(node)
        if not shape or not isinstance(shape[-1], int) or not coefficients or not rows:
            continue
        needed = rows * shape[-1]
        if 0 < needed < len(coefficients):
            node.attributes["coefficients"] = node.attributes["coefficients"].with_value(coefficients[:needed])
            what = f"takes the first {needed} of {len(coefficients)} coefficients"
            yield Repair("coefficients", place_of_node(node), what)


def _rows(node: Node) -> int:
    """How many rows of coefficients a model has; 0 where nothing but their number would tell."""
    if node.applies("LinearRegressor", domain=_DOMAIN):
        return int(node.get("targets", 1))
    return len(node.get("intercepts") or ())
