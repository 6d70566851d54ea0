"""Whole networks on the provider `cuda`, beside what PyTorch takes.

    python -m benchmarks.gpu_models [--seconds SECONDS] [--out FILE] [CASE...]

A case is `network:batch:precision`, such as `resnet50:64:fp16`. The numbers are kept in
benchmarks/results/gpu_models.json; `--merge FILE...` adds those of other files to it. `python -m benchmarks.gpu models`
makes a table of them and of those of `benchmarks.gpu_peers`. Networks have random weights; results are compared with
those of the provider `cpu`, for the first images or texts of a batch. A session is opened warm in a process of its own,
once the context is there.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import atexit
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np

import ingot
from benchmarks import gpu_peers
from ingot import Session
from ingot.ir.tensor import Tensor
from ingot.providers import named
from ingot.providers.cuda.driver import DriverError

RESULT = Path(__file__).parent / "results" / "gpu_models.json"
PROVIDERS = ("cuda", "cpu", "reference")

TOKENS = 128
_COMPARED = 2
"""Images or texts of a batch that results are compared for."""

_ROUNDS = 30
_WARM_UP_ROUNDS = 4
_MOST_ERROR = {"fp32": 1e-3, "fp16": 5e-2}

Record: TypeAlias = dict[str, Any]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_models")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="network:batch:precision; all, if none is given")
    parser.add_argument("--seconds", type=float, default=3600, help="after which no other case is begun")
    parser.add_argument("--out", type=Path, default=RESULT, help="the file that the numbers are added to")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="add the numbers of these files only")
    parser.add_argument("--warm", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.merge:
        for file in options.merge:
            _keep(json.loads(file.read_text()), options.out)
        return 0
    if options.warm:
        print(json.dumps(_warm(*options.warm)))
        return 0
    begin, failed = time.monotonic(), 0
    cases = options.cases or [f"{name}:{batch}:{kind}" for name, batch in gpu_peers.CASES for kind in _MOST_ERROR]
    for place, case in enumerate(cases):
        if time.monotonic() - begin > options.seconds:
            print(f"{case}: no time left", flush=True)
            continue
        name, batch, precision = case.split(":")
        try:
            record = measured(name, int(batch), precision)
        except Exception as error:
            failed += 1
            print(f"{case}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if isinstance(error, DriverError) and error.is_lost and cases[place + 1 :]:
                left = str(max(0.0, options.seconds - (time.monotonic() - begin)))
                command = [sys.executable, "-m", "benchmarks.gpu_models", "--seconds", left, "--out", str(options.out)]
                return failed + subprocess.run([*command, *cases[place + 1 :]], check=False).returncode
            continue
        failed += record["error"] >= _MOST_ERROR[precision]
        print(json.dumps(record), flush=True)
        _keep([record], options.out)
    return int(failed > 0)


def measured(name: str, batch: int, precision: str) -> Record:
    """Times of a network: microseconds of the launch, of runs on the device, and from host to host."""
    import torch

    device = named("cuda").memory  # type: ignore[attr-defined]
    path = _file_of(name)
    begin = time.monotonic()
    session = opened(path, precision)
    cold = time.monotonic() - begin
    feeds = feeds_of(session, batch)
    results = session.run(None, feeds)
    first = time.monotonic() - begin - cold
    host = _median(lambda: session.run(None, feeds))
    tensors = {name: torch.from_numpy(array).cuda() for name, array in feeds.items()}
    on_device = _median(lambda: session.run(None, tensors, placement="device"))
    kept = session.run(None, tensors, placement="device")
    again = [torch.from_dlpack(result).cpu().numpy() for result in kept]
    assert all(np.array_equal(one, other) for one, other in zip(results, again, strict=True)), "results differ"
    record = {
        "network": name, "batch": batch, "precision": precision, "kernels us": kernels_us(session, device),
        "host us": host, "device us": on_device, "error": error_of(results, _expected(name)),
        "cold s": round(cold, 2), "first run ms": round(1e3 * first, 1),
        "calls": _calls(session), "date": time.strftime("%Y-%m-%d"), "device": device.name,
    }  # fmt: skip
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    return {**record, **_in_another_process(path, batch, precision)}


def opened(path: str, precision: str) -> Session:
    return Session(path, providers=PROVIDERS, fallback=False, precision="fp16" if precision == "fp16" else None)


def with_weights(name: str) -> ingot.Model:
    """A network of the zoo with random weights of the size that leaves the scale of values about as it is."""
    from golden.zoo import graph_of

    model, random = graph_of(name), np.random.default_rng(0)
    for value in model.graph.initializers.values():
        constant = value.constant
        assert constant is not None
        shape = constant.shape
        if str(constant.dtype) == "float32" and np.prod(shape) > 512:
            fan = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
            array = random.standard_normal(shape, np.float32) / np.float32(np.sqrt(max(1, fan)))
            value.constant = Tensor(array, name=constant.name)
    return model


def feeds_of(session: Session, batch: int) -> dict[str, Any]:
    """Random inputs: `TOKENS` of them for a text, masks of ones."""
    feeds = {}
    for name, type_ in session.inputs.items():
        declared: Any = type_
        sizes = {"batch": batch, "tokens": TOKENS}
        shape = tuple(size if isinstance(size, int) else sizes[str(size)] for size in declared.shape)
        dtype, random = declared.dtype.numpy, np.random.default_rng(1)  # a batch begins as a smaller one
        if dtype.kind == "f":
            feeds[name] = random.standard_normal(shape).astype(dtype)
        else:
            feeds[name] = np.ones(shape, dtype) if "mask" in name else random.integers(0, 2000, shape).astype(dtype)
    return feeds


def error_of(results: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest distance of a result from what is expected of the first of a batch, over its length."""
    distances = []
    for result, own in zip(results, expected, strict=True):
        count = min(len(result), len(own))
        difference = np.linalg.norm((result[:count].astype(np.float64) - own[:count]).ravel())
        distances.append(float(difference / max(1e-30, float(np.linalg.norm(own[:count].ravel())))))
    return max(distances)


