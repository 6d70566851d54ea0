"""The bundled classifier of digits, with what it was trained on and what was held out."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot

MODEL = Path(__file__).parents[2] / "examples" / "digits.onnx"


@cache
def digits() -> tuple[Any, Any, Any, Any]:
    """Images to calibrate on, and their labels; those held out, and theirs."""
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_digits()
    images = (data.images / 16).astype(np.float32)[:, None]
    held_out = np.arange(len(images)) % 5 == 0
    return images[~held_out], data.target[~held_out], images[held_out], data.target[held_out]


def accuracy(model: ingot.Model | ingot.Session) -> float:
    """The part of all digits that a model reads rightly."""
    images, labels, more_images, more_labels = digits()
    session = model if isinstance(model, ingot.Session) else ingot.Session(model)
    [probabilities] = session.run(None, {"image": np.concatenate([images, more_images])})
    return float((probabilities.argmax(1) == np.concatenate([labels, more_labels])).mean())
