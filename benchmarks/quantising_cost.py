"""What it takes to quantise ResNet-50 with entropy calibration on 100 images: ingot and onnxruntime, time and memory.

    python -m benchmarks.quantising_cost [--model FILE] [--images N] [--threads N]

Each quantiser runs in a process of its own, which reports its seconds and the largest memory that it held; images are
generated one by one, as a data reader gives them. onnxruntime is given the file that its own pre-processing wrote,
whose time is not counted. Writes `benchmarks/results/quantising_cost.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import onnx

from benchmarks import zoo
from ingot.cli.units import counted

PAGE = Path(__file__).parent / "results" / "quantising_cost.md"
QUANTISERS = ("ingot", "onnxruntime")


class Reader:
    """Images of smooth noise, one at a time, in the shape of onnxruntime's reader."""

    def __init__(self, name: str, count: int) -> None:
        self._name = name
        self._images = self._generated(count)

    def get_next(self) -> dict[str, Any] | None:
        return next(self._images, None)

    def _generated(self, count: int) -> Iterator[dict[str, Any]]:
        for seed in range(count):
            coarse = np.random.default_rng(seed).standard_normal((1, 3, 28, 28)).astype(np.float32)
            yield {self._name: np.kron(coarse, np.ones((8, 8), np.float32))}


def table(model: Path, images: int, threads: int) -> str:
    """Both measured, each in its own process."""
    lines = ["| quantiser | seconds | processor seconds | largest memory | before |", "|---|---:|---:|---:|---:|"]
    measured: dict[str, dict[str, float]] = {}
    with TemporaryDirectory() as folder:
        ready = _preprocessed(model, Path(folder))
        for name in QUANTISERS:
            source = ready if name == "onnxruntime" else model
            command = [sys.executable, "-m", "benchmarks.quantising_cost", "--model", str(source), "--only", name]
            command += ["--images", str(images), "--threads", str(threads)]
            environment = os.environ | {"INGOT_CACHE": f"{folder}/cache"}
            run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if run.returncode:
                raise SystemExit(run.stderr)
            measured[name] = one = json.loads(run.stdout.splitlines()[-1])
            lines.append(
                f"| {name} | {one['seconds']:.1f} | {one['processor']:.1f} "
                f"| {one['memory'] / 2**20:,.0f} MiB | {one['before'] / 2**20:,.0f} MiB |"
            )
    ours, theirs = (measured[name] for name in QUANTISERS)
    speed, memory = theirs["seconds"] / ours["seconds"], ours["memory"] / theirs["memory"]
    return "\n".join(
        [
            "# Quantising ResNet-50",
            "",
            f"Static, entropy {images} images of 224 × 224, scales of channels, {counted(threads, 'core')}, each",
            "in its own process; nothing compiled on disk before. `python -m benchmarks.quantising_cost`",
            "",
            *lines,
            "",
            f"ingot is {speed:.1f} times as fast, in {memory:.2f} of the memory.",
            "",
        ]
    )


def measure(name: str, model: Path, images: int, threads: int) -> dict[str, float]:
    """Quantise with one of the quantisers in this process: seconds, and bytes at most."""
    with TemporaryDirectory() as folder:
        target = Path(folder) / "small.onnx"
        quantise = _with_ingot if name == "ingot" else _with_onnxruntime
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])

        reader = Reader(onnx.load(model, load_external_data=False).graph.input[0].name, images)
        before, started, processor = _most_memory(), perf_counter(), process_time()
        quantise(model, target, reader)
        assert target.stat().st_size > 0
        return {
            "seconds": perf_counter() - started,
            "processor": process_time() - processor,
            "memory": _most_memory(),
            "before": before,
        }


def _with_ingot(model: Path, target: Path, reader: Reader) -> None:
    import ingot

    ingot.save(ingot.quantize(model, reader, calibration="entropy").model, target)


def _with_onnxruntime(model: Path, target: Path, reader: Reader) -> None:
    from onnxruntime.quantization import CalibrationMethod, QuantType, quantize_static

    quantize_static(
        str(model), str(target), reader, per_channel=True, activation_type=QuantType.QUInt8,
        calibrate_method=CalibrationMethod.Entropy,
    )  # fmt: skip


def _preprocessed(model: Path, folder: Path) -> Path:
    from onnxruntime.quantization import quant_pre_process

    ready = folder / "ready.onnx"
    quant_pre_process(str(model), str(ready))
    return ready


def _most_memory() -> int:
    """The most bytes that this process held; unlike that of getrusage, without what its parent did before it began."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quantising_cost")
    parser.add_argument("--model", type=Path, help="the float model [resnet50 of the zoo]")
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=QUANTISERS, help="measure one in this process, and print JSON")
    options = parser.parse_args(arguments)
    model = options.model or zoo.write("resnet50", zoo.FOLDER)
    if options.only:
        print(json.dumps(measure(options.only, model, options.images, options.threads)))
        return 0
    text = table(model, options.images, options.threads)
    PAGE.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
