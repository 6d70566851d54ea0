"""Models without noise: random tensors as constants, so that both engines compute the same, and as much of it.

Models of speech draw the lengths of sounds: with noise, one run takes three times as long as another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, inserting, op
from ingot.ir.model import Model
from ingot.ir.node import Node

_NOISE = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
_PART = 0.6
"""Where between `low` and `high`, or in deviations above the mean, a constant lies."""


def silenced(model: Model) -> bool:
    """Put a constant in the place of each element drawn at random; whether there are any."""
    noise = [node for node in model.nodes() if node.applies(*_NOISE)]
    for node in noise:
        with inserting(before=node):
            constants: Var = op.ConstantOfShape(_sizes(node), value=np.array([_element(node)], np.float32))
            quiet = op.Cast(constants, to=node["dtype"]) if "dtype" in node else constants
        node.output.replace_uses(quiet.value)
        assert node.graph is not None
        node.graph.remove(node)
    return bool(noise)


def _sizes(node: Node) -> Any:
    return op.Shape(node.inputs[0]) if node.inputs else np.array(node["shape"], np.int64)


def _element(node: Node) -> float:
    if node.applies("RandomNormal", "RandomNormalLike"):
        return float(node.get("mean", 0.0) + _PART * node.get("scale", 1.0))
    low, high = node.get("low", 0.0), node.get("high", 1.0)
    return float(low + _PART * (high - low))
