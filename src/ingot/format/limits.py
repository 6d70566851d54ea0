"""How much a file may ask of its reader."""

from __future__ import annotations

from ingot.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what decoding will accept; past one of them it raises a DecodeError that names the limit.

    The defaults are far above any real model, and keep the memory that a hostile file can take in proportion.
    """

    nesting: int = 100
    """Messages inside messages; a subgraph takes three levels, a type one for each element type."""

    messages: int = 5_000_000
    """Nodes, attributes, values, tensors and types in all; each takes up to about a kilobyte of memory."""
