"""Models of the zoo as onnxruntime's own quantiser writes them, after its own pre-processing, and as nncf does."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ingot
from ingot.tools.bench.inputs import inputs

CALIBRATED = 2
"""Random inputs that ranges are measured on: what is compared is arithmetic, not accuracy."""


def static(path: Path, target: Path, shapes: Mapping[str, str] | None = None) -> Path:
    """A model with QuantizeLinear and DequantizeLinear, uint8 activations and int8 weights by channel."""
    from onnxruntime.quantization import QuantType, quantize_static

    samples = [feeds_of(path, seed, shapes) for seed in range(1, CALIBRATED + 1)]
    with _prepared(path) as ready, redirect_stdout(StringIO()):
        quantize_static(
            str(ready), str(target), _Reader(samples), per_channel=True, activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )  # fmt: skip
    return target


def dynamic(path: Path, target: Path) -> Path:
    """A model with integer products of int8 weights, whose activations are rounded to uint8 by each run."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _prepared(path) as ready, redirect_stdout(StringIO()):
        quantize_dynamic(str(ready), str(target), weight_type=QuantType.QInt8)
    return target


def by_nncf(path: Path, target: Path, interpreter: str) -> Path:
    """A model of one input as nncf quantises it, in an interpreter that has it."""
    [sample] = feeds_of(path, 1).values()
    with TemporaryDirectory() as folder:
        samples = Path(folder, "samples.npy")
        np.save(samples, np.concatenate([sample] * 8))
        script = Path(__file__).with_name("nncf_quantise.py")
        subprocess.run([interpreter, str(script), str(path), str(samples), str(target)], check=True)
    return target


def feeds_of(path: Path, seed: int, shapes: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Random inputs of a model in a file, of these shapes or of those that it is measured at."""
    return inputs(ingot.load(path), dict(shapes or {}), {}, seed)[0]


@contextmanager
def _prepared(path: Path) -> Iterator[Path]:
    """A file with what onnxruntime's pre-processing makes of a model, which is there meanwhile."""
    from onnxruntime.quantization import quant_pre_process

    logging.disable(logging.WARNING)
    with TemporaryDirectory() as folder:
        ready = Path(folder, "ready.onnx")
        with redirect_stdout(StringIO()):
            quant_pre_process(str(path), str(ready), skip_symbolic_shape=True)
        yield ready


class _Reader:
    def __init__(self, samples: Sequence[dict[str, Any]]) -> None:
        self._samples = iter(samples)

    def get_next(self) -> dict[str, Any] | None:
        return next(self._samples, None)
