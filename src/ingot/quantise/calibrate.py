"""Calibration: the ranges of values of a model while it runs on samples, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.infer import infer
from ingot.ir.interface import add_outputs
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.quantise.placement import Placement
from ingot.quantise.ranges import RangeObserver
from ingot.quantise.samples import Samples
from ingot.session import Session

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the samples done and in all."""


def calibrate(
    model: Model, placement: Placement, samples: Samples, observer: Callable[[], RangeObserver], progress: Progress
) -> dict[Value, tuple[float, float]]:
    """The range of each value that has a scale of its own; InputError naming the sample where a value is NaN."""
    observers = {value: observer() for value in dict.fromkeys(placement.values.values())}
    by_name = {value.name: observers[shared] for value, shared in placement.values.items()}
    for number, values in enumerate(observed(model, list(by_name), samples, progress)):
        for name, array in values.items():
            by_name[name].update(_finite(array, name, number))
    return {value: each.range() for value, each in observers.items()}


def observed(model: Model, names: Sequence[str], samples: Samples, progress: Progress) -> Iterator[dict[str, Array]]:
    """The values of these names for each sample, computed by the compiled model."""
    entering = set(model.graph.inputs.names)
    defaults = {
        value.name: value.constant.numpy() for value in model.graph.inputs if isinstance(value.constant, Tensor)
    }
    computed = [name for name in names if name not in entering]
    session = Session(_returning(model, computed))
    for number, feeds in enumerate(samples):
        results = dict(zip(computed, session.run(computed, feeds), strict=True)) if computed else {}
        given = defaults | feeds
        yield results | {name: given[name] for name in names if name in entering}
        progress(number + 1, samples.count or number + 2)


def _returning(model: Model, names: Iterable[str]) -> Model:
    asked = model.copy()
    infer(asked)
    add_outputs(asked, names)
    return asked


def _finite(array: Array, name: str, number: int) -> Array:
    finite = np.isfinite(array)
    if finite.all():
        return array
    if np.isnan(array).any():
        raise InputError(f"sample {number}: value '{name}' is NaN inside of the model")
    return array[finite]  # masks of attention are infinite
