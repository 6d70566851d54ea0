"""Products of small decoders with weights of four bits: beside onnxruntime, float32, and the memory's bandwidth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import ingot
from benchmarks.tables.peer import peer_session
from benchmarks.timing import machine
from ingot.builder import Float32, build, op
from ingot.ops.contrib.domain import MICROSOFT

DECODERS = {
    "0.5B": ((896, 896), (896, 128), (896, 4864), (4864, 896), (896, 151936)),
    "1B": ((2048, 2048), (2048, 512), (2048, 8192), (8192, 2048)),
}
"""The products of Qwen2-0.5B and Llama-3.2-1B: what is summed, and columns."""

BLOCK = 32
ROWS = (1, 128)
THREADS = (1, 2)
LEVELS = (0, 4)
"""Of accuracy: with 4, activations may be rounded to 8 bits."""

_BYTES = 64 << 20
"""Bytes of weights that a model of one row reads at least, so that no cache holds them."""

_ROUNDS = 40
_SECONDS = 2.0
"""After which no more rounds begin, but for the first three."""


@dataclass(frozen=True, slots=True)
class Product:
    decoder: str
    k: int
    n: int
    rows: int
    threads: int

    @property
    def nbytes(self) -> int:
        """Of its codes and scales."""
        return self.n * self.k // 2 + self.n * (self.k // BLOCK) * 4

    @property
    def copies(self) -> int:
        """How many with weights of their own are run in one call."""
        return max(1, -(-_BYTES // self.nbytes)) if self.rows == 1 else 1


def table() -> str:
    products = [
        Product(decoder, *sizes, rows, threads)
        for rows in ROWS
        for threads in THREADS
        for decoder, all_sizes in DECODERS.items()
        for sizes in all_sizes
        if rows == 1 or sizes[1] <= 8192
    ]
    lines = [
        "# Weights of four bits",
        "",
        f"{machine()}. The products of two decoders by MatMulNBits with blocks of {BLOCK}, in a call that reads",
        f"{_BYTES >> 20} MB of weights at least for one row: onnxruntime and ingot with an accuracy level of 0,",
        "which is float32, and of 4, with activations rounded to 8 bits by block, ingot with the weights in float32,",
        f"and a reduction over {_BYTES >> 18} MB of memory, all in turns: the least time of several rounds of each.",
        "Bandwidth is what a product reads of codes and scales in a second, in parts of what the reduction reads.",
        "Written by",
        "`python -m benchmarks few_bits`.",
        "",
        "| decoder | k | columns | rows | threads | ingot 0 | ingot 4 | onnxruntime 0 | onnxruntime 4 | float32 | "
        "times as fast, 0 | 4 | as float32 | bandwidth, 0 | 4 | GB/s |",
        "|---|" + "---:|" * 15,
        *_lines(products),
        "",
    ]
    return "\n".join(lines)


def _lines(products: Sequence[Product]) -> Iterator[str]:
    for product in products:
        mine, peer, plain, reading = _measured(product)
        each = 1e6 / product.copies
        times = " | ".join(f"{each * seconds:,.1f} µs" for seconds in (*mine, *peer, plain))
        ratios = " | ".join(f"{theirs / ours:.2f}" for ours, theirs in zip(mine, peer, strict=True))
        speeds = [product.nbytes * product.copies / seconds for seconds in mine]
        shares = " | ".join(f"{100 * speed / reading:.0f} %" if product.rows == 1 else "" for speed in speeds)
        sizes = f"{product.decoder} | {product.k} | {product.n} | {product.rows} | {product.threads}"
        yield f"| {sizes} | {times} | {ratios} | {plain / mine[0]:.2f} | {shares} | {reading / 1e9:.1f} |"


def _measured(product: Product) -> tuple[list[float], list[float], float, float]:
    """Seconds of a call of ingot and of onnxruntime at each level, and with float32; bytes read in a second."""
    random = np.random.default_rng(0)
    x = random.standard_normal((product.rows, product.k)).astype(np.float32)
    runs: list[Callable[[], object]] = []
    for level in LEVELS:
        data = ingot.encode(_coded(product, level))
        ours = ingot.Session(data, threads=product.threads)
        theirs = peer_session(data, product.threads)
        runs += [partial(ours.run, None, {"x": x}), partial(theirs.run, None, {"x": x})]
    runs.append(partial(ingot.Session(ingot.encode(_plain(product)), threads=product.threads).run, None, {"x": x}))
    memory = np.ones(_BYTES, np.float32)
    reading = ingot.Session(build(_largest, Float32["n"], opset=21), threads=product.threads)
    runs.append(partial(reading.run, None, {"x": memory}))
    least = _least(runs)
    return least[0:4:2], least[1:4:2], least[4], memory.nbytes / least[5]


def _least(runs: Sequence[Callable[[], object]]) -> list[float]:
    """The least seconds of a call of each, in turns."""
    for run in runs:
        run()
        run()  # the first one runs drafts of kernels, and this one waits for the kernels
    least = [float("inf")] * len(runs)
    begin = perf_counter()
    for turn in range(_ROUNDS):
        if turn >= 3 and perf_counter() - begin > _SECONDS:
            break
        for who, run in enumerate(runs):
            start = perf_counter()
            run()
            least[who] = min(least[who], perf_counter() - start)
    return least


def _largest(x: Any) -> Any:
    """The largest of all elements: the reduction reads memory, and computes next to nothing."""
    return op.ReduceMax(x, keepdims=0)


def _coded(product: Product, level: int) -> Any:
    random = np.random.default_rng(1)
    k, n, blocks = product.k, product.n, product.k // BLOCK

    def products(x: Any) -> Any:
        results = []
        for _ in range(product.copies):
            codes = np.frombuffer(random.bytes(n * k // 2), np.uint8).reshape(n, blocks, BLOCK // 2)
            scales = random.uniform(0.01, 0.1, (n, blocks)).astype(np.float32)
            options: dict[str, Any] = {"K": k, "N": n, "bits": 4, "block_size": BLOCK, "accuracy_level": level}
            results.append(op.domain(MICROSOFT).MatMulNBits(x, codes, scales, **options))
        return tuple(results)

    return build(products, Float32[product.rows, k], opset=21)


def _plain(product: Product) -> Any:
    random = np.random.default_rng(1)
    k, n = product.k, product.n
    copies = max(1, product.copies // 8)

    def products(x: Any) -> Any:
        weights = [random.random((k, n), np.float32) for _ in range(copies)]
        return tuple(op.MatMul(x, weights[copy % copies]) for copy in range(product.copies))

    return build(products, Float32[product.rows, k], opset=21)
