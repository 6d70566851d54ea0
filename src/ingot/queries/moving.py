"""Operators that move elements: each element of their results is one of their first input's."""

from __future__ import annotations

MOVING = (
    "MaxPool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Split", "Gather", "Expand", "Tile",
    "DepthToSpace", "SpaceToDepth", "Identity",
)  # fmt: skip
"""All of them take bytes; the other results of MaxPool are indices."""
