"""A model quantised by nncf, for an interpreter that has it: `python nncf_quantise.py MODEL DATA.npy OUT [PRESET]`.

It imports nothing of this project, so that nncf and its dependencies stay in an environment of their own.
"""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import sys
from typing import Any

import nncf
import numpy as np
import onnx


def main(source: str, samples: str, target: str, preset: str = "PERFORMANCE") -> None:
    """Write the model with the ranges of the rows of an array, 32 at a time."""
    model = onnx.load(source)
    name = model.graph.input[0].name
    batches = np.array_split(np.load(samples), 8)

    def feed(batch: Any) -> dict[str, Any]:
        return {name: batch}

    quantised = nncf.quantize(
        model, nncf.Dataset(batches, feed), preset=nncf.QuantizationPreset[preset], subset_size=len(batches)
    )
    onnx.save(quantised, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
