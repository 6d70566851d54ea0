"""Quantised models on ingot, onnxruntime and openvino, beside ingot with the same model in float32.

    python -m benchmarks int8

writes the models that are missing, measures all and keeps the table;

    python -m benchmarks.int8 [--zoo FOLDER] [--nncf PYTHON] [--threads 1,2] [NAME...]

measures some of them and prints theirs. `--nncf` names an interpreter that has nncf: openvino then also runs what nncf
makes of convolutional networks, and the faster of its two files counts.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import ingot
from benchmarks import zoo
from benchmarks.quantised_models import by_nncf, dynamic, feeds_of, static
from benchmarks.tables.peer import peer_session
from benchmarks.timing import machine
from ingot.tools.bench.arithmetic import arithmetic
from ingot.tools.bench.cores import allowed, chosen
from ingot.tools.bench.limit import byte_limit

STATIC = ("resnet18", "resnet50", "mobilenet_v2", "bert_base", "vit_base", "unet")
DYNAMIC = ("bert_base", "distilbert", "gpt2_prefill", "lstm")
WITH_NNCF = ("resnet18", "resnet50", "mobilenet_v2", "vit_base", "unet")
SECONDS = 2.0
"""Of runs of one engine, at most, beyond three rounds."""


@dataclass(frozen=True, slots=True)
class Quantised:
    """A model in float32 and quantised, in files, and inputs for it."""

    name: str
    way: str
    plain: Path
    codes: Path
    nncf: Path | None
    feeds: Mapping[str, Any]
    operations: int

    @property
    def title(self) -> str:
        return f"{self.name}, {self.way}"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a run of each engine; None for one that does not run the model."""

    model: Quantised
    threads: int
    ours: float
    plain: float
    onnxruntime: float | None
    openvino: float | None
    by_nncf: bool

    def ratio(self, other: float | None) -> float | None:
        return None if other is None else other / self.ours


def table(folder: Path = zoo.FOLDER, nncf: str | None = None, names: Sequence[str] = (), threads: str = "") -> str:
    counts = [int(part) for part in threads.split(",")] if threads else [n for n in (1, 2) if n <= len(allowed())]
    limits = {count: byte_limit(chosen(count)) for count in counts}
    rows = []
    for model in _models(folder, nncf, names):
        for count in counts:
            rows.append(_measured(model, count))
            print(_line(rows[-1], limits[count]), file=sys.stderr, flush=True)
    shown = ", ".join(f"{rate / 1e9:,.0f} with {n}" for n, rate in limits.items() if rate is not None)
    lines = [
        "# int8",
        "",
        f"{machine()}. The zoo as onnxruntime's own quantiser writes it after its pre-processing: uint8",
        "activations and int8 weights, static (QDQ, scales of channels) and dynamic. All engines run the same file, in",
        "turns: the least of several rounds, processor time with one thread, time with more. Where nncf is at hand,",
        "openvino also runs what that makes of the same network, and the faster of the two counts: `nncf` says so.",
        "`limit` is the share of the operations a second that a loop of `vpdpbusd` reaches",
        f"({shown} threads, in GOP/s), with the arithmetic of products counted as in the float32 model.",
        "Ratios above 1 say that ingot is faster; `float32` is ingot with the model before it was quantised.",
        "Written by `python -m benchmarks int8`.",
        "",
        "| model | threads | ingot | onnxruntime | ratio | openvino | ratio | float32 | ratio | limit |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(_line(row, limits[row.threads]) for row in rows),
        "",
        *_means(rows),
        "",
    ]
    return "\n".join(lines)


def _models(folder: Path, nncf: str | None, names: Sequence[str]) -> Iterator[Quantised]:
    small = folder / "int8"
    small.mkdir(parents=True, exist_ok=True)
    for way, quantise, members in (("static", static, STATIC), ("dynamic", dynamic, DYNAMIC)):
        for name in members:
            if names and name not in names and f"{name}:{way}" not in names:
                continue
            plain, codes = zoo.write(name, folder), small / f"{name}_{way}.onnx"
            if not codes.exists():
                unfinished = codes.with_suffix(".part")
                quantise(plain, unfinished).rename(codes)
            other = small / f"{name}_nncf.onnx"
            if not other.exists() and nncf and way == "static" and name in WITH_NNCF:
                by_nncf(plain, other, nncf)
            feeds = feeds_of(plain, 0)
            count = arithmetic(ingot.load(plain), feeds).operations
            nncf_file = other if way == "static" and other.exists() else None
            yield Quantised(name, way, plain, codes, nncf_file, feeds, count)


