"""The provider `cuda` on a GPU: conformance, random graphs, and times beside PyTorch.

    python -m benchmarks.gpu [SECTION...]

prints a table for each section and writes them to benchmarks/results/gpu.md; it ends in an error if a result is wrong.
It needs a GPU; conformance needs the package onnx, times need PyTorch.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from benchmarks import gpu_models, gpu_peers
from ingot import Session
from ingot.ir.tensor import Tensor
from ingot.providers import named

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "gpu.md"
PROVIDERS = ("cuda", "cpu", "reference")

_HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
_ROUNDS = 20
_MOST_SECONDS = 600
_KERNEL_SECONDS = 32
"""After which no other kernel is measured."""

sys.path.insert(0, str(ROOT / "tests"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; all by default")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 1) - 2))
    parser.add_argument("--seconds", type=float, default=48, help="of each section that many processes share")
    parser.add_argument("--model-seconds", type=float, default=95, help="after which no other network is measured")
    parser.add_argument("--graphs", type=int, default=5_000, help="random graphs, at most")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    parser.add_argument("--text", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.sections = options.sections or list(SECTIONS)
    unknown = [name for name in options.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section '{unknown[0]}'; there are {', '.join(SECTIONS)}")
    warnings.simplefilter("ignore")
    if options.share:
        number, _, processes = options.share.partition("/")
        _worker(options.sections[0], int(number), int(processes), options.seconds, options.graphs)
        return 0
    if options.text:
        text, failed = SECTIONS[options.sections[0]](options)
        options.text.write_text(text)
        return min(failed, 1)
    wrong, pages = 0, {}
    for name in options.sections:
        begin = time.monotonic()
        print(f"== {name}", flush=True)
        pages[name], failed = _in_own_process(name, options)
        wrong += failed
        print(pages[name])
        print(f"{time.monotonic() - begin:.0f} s", flush=True)
        sections = [f"## {title.capitalize()}\n\n{text}\n" for title, text in pages.items()]
        RESULT.write_text("\n".join(["# The provider `cuda`\n\nWritten by `python -m benchmarks.gpu`.\n", *sections]))
    return int(wrong > 0)


def _in_own_process(section: str, options: argparse.Namespace) -> tuple[str, int]:
    """The text of a section, and whether something is wrong: a kernel that crashes ends no other section."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "text"
        command = [sys.executable, "-m", "benchmarks.gpu", section, "--text", str(target)]
        command += ["--processes", str(options.processes), "--seconds", str(options.seconds)]
        command += ["--graphs", str(options.graphs), "--model-seconds", str(options.model_seconds)]
        try:
            code = subprocess.run(command, cwd=ROOT, check=False, timeout=_MOST_SECONDS).returncode
        except subprocess.TimeoutExpired:
            return f"failed: it took more than {_MOST_SECONDS} s", 1
        if not target.exists():
            return f"failed: its process ended with {code}", 1
        return target.read_text(), code


# --- what is right


def _device(_: argparse.Namespace) -> tuple[str, int]:
    from ingot.providers.cuda.driver import open_driver

    device = named("cuda").memory  # type: ignore[attr-defined]
    begin = time.monotonic()
    device.stream  # noqa: B018 - the context is created
    seconds = time.monotonic() - begin
    version = ".".join(map(str, open_driver().version))
    return (
        f"{device.name}, {device.multiprocessors} multiprocessors, compute capability "
        f"{'.'.join(map(str, device.capability))}, CUDA {version} in the driver; context in {1e3 * seconds:.0f} ms"
    ), 0


