"""Products of float16 on a GPU beside cuBLAS, by turns, each with weights of its own: more than the L2 cache holds.

A part of `python -m benchmarks.gpu`.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ingot
from ingot import Session
from ingot.ir.tensor import Tensor

_HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
_L2_BYTES = 120e6
_RESULT_BYTES = 300e6
_MOST_COPIES = 10
_ROUNDS = 15
_MOST_ERROR = 1e-3

SIZES = (
    (128, 768, 768), (128, 2304, 768), (128, 3072, 768), (128, 768, 3072),
    (4096, 768, 768), (4096, 2304, 768), (4096, 3072, 768), (4096, 768, 3072),
    (3136, 64, 576), (784, 128, 1152), (196, 256, 2304), (196, 1024, 256), (49, 512, 4608), (49, 2048, 512),
    (200704, 64, 576), (200704, 256, 64), (50176, 128, 1152), (12544, 256, 2304), (12544, 1024, 256),
    (3136, 512, 4608), (3136, 2048, 512), (4096, 4096, 4096), (8192, 8192, 8192), (1000, 1000, 1000), (333, 4099, 511),
)  # fmt: skip
"""Rows, columns and depths: those of BERT and ResNet-50, squares, and some that are no multiples of anything."""


def products(providers: Sequence[str], device: Any) -> tuple[str, int]:
    """A table of times in microseconds, on the device of the first provider, and how many products are wrong."""
    lines, wrong = (
        ["| rows × columns × depth | ours µs | cuBLAS µs | cuBLAS / ours | error |", "|---|---|---|---|---|"],
        0,
    )
    for m, n, k in SIZES:
        try:
            ours, theirs, error = _measured(m, n, k, providers, device)
            wrong += not error < _MOST_ERROR
            lines.append(f"| {m}×{n}×{k} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} | {error:.1e} |")
        except Exception as failure:
            wrong += 1
            lines.append(f"| {m}×{n}×{k} | failed: {type(failure).__name__}: {str(failure)[:200]} | | | |")
        print(lines[-1], flush=True)
    return "\n".join(lines), wrong


def _measured(m: int, n: int, k: int, providers: Sequence[str], device: Any) -> tuple[float, float, float]:
    """Microseconds of a product of ours and of cuBLAS, and how far the first one of ours is from the exact one."""
    import torch

    copies = max(2, min(_MOST_COPIES, int(_L2_BYTES / (2 * k * n)), int(_RESULT_BYTES / (2 * m * n))))
    x, weights = torch.randn(m, k).half(), [torch.randn(k, n).half() for _ in range(copies)]
    session, feeds = _session(x.numpy(), [weight.numpy() for weight in weights], providers)
    launch, result = kernels_of(session, feeds, device)
    there, own = x.cuda(), [weight.cuda() for weight in weights]
    exact = there.double() @ own[0].double()
    error = float((torch.from_numpy(result).cuda().double() - exact).norm() / exact.norm())
    peer = graph_of(torch, there, own)
    times = [(device.seconds(launch, 1) * 1e6 / copies, peer() / copies) for _ in range(_ROUNDS)]
    ours, theirs = np.median(times, axis=0)
    del there, own, exact, peer
    torch.cuda.empty_cache()
    return float(ours), float(theirs), error


def _session(x: Any, weights: list[Any], providers: Sequence[str]) -> tuple[Session, dict[str, Any]]:
    """Products of one left operand by each of several constants."""
    (m, k), n = x.shape, weights[0].shape[1]
    declared = ", ".join(f"float16[{k}, {n}] w{number}" for number in range(len(weights)))
    body = " ".join(f"y{number} = MatMul (x, w{number})" for number in range(len(weights)))
    results = ", ".join(f"y{number}" for number in range(len(weights)))
    model = ingot.parse_model(f"{_HEAD} g (float16[{m}, {k}] x, {declared}) => ({results}) {{ {body} }}")
    for value in model.graph.inputs:
        if value.name != "x":
            value.constant = Tensor(weights[int(value.name[1:])], name=value.name)
            model.graph.initializers.add(value)
    return Session(model, providers=providers, fallback=False), {"x": x}


def kernels_of(session: Session, feeds: dict[str, Any], device: Any) -> tuple[Callable[[], None], Any]:
    """The kernels of a run of a session as one launch, without copies; and the first result of the run."""
    calls: list[Any] = []
    launch = device.launch

    def recorded(*arguments: Any) -> None:
        calls.append(arguments)
        launch(*arguments)

    device.launch = recorded
    try:
        result = session.run(None, feeds)[0]
    finally:
        del device.launch
    graph = device.capture(lambda: [launch(*arguments) for arguments in calls])
    assert calls, "kernels are launched one by one in the first run"
    assert graph is not None
    return graph, result


def graph_of(torch: Any, x: Any, weights: list[Any]) -> Callable[[], float]:
    """The microseconds of the same products of cuBLAS, in a CUDA graph, each time it is called."""
    out, stream, graph = x @ weights[0], torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        for weight in weights:
            torch.mm(x, weight, out=out)
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for weight in weights:
                torch.mm(x, weight, out=out)

    def microseconds() -> float:
        with torch.cuda.stream(stream):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record(stream)
            graph.replay()
            end.record(stream)
            end.synchronize()
        return float(begin.elapsed_time(end) * 1e3)

    return microseconds
