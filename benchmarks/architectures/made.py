"""What a network of the zoo is exported from."""

# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BATCH = 2
"""Of the examples: the exporter takes a size of one for one that never changes."""


@dataclass(frozen=True, slots=True)
class Made:
    """A module, examples of its inputs in the order it takes them, their axes left open, and names of its outputs.

    An input may be a list of pairs, keys and values of a layer each; `names` then has a name for each tensor.
    """

    module: Any
    inputs: dict[str, Any]
    axes: dict[str, Any]
    outputs: tuple[str, ...]
    names: tuple[str, ...] = ()
    fades: bool = False
    """Whether what flows through it shrinks, with random weights, to numbers that processors are slow on: batch
    normalisation then gets the means and variances of the examples."""


Maker = Callable[[], Made]


def of_images(module: Any, side: int, *outputs: str, name: str = "pixel_values", fades: bool = False) -> Made:
    """A network whose input `name` takes square images of one size, in batches of any."""
    import torch

    image = torch.randn(BATCH, 3, side, side)
    return Made(module, {name: image}, {name: {0: "batch"}}, outputs or ("logits",), fades=fades)