def _shared(section: str) -> Callable[[argparse.Namespace], tuple[str, int]]:
    def run(options: argparse.Namespace) -> tuple[str, int]:
        command = [sys.executable, "-m", "benchmarks.gpu", section, "--seconds", str(options.seconds)]
        command += ["--graphs", str(options.graphs)]
        environment = {**os.environ, "INGOT_WORKERS": "0"}
        processes = [
            subprocess.Popen(
                [*command, "--share", f"{number}/{options.processes}"],
                cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for number in range(options.processes)
        ]  # fmt: skip
        total: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        failures: list[str] = []
        for process in processes:
            output, errors = process.communicate()
            lines = [line for line in output.splitlines() if line.startswith("{")]
            if not lines:
                failures.append(f"a process ended ({process.returncode}): {errors[-400:]}")
                continue
            record = json.loads(lines[-1])
            total.update(record["counts"])
            reasons.update(record["reasons"])
            failures += record["failures"]
        counts = ", ".join(f"{count:,} {what}" for what, count in total.items())
        shown = [f"- {text}" for text in failures[:40]]
        refused = [f"- {count} {reason}" for reason, count in reasons.most_common(10)]
        parts = [f"{counts}; {len(failures)} wrong.", *shown, "", "Not on the GPU, by reason:", "", *refused]
        return "\n".join(parts), len(failures)

    return run


def _worker(section: str, number: int, of: int, seconds: float, graphs: int) -> None:
    """One share of a section: its counts, reasons and failures, as JSON."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    failures: list[str] = []
    begin = time.monotonic()
    cases = _cases() if section == "conformance" else {str(seed): None for seed in range(graphs)}
    kind = "cases" if section == "conformance" else "graphs"
    for name, case in list(cases.items())[number::of]:
        if time.monotonic() - begin > seconds:
            counts[f"{kind} that there was no time for"] += 1
            continue
        try:
            if section == "conformance":
                refused = _run_case(case)
                counts.update({"cases right": 1, "of them whole on the GPU": int(not refused)})
                reasons.update(refused)
            else:
                _run_graph(int(name))
                counts["graphs right"] += 1
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {str(error)[:300]!r}")
    print(json.dumps({"counts": counts, "reasons": reasons, "failures": failures}))


def _cases() -> dict[str, Any]:
    from conformance.cases import node_cases
    from conformance.known import KNOWN

    return {name: case for name, case in node_cases().items() if name not in KNOWN}


def _run_case(case: Any) -> list[str]:
    """Why nodes of a case were not on the GPU; AssertionError where an output is wrong."""
    from conformance.cases import UNPREDICTABLE, plain, same

    session = Session(case.model, providers=PROVIDERS, fallback=False)
    names = list(session.inputs)
    is_random = any(node.op_type in UNPREDICTABLE for node in session.model.nodes())
    for inputs, outputs in case.data_sets:
        feeds = dict(zip(names, map(plain, inputs), strict=False))
        for _ in range(2):
            results = session.run(None, feeds)
        for place, (result, expected) in enumerate(zip(results, outputs, strict=True)):
            if not is_random:
                same(result, plain(expected), case.rtol, case.atol, f"output {place}")
    compiled = session.compiled
    assert compiled is not None
    return [call.reason for call in compiled.program.calls.values()]


def _run_graph(seed: int) -> None:
    from lower.compared import Tally, check
    from lower.random_nodes import random_model

    check(random_model(seed), Tally(), (), PROVIDERS)


# --- what is fast


class Timer:
    """Times on the device: medians of events around what a function launches."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.device = named("cuda").memory  # type: ignore[attr-defined]

    def ours(self, session: Session, feeds: dict[str, Any]) -> tuple[float, float]:
        """Microseconds of the kernels of a run, and of a run from host to host."""
        for _ in range(3):
            session.run(None, feeds)
        begin = time.perf_counter()
        session.run(None, feeds)
        whole = time.perf_counter() - begin
        return gpu_models.kernels_us(session, self.device), whole * 1e6

    def on_device(self, session: Session, feeds: dict[str, Any]) -> float:
        """Microseconds of the kernels of a run that reads from the memory of the GPU, and leaves its results there."""
        tensors = {name: self.torch.from_numpy(array).cuda() for name, array in feeds.items()}
        for _ in range(3):
            session.run(None, tensors, placement="device")
        return gpu_models.kernels_us(session, self.device)

    def torchs(self, function: Callable[[], Any]) -> float:
        """Microseconds of what PyTorch does, in a CUDA graph."""
        torch = self.torch
        stream = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(stream):
            for _ in range(3):
                function()
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                function()
            times = []
            for _ in range(_ROUNDS):
                start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record(stream)
                graph.replay()
                stop.record(stream)
                stop.synchronize()
                times.append(start.elapsed_time(stop) * 1e3)
        return float(np.median(times))


def _kernels(_: argparse.Namespace) -> tuple[str, int]:
    timer, random = Timer(), np.random.default_rng(0)
    torch = timer.torch
    f = torch.nn.functional
    rows = [
        ("Exp", (64 << 20,), "y = Exp (x)", lambda x: x.exp(), ()),
        ("Add, Gelu", (65536, 768), "t = Add (x, w) y = Gelu (t)", lambda x, w: f.gelu(x + w), ((768,),)),
        ("Softmax", (262144, 512), "y = Softmax (x)", lambda x: x.softmax(-1), ()),
        ("Softmax, long", (16384, 8192), "y = Softmax (x)", lambda x: x.softmax(-1), ()),
        ("LayerNorm", (65536, 768), "y = LayerNormalization (x, w, v)",
         lambda x, w, v: f.layer_norm(x, (768,), w, v), ((768,), (768,))),
        ("ReduceSum, rows", (65536, 1024), "a = Constant <value_ints = [1]> () y = ReduceSum (x, a)",
         lambda x: x.sum(1, keepdim=True), ()),
        ("ReduceSum, columns", (65536, 1024), "a = Constant <value_ints = [0]> () y = ReduceSum (x, a)",
         lambda x: x.sum(0, keepdim=True), ()),
        ("Transpose", (8192, 8192), "y = Transpose (x)", lambda x: x.t().contiguous(), ()),
        ("MatMul 1", (1, 4096), "y = MatMul (x, w)", lambda x, w: x @ w, ((4096, 4096),)),
        ("MatMul 128", (128, 768), "y = MatMul (x, w)", lambda x, w: x @ w, ((768, 768),)),
        ("MatMul 128 long", (128, 3072), "y = MatMul (x, w)", lambda x, w: x @ w, ((3072, 768),)),
        ("MatMul 4096", (4096, 768), "y = MatMul (x, w)", lambda x, w: x @ w, ((768, 3072),)),
        ("MatMul 4096, ReLU", (4096, 768), "t = MatMul (x, w) u = Add (t, v) y = Relu (u)",
         lambda x, w, v: torch.relu(x @ w + v), ((768, 3072), (3072,))),
        ("MatMul square", (4096, 4096), "y = MatMul (x, w)", lambda x, w: x @ w, ((4096, 4096),)),
        ("Conv 64, 56 x 56", (64, 64, 56, 56), "y = Conv <pads = [1, 1, 1, 1]> (x, w)",
         lambda x, w: f.conv2d(x, w, padding=1), ((64, 64, 3, 3),)),
        *((f"MatMul {shape[0]}, float16", shape, "y = MatMul (x, w)", lambda x, w: x @ w, (other,))
          for shape, other in (((128, 768), (768, 768)), ((128, 768), (768, 3072)), ((4096, 768), (768, 3072)),
                               ((4096, 4096), (4096, 4096)), ((8192, 8192), (8192, 8192)))),
        ("Conv 64, 56 x 56, float16", (64, 64, 56, 56), "y = Conv <pads = [1, 1, 1, 1]> (x, w)",
         lambda x, w: f.conv2d(x, w, padding=1), ((64, 64, 3, 3),)),
        ("Softmax, float16", (262144, 512), "y = Softmax (x)", lambda x: x.softmax(-1), ()),
    ]  # fmt: skip
    about = (
        "Ours is the launch of a run, which copies inputs of up to 2 MiB from the host too, and results back, and "
        "changes the layout of images; PyTorch's copies nothing."
    )
    wrong = 0
    lines = [about, "", "| kernel | ours µs | torch µs | torch / ours | GB/s | error |", "|---|---|---|---|---|---|"]
    begin = time.monotonic()
    for name, shape, body, peer, others in rows:
        own: Any = peer
        if time.monotonic() - begin > _KERNEL_SECONDS:
            lines.append(f"| {name} | not measured: no time | | | | |")
            continue
        try:
            is_half = "float16" in name
            kind = "float16" if is_half else "float"
            arrays = [random.standard_normal(size, np.float32) for size in (shape, *others)]
            if is_half:
                arrays = [array.astype(np.float16) for array in arrays]
            names = ["x", "w", "v"][: len(arrays)]
            declared = ", ".join(
                f"{kind}[{', '.join(map(str, array.shape))}] {label}"
                for label, array in zip(names, arrays, strict=True)
            )
            model = ingot.parse_model(f"{_HEAD} g ({declared}) => (y) {{ {body} }}")
            feeds = dict(zip(names, arrays, strict=True))
            for value in model.graph.inputs:
                if value.name != "x":  # weights are constants
                    value.constant = Tensor(feeds.pop(value.name), name=value.name)
                    model.graph.initializers.add(value)
            session = Session(model, providers=PROVIDERS, fallback=False)
            ours = timer.ours(session, feeds)[0]
            tensors = [torch.from_numpy(array).cuda() for array in arrays]
            theirs = timer.torchs(partial(own, *tensors))
            (result,) = session.run(None, feeds)
            wider = [tensor.float() if is_half else tensor.double() for tensor in tensors]
            double = own(*wider).cpu().numpy()
            error = float(np.linalg.norm(result - double) / np.linalg.norm(double))
            wrong += not error < (1e-3 if is_half else 1e-5)
            moved = sum(array.nbytes for array in (*arrays, result))
            lines.append(
                f"| {name} {'×'.join(map(str, shape))} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} "
                f"| {moved / ours / 1e3:.0f} | {error:.1e} |"
            )
            del tensors
            torch.cuda.empty_cache()
        except Exception as failure:
            wrong += 1
            lines.append(f"| {name} | failed: {type(failure).__name__}: {str(failure)[:200]} | | | | |")
    return "\n".join(lines), wrong


def _models(options: argparse.Namespace) -> tuple[str, int]:
    """What `benchmarks.gpu_models` has measured, and what it measures now of what it has not."""
    failed = 0
    measured = {(own["network"], own["batch"], own["precision"]) for own in gpu_models.kept()}
    missing = [
        f"{name}:{batch}:{kind}"
        for name, batch in gpu_peers.CASES
        for kind in gpu_peers.PRECISIONS
        if (name, batch, kind) not in measured
    ]
    if missing:
        command = [sys.executable, "-m", "benchmarks.gpu_models", "--seconds", str(options.model_seconds), *missing]
        failed = subprocess.run(command, cwd=ROOT, check=False).returncode
    return "\n".join(gpu_models.table(gpu_models.kept(), gpu_peers.kept())), failed


def _products(_: argparse.Namespace) -> tuple[str, int]:
    from benchmarks.gpu_products import products

    return products(PROVIDERS, named("cuda").memory)  # type: ignore[attr-defined]


def _decode(_: argparse.Namespace) -> tuple[str, int]:
    """A layer of a decoder of 7 billion parameters for one token."""
    from benchmarks.gpu_decode import table

    return table(4, check=True)


SECTIONS: dict[str, Callable[[argparse.Namespace], tuple[str, int]]] = {
    "device": _device,
    "kernels": _kernels,
    "products": _products,
    "models": _models,
    "decode": _decode,
    "conformance": _shared("conformance"),
    "graphs": _shared("graphs"),
}

if __name__ == "__main__":
    sys.exit(main())
