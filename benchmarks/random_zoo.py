"""Networks of the zoo with random weights, out of the graphs that tests have: for a machine without what exports them.

    python -m benchmarks.random_zoo FOLDER [NAME...]

writes files that `benchmarks.speed --folder` and `benchmarks.int8 --zoo` take for those of the zoo. Models that
packages carry are none of them: what they compute depends on their weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from benchmarks import zoo
from ingot.ir.tensor import Tensor
from ingot.tools.bench.asked import METADATA

NAMES = tuple(name for name in zoo.NAMES if name not in zoo.PACKAGED)

_SIZES = {"batch": 1, "tokens": 128, "before": 32, "frames": 1500}
"""The sizes that networks are measured at, by name."""

_SMALL = 512
"""Elements up to which a constant is left as it is: shapes, scales and biases."""

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))


def with_weights(name: str) -> ingot.Model:
    """A network of the zoo with random weights of the size that leaves the scale of values about as it is."""
    from golden.zoo import graph_of

    model, random = graph_of(name), np.random.default_rng(0)
    for value in model.graph.initializers.values():
        constant = value.constant
        assert constant is not None
        shape = constant.shape
        if str(constant.dtype) == "float32" and np.prod(shape) > _SMALL:
            fan = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
            array = random.standard_normal(shape, np.float32) / np.float32(np.sqrt(max(1, fan)))
            value.constant = Tensor(array, name=constant.name)
    return model


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.random_zoo", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the zoo; all, if none is given")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no network {unknown[0]!r}; there are: {', '.join(NAMES)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or NAMES:
        model = with_weights(name)
        model.metadata[METADATA] = json.dumps({"shapes": _shapes(model)})
        (options.folder / f"{name}.onnx").write_bytes(ingot.encode(model))
    return 0


def _shapes(model: ingot.Model) -> dict[str, list[int]]:
    """The shapes of inputs to measure a network at."""
    shapes = {}
    for value in model.graph.inputs:
        declared: Any = value.type
        shapes[value.name] = [size if isinstance(size, int) else _SIZES[str(size)] for size in declared.shape]
    return shapes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
