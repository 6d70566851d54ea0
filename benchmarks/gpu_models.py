"""Whole networks on the provider `cuda`, beside what PyTorch takes.

    python -m benchmarks.gpu_models [--seconds SECONDS] [--out FILE] [CASE...]

A case is `network:batch:precision`, such as `resnet50:64:fp16`. The numbers are kept in
benchmarks/results/gpu_models.json; `--merge FILE...` adds those of other files to it. `python -m benchmarks.gpu models`
makes a table of them and of those of `benchmarks.gpu_peers`. Networks have random weights; results are compared with
those of the provider `cpu`, for the first images or texts of a batch. All are compiled first, beside each other, which
slows each down; then they are opened again, warm, and measured one after another.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np

import ingot
from benchmarks import gpu_peers
from benchmarks.random_zoo import with_weights
from ingot import Session
from ingot.providers import named
from ingot.providers.cuda.driver import DriverError

RESULT = Path(__file__).parent / "results" / "gpu_models.json"
PROVIDERS = ("cuda", "cpu", "reference")

TOKENS = 128
_COMPARED = 2
"""Images or texts of a batch that results are compared for."""

_ROUNDS = 20
_WARM_UP_ROUNDS = 4
_MOST_PREPARING = 75
"""Seconds for compiling."""

_MOST_ERROR = {"fp32": 1e-3, "fp16": 5e-2}

Record: TypeAlias = dict[str, Any]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_models")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="network:batch:precision; all, if none is given")
    parser.add_argument("--seconds", type=float, default=3600, help="after which no other case is begun")
    parser.add_argument("--out", type=Path, default=RESULT, help="the file that the numbers are added to")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="add the numbers of these files only")
    parser.add_argument("--prepare", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.merge:
        for file in options.merge:
            _keep(json.loads(file.read_text()), options.out)
        return 0
    cases = options.cases or [f"{name}:{batch}:{kind}" for name, batch in gpu_peers.CASES for kind in _MOST_ERROR]
    if options.prepare:
        _prepare(options.prepare, cases)
        return 0
    if options.measure:
        return _measure(options.measure, cases, options.seconds, options.out)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        _prepare_all(Path(folder), cases)
        print(f"compiled after {time.monotonic() - begin:.0f} s", flush=True)
        return _measure(Path(folder), cases, options.seconds - (time.monotonic() - begin), options.out)


def _prepare_all(folder: Path, cases: Sequence[str]) -> None:
    """Compile all networks, each in a process of its own, beside the others."""
    by_network: dict[str, list[str]] = {}
    for case in cases:
        by_network.setdefault(case.partition(":")[0], []).append(case)
    environment = {**os.environ, "INGOT_WORKERS": "2"}
    command = [sys.executable, "-m", "benchmarks.gpu_models", "--prepare", str(folder)]
    processes = [subprocess.Popen([*command, *own], env=environment) for own in by_network.values()]
    end = time.monotonic() + _MOST_PREPARING
    for process in processes:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()


def _prepare(folder: Path, cases: Sequence[str]) -> None:
    """Write the file of a network, what the provider `cpu` gives for it, and what it took to compile it."""
    name = cases[0].partition(":")[0]
    path = folder / f"{name}.onnx"
    path.write_bytes(ingot.encode(with_weights(name)))
    for case in cases:
        _, batch, precision = case.split(":")
        begin = time.monotonic()
        session = opened(str(path), precision)
        cold = time.monotonic() - begin
        session.run(None, feeds_of(session, int(batch)))
        first = time.monotonic() - begin - cold
        (folder / f"{case}.json").write_text(json.dumps({"cold s": round(cold, 2), "first run s": round(first, 2)}))
        session.close()
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    session = Session(path, providers=("cpu", "reference"), threads=2)
    np.savez(folder / f"{name}.npz", *session.run(None, feeds_of(session, _COMPARED)))


def _measure(folder: Path, cases: Sequence[str], seconds: float, out: Path) -> int:
    """Measure what was compiled; how many cases failed."""
    begin, failed = time.monotonic(), 0
    for place, case in enumerate(cases):
        if time.monotonic() - begin > seconds:
            print(f"{case}: no time left", flush=True)
            continue
        name, batch, precision = case.split(":")
        try:
            record = measured(folder, name, int(batch), precision)
        except Exception as error:
            failed += 1
            print(f"{case}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if isinstance(error, DriverError) and error.is_lost and cases[place + 1 :]:
                left = str(max(0.0, seconds - (time.monotonic() - begin)))
                command = [sys.executable, "-m", "benchmarks.gpu_models", "--measure", str(folder), "--seconds", left]
                rest = subprocess.run([*command, "--out", str(out), *cases[place + 1 :]], check=False)
                return failed + rest.returncode
            continue
        failed += record["error"] is None or record["error"] >= _MOST_ERROR[precision]
        print(json.dumps(record), flush=True)
        _keep([record], out)
    return failed


def measured(folder: Path, name: str, batch: int, precision: str) -> Record:
    """Times of a network: microseconds of the launch, of runs on the device, and from host to host."""
    import torch

    device = named("cuda").memory  # type: ignore[attr-defined]
    device.stream  # noqa: B018 - the context is created
    begin = time.perf_counter()
    session = opened(str(folder / f"{name}.onnx"), precision)
    warm = time.perf_counter() - begin
    is_warm = session._plans.artifacts is None
    feeds = feeds_of(session, batch)
    results = session.run(None, feeds)
    host = _median(lambda: session.run(None, feeds))
    tensors = {name: torch.from_numpy(array).cuda() for name, array in feeds.items()}
    on_device = _median(lambda: session.run(None, tensors, placement="device"))
    there = session.run(None, tensors, placement="device")
    again = [torch.from_dlpack(result).cpu().numpy() for result in there]
    assert all(np.array_equal(one, other) for one, other in zip(results, again, strict=True)), "results differ"
    times, reference = folder / f"{name}:{batch}:{precision}.json", folder / f"{name}.npz"
    return {
        "network": name, "batch": batch, "precision": precision, "kernels us": kernels_us(session, device),
        "host us": host, "device us": on_device,
        "error": error_of(results, list(np.load(reference).values())) if reference.exists() else None,
        **(json.loads(times.read_text()) if times.exists() else {}),
        "warm ms": round(1e3 * warm, 1) if is_warm else None,
        "calls": _calls(session), "date": time.strftime("%Y-%m-%d"), "device": device.name,
    }  # fmt: skip


def opened(path: str, precision: str) -> Session:
    return Session(path, providers=PROVIDERS, fallback=False, precision="fp16" if precision == "fp16" else None)


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


def table(ours: Iterable[Record], peers: dict[tuple[str, int, str, str], Record]) -> list[str]:
    """A table of our numbers beside the best of PyTorch's."""
    lines = [
        "| network | precision | kernels µs | on the device µs | PyTorch | ratio | host to host µs | PyTorch | ratio "
        "| compiled s | first run s | warm ms | calls | error |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
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
        error = own["error"]
        cells += [str(own.get(key) or "") for key in ("cold s", "first run s", "warm ms")]
        cells += [str(own["calls"]), "?" if error is None else f"{error:.1e}"]
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
    compiled = session._plans.first
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
    compiled = session._plans.first
    assert compiled is not None
    return sum(segment.call is not None for segment in compiled.plan.segments)


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
