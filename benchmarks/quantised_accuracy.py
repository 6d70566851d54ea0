"""Three classifiers quantised in every way by ingot, by onnxruntime and by nncf: accuracy and error of each.

    python -m benchmarks.quantised_accuracy [--nncf PYTHON] [NAME...]

writes `benchmarks/results/quantised_accuracy.md`. nncf runs in an interpreter of its own, which `--nncf` names; without
it, its rows are left out. All models run on ingot.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ingot
from benchmarks.classifiers import CLASSIFIERS, Classifier
from ingot.errors import InputError
from ingot.quantise.error import Baseline

PAGE = Path(__file__).parent / "results" / "quantised_accuracy.md"
FOUR: dict[str, Any] = {"mode": "weights", "weights": "int4"}
TWO: dict[str, Any] = {"mode": "weights", "weights": "uint2", "symmetric_weights": False, "block_size": 16}
WAYS: dict[str, dict[str, Any]] = {
    **{f"static, {name}": {"calibration": name} for name in ("minmax", "average", "entropy", "percentile", "mse")},
    "static, a scale for each tensor": {"granularity": "tensor"},
    "the same, equalise": {"granularity": "tensor", "methods": ["equalise"]},
    "static, bias": {"methods": ["bias"]},
    "static, smooth": {"methods": ["smooth"]},
    "static for onnxruntime": {"engine": "onnxruntime"},
    "dynamic": {"mode": "dynamic"},
    "4 bits": FOUR,
    **{
        f"4 bits, {name}": FOUR | {"methods": name.split(" + ")}
        for name in ("awq", "hqq", "gptq", "bias", "gptq + bias")
    },
    "2 bits": TWO,
    **{f"2 bits, {name}": TWO | {"methods": name.split(" + ")} for name in ("awq", "hqq", "gptq", "hqq + gptq + bias")},
    "float16": {"mode": "float16"},
    "bfloat16": {"mode": "bfloat16"},
}
BUDGETS: dict[str, tuple[float, dict[str, Any]]] = {
    "static, a scale for each tensor": (0.998, {"granularity": "tensor"}),
    "4 bits, hqq": (0.995, FOUR | {"methods": ["hqq"]}),
    "2 bits, hqq + gptq + bias": (0.97, TWO | {"methods": ["hqq", "gptq", "bias"]}),
}
"""Parts of the original's accuracy that have to be held."""


def table(tasks: list[Classifier], nncf: str | None) -> str:
    """The accuracy and the signal over noise of each way for each task, on what was held out."""
    rows: dict[str, list[str]] = {}
    budgets: list[str] = []
    for task in tasks:
        baseline = Baseline(task.model, [{task.input: task.held_out[:256]}])
        for name, model in chain([("float32", task.model)], _ours(task), _onnxruntime(task), _nncf(task, nncf)):
            [error] = baseline.errors(model)
            cells = [f"{100 * task.accuracy(model):.2f} %", f"{error.snr:.1f} dB"]
            rows.setdefault(name, []).extend(cells)
            print(task.name, name, *cells, flush=True)
        budgets += _held(task)
    heads = [part for task in tasks for part in (task.name, "")]
    width = 2 * len(tasks)
    lines = [_line(["quantised by", *heads]), _line(["---", *["---:"] * width])]
    lines += [_line([name, *cells]) for name, cells in rows.items() if len(cells) == width]
    held_out = ", ".join(f"{len(task.labels):,} {task.name}" for task in tasks)
    text = [
        "# Accuracy of three classifiers, quantised",
        "`python -m benchmarks.quantised_accuracy` trains them (`benchmarks/classifiers.py`) and writes this page. "
        f"256 samples calibrate; accuracy is that on what was held out ({held_out}), the signal over noise of the "
        "outputs that on 256 of them. All models run on ingot.",
        "\n".join(lines),
        "## Budgets",
        "The part of the original's accuracy that was asked for, and what was reached by leaving products in float.",
        "\n".join(
            ["| classifier | quantised to | budget | reached | in float |", "|---|---|---:|---:|---:|", *budgets]
        ),
    ]
    return "\n\n".join(text) + "\n"


def _ours(task: Classifier) -> Iterator[tuple[str, ingot.Model]]:
    for name, settings in WAYS.items():
        yield f"ingot: {name}", ingot.quantize(task.model, task.calibration, **settings).model


def _held(task: Classifier) -> Iterator[str]:
    whole = task.accuracy(task.model)
    for name, (part, settings) in BUDGETS.items():
        try:
            result = ingot.quantize(task.model, task.calibration, accuracy=part, evaluate=task.accuracy, **settings)
        except InputError as error:
            yield f"| {task.name} | {name} | {part} | {error.message} | |"
            continue
        reached = task.accuracy(result.model) / whole
        assert reached >= part, (task.name, name)
        in_float = sum(layer.snr is not None for layer in result.report.in_float)
        count = sum(layer.snr is not None for layer in result.report.layers)
        yield f"| {task.name} | {name} | {part} | {reached:.4f} | {in_float} of {count} products |"


def _onnxruntime(task: Classifier) -> Iterator[tuple[str, ingot.Model]]:
    from onnxruntime.quantization import (
        CalibrationMethod,
        QuantType,
        quant_pre_process,
        quantize_dynamic,
        quantize_static,
    )

    logging.disable(logging.WARNING)
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        source, ready, target = (str(Path(folder, f"{name}.onnx")) for name in ("float", "ready", "small"))
        ingot.save(task.model, source)
        quant_pre_process(source, ready)
        for method in (CalibrationMethod.MinMax, CalibrationMethod.Entropy, CalibrationMethod.Percentile):
            static = partial(quantize_static, activation_type=QuantType.QUInt8, calibrate_method=method)
            static(ready, target, _Reader(task), per_channel=True)
            yield f"onnxruntime: static, {method.name}", ingot.load(Path(target).read_bytes())
        quantize_dynamic(ready, target, per_channel=True)
        yield "onnxruntime: dynamic", ingot.load(Path(target).read_bytes())


def _nncf(task: Classifier, interpreter: str | None) -> Iterator[tuple[str, ingot.Model]]:
    script = Path(__file__).parent / "nncf_quantise.py"
    with TemporaryDirectory() as folder:
        source, samples, target = (str(Path(folder, name)) for name in ("float.onnx", "rows.npy", "small.onnx"))
        ingot.save(task.model, source)
        np.save(samples, task.calibration)
        for preset in ("PERFORMANCE", "MIXED") if interpreter else ():
            subprocess.run([str(interpreter), str(script), source, samples, target, preset], check=True)
            yield f"nncf: {preset.lower()}", ingot.load(Path(target).read_bytes())


class _Reader:
    def __init__(self, task: Classifier) -> None:
        self._name = task.input
        self._batches = iter(np.array_split(task.calibration, 8))

    def get_next(self) -> dict[str, Any] | None:
        batch = next(self._batches, None)
        return None if batch is None else {self._name: batch}


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quantised_accuracy")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CLASSIFIERS)} [all]")
    parser.add_argument("--nncf", metavar="PYTHON", help="an interpreter that has nncf")
    options = parser.parse_args(arguments)
    text = table([CLASSIFIERS[name]() for name in options.names or CLASSIFIERS], options.nncf)
    if not options.names:
        PAGE.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