def _measured(model: Quantised, threads: int) -> Times:
    calls: dict[str, Callable[[], object]] = {}
    for name, path in (("ours", model.codes), ("plain", model.plain)):
        session = ingot.Session(path, providers=("cpu", "reference"), threads=threads)
        calls[name] = partial(session.run, None, dict(model.feeds))
    peers: dict[str, tuple[Callable[[Path, int, Mapping[str, Any]], Callable[[], object]], Path | None]] = {
        "onnxruntime": (_onnxruntime, model.codes),
        "openvino": (_openvino, model.codes),
        "nncf": (_openvino, model.nncf),
    }
    for name, (opened, path_or_none) in peers.items():
        try:
            if path_or_none is not None:
                calls[name] = opened(path_or_none, threads, model.feeds)
                calls[name]()
        except Exception as error:  # whatever an engine has against a model
            calls.pop(name, None)
            print(f"{name} does not run {model.title}: {str(error)[:300]}", file=sys.stderr)
    least = _least(calls, process_time if threads == 1 else perf_counter)
    same, other = least.get("openvino"), least.get("nncf")
    faster = other is not None and (same is None or other < same)
    return Times(
        model, threads, least["ours"], least["plain"], least.get("onnxruntime"), other if faster else same, faster
    )


def _least(calls: Mapping[str, Callable[[], object]], clock: Callable[[], float]) -> dict[str, float]:
    """The least seconds of a call of each, in turns."""
    for call in calls.values():
        call()
        call()  # the first one runs drafts of kernels, and this one waits for the kernels
    least, spent = dict.fromkeys(calls, math.inf), 0.0
    rounds = 0
    while rounds < 3 or (spent < SECONDS * len(calls) and rounds < 400):
        for name, call in calls.items():
            start = clock()
            call()
            took = clock() - start
            least[name] = min(least[name], took)
            spent += took
        rounds += 1
    return least


def _onnxruntime(path: Path, threads: int, feeds: Mapping[str, Any]) -> Callable[[], object]:
    return partial(peer_session(path.read_bytes(), threads).run, None, dict(feeds))


def _openvino(path: Path, threads: int, feeds: Mapping[str, Any]) -> Callable[[], object]:
    import openvino

    settings = {"NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(str(path), "CPU", {**settings, "INFERENCE_NUM_THREADS": threads})
    return partial(compiled, dict(feeds))


def _line(row: Times, limit: float | None) -> str:
    ratios = [row.ratio(other) for other in (row.onnxruntime, row.openvino, row.plain)]
    beside = [row.onnxruntime, row.openvino, row.plain]
    cells = [row.model.title, str(row.threads), _time(row.ours)]
    for place, (seconds, ratio) in enumerate(zip(beside, ratios, strict=True)):
        note = " (nncf)" if place == 1 and row.by_nncf else ""
        cells += ["", ""] if seconds is None or ratio is None else [_time(seconds) + note, f"{ratio:.2f}"]
    cells.append("" if limit is None else f"{100 * row.model.operations / row.ours / limit:.0f} %")
    return f"| {' | '.join(cells)} |"


def _means(rows: Sequence[Times]) -> Iterator[str]:
    for way in ("static", "dynamic"):
        for peer in ("onnxruntime", "openvino", "plain"):
            ratios = [row.ratio(getattr(row, peer)) for row in rows if row.model.way == way]
            known = [ratio for ratio in ratios if ratio is not None]
            if known:
                mean = math.exp(sum(map(math.log, known)) / len(known))
                name = "float32" if peer == "plain" else peer
                yield f"- {way}, {name}: geometric mean {mean:.2f}, least {min(known):.2f}"


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.int8", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the zoo, or NAME:static, NAME:dynamic")
    parser.add_argument("--zoo", type=Path, default=zoo.FOLDER, help="where the models are")
    parser.add_argument("--nncf", metavar="PYTHON", help="an interpreter that has nncf")
    parser.add_argument("--threads", default="", help="as in 1,2")
    options = parser.parse_args(arguments)
    print(table(options.zoo, options.nncf, options.names, options.threads))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
