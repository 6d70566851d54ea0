"""The digits of the examples, quantised in every way by ingot and by onnxruntime: accuracy and error of each.

`python -m benchmarks.quantised_accuracy` writes `benchmarks/results/quantised_accuracy.md`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ingot
from ingot.quantise.error import Baseline

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "examples" / "digits.onnx"
PAGE = ROOT / "benchmarks" / "results" / "quantised_accuracy.md"
CALIBRATED = 256
"""Images that ranges are measured on; the error is that on those held out, the accuracy on all."""


def main() -> None:
    """Measure, print and write the table."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = (data.images / 16).astype(np.float32)[:, None]
    held_out = np.arange(len(images)) % 5 == 0
    original = ingot.load(MODEL)
    baseline = Baseline(original, [{"image": images[held_out]}])
    lines = ["| quantised by | accuracy | signal over noise |", "|---|---:|---:|"]
    for name, model in [("float32", original), *_ours(images[~held_out]), *_onnxruntime(images[~held_out])]:
        [probabilities] = ingot.Session(model).run(None, {"image": images})
        accuracy = (probabilities.argmax(1) == data.target).mean()
        [error] = baseline.errors(model)
        lines.append(f"| {name} | {100 * accuracy:.2f} % | {error.snr:.1f} dB |")
        print(lines[-1], flush=True)
    text = [
        "# Accuracy of the digits of the examples, quantised",
        "`python -m benchmarks.quantised_accuracy` writes this page.",
        "1,797 images, of which 256 calibrate; the noise is that of 360 others. All models run on ingot.",
        "\n".join(lines),
    ]
    PAGE.write_text("\n\n".join(text) + "\n", "utf-8")


def _ours(images: Any) -> Iterator[tuple[str, ingot.Model]]:
    settings: list[dict[str, Any]] = [
        *({"calibration": name} for name in ("minmax", "average", "entropy", "percentile", "mse")),
        {"granularity": "tensor"},
        {"granularity": "tensor", "methods": ["equalise"]},
        {"methods": ["bias"]},
        {"engine": "onnxruntime"},
        {"mode": "dynamic"},
        *({"mode": "weights", "weights": "int4", "methods": methods} for methods in ([], ["awq"], ["gptq"], ["bias"])),
        {"mode": "weights", "weights": "int4", "methods": ["gptq", "bias"]},
        {"mode": "float16"},
        {"mode": "bfloat16"},
    ]
    for each in settings:
        name = ", ".join(
            " + ".join(value) if isinstance(value, list) else str(value) for value in each.values() if value
        )
        yield f"ingot: {name}", ingot.quantize(MODEL, images[:CALIBRATED], **each).model


def _onnxruntime(images: Any) -> Iterator[tuple[str, ingot.Model]]:
    from onnxruntime.quantization import CalibrationMethod, QuantType, quantize_dynamic, quantize_static

    logging.disable(logging.WARNING)
    with TemporaryDirectory() as folder:
        for method in (CalibrationMethod.MinMax, CalibrationMethod.Entropy, CalibrationMethod.Percentile):
            reader, target = _Reader(images), str(Path(folder, f"{method.name}.onnx"))
            static = partial(quantize_static, activation_type=QuantType.QUInt8, calibrate_method=method)
            with redirect_stdout(StringIO()):
                static(str(MODEL), target, reader, per_channel=True)
            yield f"onnxruntime: {method.name}", ingot.load(target)
        target = str(Path(folder, "dynamic.onnx"))
        quantize_dynamic(str(MODEL), target, per_channel=True)
        yield "onnxruntime: dynamic", ingot.load(target)


class _Reader:
    def __init__(self, images: Any) -> None:
        self._batches = iter(np.array_split(images[:CALIBRATED], CALIBRATED // 32))

    def get_next(self) -> dict[str, Any] | None:
        batch = next(self._batches, None)
        return None if batch is None else {"image": batch}


if __name__ == "__main__":
    main()
