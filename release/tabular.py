"""Models of tables, for kernels that are compiled ahead: estimators of scikit-learn as skl2onnx writes them.

Sizes are parameters of kernels, but few classes are unrolled: each estimator is there for several numbers of them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from benchmarks.found_models.estimators import ESTIMATORS

from ingot.format import decode
from ingot.ir.model import Model
from ingot.ops.catalog import standard
from ingot.prepare import prepare
from ingot.runtime.limits import RunLimits

CLASSES = (2, 3, 4, 5, 10)
_ROWS = 300


def tabular_models(names: Iterable[str] = tuple(ESTIMATORS)) -> Iterator[tuple[str, Model]]:
    """Every estimator that is converted and runs, by name, for each number of classes; those without classes once."""
    base: Any = import_module("sklearn.base")
    for name in names:
        make = ESTIMATORS[name]
        for classes in CLASSES if base.is_classifier(make()) else CLASSES[:1]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what estimators say of random rows
                try:
                    model = converted(make(), classes)
                    prepare(model, standard(), RunLimits())
                except Exception as error:  # the exporter refuses it, or writes what nobody runs
                    sys.stderr.write(f"{name}: {type(error).__name__} {' '.join(str(error).split())[:100]}\n")
                    break
            yield f"{name}, {classes} classes", model


def converted(estimator: Any, classes: int, columns: int = 12) -> Model:
    """An estimator, fitted to random rows and converted; probabilities are an array."""
    skl2onnx: Any = import_module("skl2onnx")
    base: Any = import_module("sklearn.base")
    rng = np.random.default_rng(0)
    x = np.abs(rng.standard_normal((_ROWS, columns))).astype(np.float32)
    numbers = x[:, 0] * 2 + x[:, 1] + rng.standard_normal(_ROWS) / 10
    bounds = np.quantile(numbers, np.linspace(0, 1, classes + 1)[1:-1])
    fitted = estimator.fit(x, numbers if base.is_regressor(estimator) else np.searchsorted(bounds, numbers))
    options = {id(fitted): {"zipmap": False}} if base.is_classifier(fitted) else None
    written = skl2onnx.to_onnx(fitted, x[:1], options=options, target_opset=18)
    return decode(written.SerializeToString())