@cache
def _file_of(name: str) -> str:
    """The file of a network, which is there until the process ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, True)
    path = Path(folder) / f"{name}.onnx"
    path.write_bytes(ingot.encode(with_weights(name)))
    return str(path)


@cache
def _expected(name: str) -> list[Any]:
    """What the provider `cpu` gives for the first of a batch."""
    session = Session(_file_of(name), providers=("cpu", "reference"))
    return session.run(None, feeds_of(session, _COMPARED))


def table(ours: Iterable[Record], peers: dict[tuple[str, int, str, str], Record]) -> list[str]:
    """A table of our numbers beside the best of PyTorch's."""
    lines = [
        "| network | precision | kernels µs | on the device µs | PyTorch | ratio | host to host µs | PyTorch | ratio "
        "| cold s | warm ms | calls | error |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    order = {case: place for place, case in enumerate(gpu_peers.CASES)}
    for own in sorted(ours, key=lambda r: (order.get((r["network"], r["batch"]), 99), r["precision"] != "fp32")):
        of = [peers.get((own["network"], own["batch"], own["precision"], way)) for way in gpu_peers.WAYS]
        rivals = [peer for peer in of if peer is not None]
        cells = [f"{own['network']}, {own['batch']}", own["precision"], f"{own['kernels us']:.0f}"]
        for kind in ("device us", "host us"):
            best = min(rivals, key=lambda peer: float(peer[kind]), default=None)
            shown = ("", "") if best is None else (f"{best[kind]:.0f} {best['way']}", f"{best[kind] / own[kind]:.2f}")
            cells += [f"{own[kind]:.0f}", *shown]
        cells += [str(own["cold s"]), str(own["warm ms"]), str(own["calls"]), f"{own['error']:.1e}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def kept() -> list[Record]:
    """The numbers that were measured before."""
    return json.loads(RESULT.read_text()) if RESULT.exists() else []


def _median(run: Callable[[], Any]) -> float:
    """Microseconds."""
    for _ in range(_WARM_UP_ROUNDS):
        run()
    times = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return round(float(median(times)) * 1e6, 1)


def kernels_us(session: Session, device: Any) -> float:
    """Microseconds of the launch of a run, on the device."""
    compiled = session._compiled
    assert compiled is not None
    frame = compiled.runner.frames[-1]
    replays = [run._replay for run in frame.native_runs.values() if run._replay is not None][-1:]
    replays += [replay for own in frame.segments for _, replay in own._replays.values() if replay is not None]

    def launch() -> None:
        for replay in replays:
            replay()

    return round(float(device.seconds(launch, _ROUNDS)) * 1e6, 1)


def _calls(session: Session) -> int:
    """How many nodes are not on the GPU."""
    compiled = session._compiled
    assert compiled is not None
    return sum(segment.call is not None for segment in compiled.plan.segments)


def _in_another_process(path: str, batch: int, precision: str) -> Record:
    command = [sys.executable, "-m", "benchmarks.gpu_models", "--warm", path, str(batch), precision]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    record: Record = json.loads(done.stdout.splitlines()[-1])
    return record


def _warm(path: str, batch: str, precision: str) -> Record:
    """Milliseconds that opening a model takes that was opened before, and its first run."""
    begin = time.perf_counter()
    named("cuda").memory.stream  # type: ignore[attr-defined]  # noqa: B018 - the context is created
    context = time.perf_counter() - begin
    begin = time.perf_counter()
    session = opened(path, precision)
    whole = time.perf_counter() - begin
    assert session._artifacts is None, "it was compiled"
    feeds = feeds_of(session, int(batch))
    begin = time.perf_counter()
    session.run(None, feeds)
    first = time.perf_counter() - begin
    return {
        "warm ms": round(1e3 * whole, 1),
        "warm first run ms": round(1e3 * first, 1),
        "context ms": round(1e3 * context, 1),
    }


def _keep(records: list[Record], path: Path) -> None:
    """Add records to a file, in place of those of the same network, batch and precision."""

    def key(record: Record) -> tuple[Any, ...]:
        return record["network"], record["batch"], record["precision"]

    every = {key(record): record for record in (json.loads(path.read_text()) if path.exists() else [])}
    every.update((key(record), record) for record in records)
    lines = ",\n".join(json.dumps(every[name]) for name in sorted(every))
    path.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
