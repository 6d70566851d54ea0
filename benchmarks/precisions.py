"""Products and models in bfloat16, float16 and int8: how long they take beside float32, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any

import ml_dtypes
import numpy as np

import ingot
from benchmarks import zoo
from benchmarks.timing import machine
from ingot.builder import BFloat16, Float16, Float32, build, op
from ingot.cli.bench_inputs import inputs
from ingot.passes.precisions import PRECISIONS
from ingot.quantise.error import Noise

PRODUCTS: dict[str, tuple[int, int, int]] = {
    "bert_base, query": (128, 768, 768),
    "bert_base, intermediate": (128, 768, 3072),
    "bert_base, output": (128, 3072, 768),
    "vit_base, query": (197, 768, 768),
    "convnext_tiny, second stage": (784, 192, 768),
    "resnet50, 1 x 1, first stage": (3136, 64, 256),
    "resnet50, 1 x 1, second stage": (784, 512, 128),
    "resnet50, 1 x 1, third stage": (196, 1024, 256),
    "resnet50, 1 x 1, last stage": (49, 2048, 512),
    "mobilenet_v2, expand": (784, 32, 192),
    "mobilenet_v2, project": (196, 576, 96),
    "gpt2, a step": (1, 768, 3072),
    "gpt2, a step, last layer": (1, 768, 50257),
    "a decoder of 1B, a step": (1, 2048, 8192),
}
"""Products of networks of the zoo, as rows, summed axis and columns."""

MODELS = ("resnet18", "resnet50", "mobilenet_v2", "vit_base", "bert_base", "distilbert", "gpt2_prefill", "lstm")
TYPES: dict[str, tuple[Any, Any]] = {
    "float32": (Float32, np.float32),
    "bfloat16": (BFloat16, ml_dtypes.bfloat16),
    "float16": (Float16, np.float16),
}


def table(folder: Path = zoo.FOLDER, models: Sequence[str] = MODELS) -> str:
    products = list(_products())
    rows = list(_models(folder, models))
    many = [bf16 for _, count, bf16, _ in products if count > 1]
    one = [fp16 for _, count, _, fp16 in products if count == 1]
    lines = [
        "# Fewer bits",
        "",
        f"{machine()}, one thread: the least processor time of several rounds, in turns.",
        "Written by `python -m benchmarks precisions`.",
        "",
        "## Products",
        "",
        "Operands and results in the type of the column, weights constant. The limit of bfloat16 is twice the speed of",
        "float32: `vdpbf16ps` adds two products to each sum in the time of one. float16 is widened to float32 as it is",
        "loaded, so that only what reads its weights from memory, one row, gains.",
        "",
        f"Times as fast as float32: bfloat16 **{_mean(many):.2f}** for many rows (least {min(many):.2f}), float16",
        f"**{_mean(one):.2f}** for one row (least {min(one):.2f}); geometric means.",
        "",
        "| product | rows | summed | columns | float32 | bfloat16 | times | float16 | times |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(line for line, *_ in products),
        "",
        "## Models",
        "",
        "Models in float32, run with `Session(precision=…)`; decibels are signal over noise of the outputs against",
        "float32. Weights are random, which is hard on deep networks: trained ones lose less. 3 x 3 convolutions",
        "stay in float32, where Winograd's algorithm takes a quarter of the products.",
        "",
        f"| model | float32 | {' | '.join(f'{name} | times | dB' for name in PRECISIONS)} |",
        f"|---|---:|{'---:|---:|---:|' * len(PRECISIONS)}",
        *rows,
        "",
    ]
    return "\n".join(lines)


def _products() -> Iterator[tuple[str, int, float, float]]:
    """A line, the rows, and how many times as fast bfloat16 and float16 are."""
    for name, (rows, depth, columns) in PRODUCTS.items():
        calls = {kind: _product(rows, depth, columns, *types) for kind, types in TYPES.items()}
        least = _least(calls)
        bf16, fp16 = (least["float32"] / least[kind] for kind in ("bfloat16", "float16"))
        rate = [f"{_time(least[kind])}, {2 * rows * depth * columns / least[kind] / 1e9:.0f} GFLOP/s" for kind in TYPES]
        cells = (name, rows, f"{depth:,}", f"{columns:,}", rate[0], rate[1], f"{bf16:.2f}", rate[2], f"{fp16:.2f}")
        yield f"| {' | '.join(map(str, cells))} |", rows, bf16, fp16


def _product(rows: int, depth: int, columns: int, kind: Any, dtype: Any) -> Callable[[], object]:
    random = np.random.default_rng(0)
    weights = random.standard_normal((depth, columns), np.float32).astype(dtype)
    model = build(lambda x: op.MatMul(x, weights), kind[rows, depth], opset=21)
    session = ingot.Session(model, providers=("cpu",), threads=1, fallback=False)
    x = random.standard_normal((rows, depth), np.float32).astype(dtype)
    return partial(session.run, None, {"x": x})


def _models(folder: Path, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        path = zoo.write(name, folder)
        feeds, _ = inputs(ingot.load(path).copy(), {}, {}, 0)
        sessions = {
            precision: ingot.Session(path, providers=("cpu", "reference"), threads=1, precision=precision)
            for precision in (None, *PRECISIONS)
        }
        least = _least({precision or "": partial(each.run, None, feeds) for precision, each in sessions.items()})
        exact = sessions[None].run(None, feeds)
        cells = [name, _time(least[""])]
        for precision in PRECISIONS:
            noise = Noise()
            for one, other in zip(exact, sessions[precision].run(None, feeds), strict=True):
                noise.update(one, other)
            decibels = "equal" if math.isinf(noise.decibels) else f"{noise.decibels:.0f}"
            cells += [_time(least[precision]), f"{least[''] / least[precision]:.2f}", decibels]
        yield f"| {' | '.join(cells)} |"


def _least(calls: Mapping[str, Callable[[], object]], rounds: int = 9, seconds: float = 0.02) -> dict[str, float]:
    """The least seconds of processor time that a call of each takes, in turns; long ones have fewer rounds."""
    counts: dict[str, int] = {}
    for name, call in calls.items():
        call()
        call()  # the first one runs drafts of kernels, and this one waits for the kernels
        start = thread_time()
        call()
        counts[name] = max(1, int(seconds / (thread_time() - start)))
    least = dict.fromkeys(calls, math.inf)
    for _ in range(rounds if max(counts.values()) > 1 else 4):
        for name, call in calls.items():
            start = thread_time()
            for _ in range(counts[name]):
                call()
            least[name] = min(least[name], (thread_time() - start) / counts[name])
    return least


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} µs"
