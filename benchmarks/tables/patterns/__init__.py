"""What exporters write around operators, by name; the part before the colon is the group of a pattern."""

from __future__ import annotations

from benchmarks.tables.pattern_graph import Pattern
from benchmarks.tables.patterns import (
    activations,
    attention,
    audio,
    blocks,
    detection,
    indices,
    normalisation,
    quantised,
    recurrent,
    shapes,
    similarity,
)

PATTERNS: dict[str, Pattern] = {
    **attention.PATTERNS,
    **normalisation.PATTERNS,
    **activations.PATTERNS,
    **blocks.PATTERNS,
    **detection.PATTERNS,
    **audio.PATTERNS,
    **recurrent.PATTERNS,
    **shapes.PATTERNS,
    **indices.PATTERNS,
    **quantised.PATTERNS,
    **similarity.PATTERNS,
}
