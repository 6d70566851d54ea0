"""What PyTorch takes for the networks that the provider `cuda` is judged by, on a GPU.

    python -m benchmarks.gpu_peers [--ways eager,graph,compiled,autotuned] [--seconds SECONDS] [--out FILE] [CASE...]

A case is `network:batch:precision`, such as `resnet50:64:fp16`. Each is run eagerly, in a CUDA graph, compiled by
`torch.compile(mode="reduce-overhead")`, which has CUDA graphs, too, and autotuned by `mode="max-autotune"`. The last
two take from ten seconds to minutes a network, so that the numbers are kept in benchmarks/results/gpu_peers.json, with
the date and the versions that they are of; `--merge FILE...` adds those of other files to it. float32 is without TF32;
of networks of convolutions the faster of both memory formats counts, but where they are compiled, which chooses layouts
itself. Masks of ones are left out: it is quicker so.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

RESULT = Path(__file__).parent / "results" / "gpu_peers.json"

CASES = (
    ("resnet50", 1), ("resnet50", 64), ("bert_base", 1), ("bert_base", 32), ("vit_base", 1), ("vit_base", 64),
    ("convnext_tiny", 64), ("unet", 1), ("whisper_encoder", 1), ("gpt2_prefill", 1),
)  # fmt: skip
"""The networks, and the batch of each."""

PRECISIONS = ("fp32", "fp16")
WAYS = ("eager", "graph", "compiled", "autotuned")
_COMPILED = ("compiled", "autotuned")
_CONVOLUTIONAL = ("resnet50", "convnext_tiny", "unet")

_ROUNDS = 30
_WARM_UP_ROUNDS = 3

Record: TypeAlias = dict[str, Any]
Network: TypeAlias = Callable[[Sequence[Any]], Any]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_peers")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="network:batch:precision; all, if none is given")
    parser.add_argument("--ways", default=",".join(WAYS), help="how they are run")
    parser.add_argument("--seconds", type=float, default=3600, help="after which no other case is begun")
    parser.add_argument("--out", type=Path, default=RESULT, help="the file that the numbers are added to")
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="add the numbers of these files only")
    options = parser.parse_args(arguments)
    if options.merge:
        for file in options.merge:
            _keep(json.loads(file.read_text()), options.out)
        return 0
    begin, failed = time.monotonic(), 0
    for case in options.cases or [f"{name}:{batch}:{kind}" for name, batch in CASES for kind in PRECISIONS]:
        if time.monotonic() - begin > options.seconds:
            print(f"{case}: no time left", flush=True)
            continue
        name, batch, precision = case.split(":")
        try:
            for record in measured(name, int(batch), precision, options.ways.split(",")):
                print(json.dumps(record), flush=True)
                _keep([record], options.out)
        except Exception as error:
            failed += 1
            print(f"{case}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    return int(failed > 0)


def kept() -> dict[tuple[str, int, str, str], Record]:
    """The numbers that were measured before, by network, batch, precision and way."""
    records = json.loads(RESULT.read_text()) if RESULT.exists() else []
    return {_key(record): record for record in records}


def measured(name: str, batch: int, precision: str, ways: Sequence[str]) -> Iterator[Record]:
    """Times of a network of PyTorch in each way: microseconds on the device, and from host to host."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    module, hosts = _network(name, batch, precision)
    formats = [torch.contiguous_format, *([torch.channels_last] if name in _CONVOLUTIONAL else [])]
    for way in ways:
        begin, times = time.monotonic(), []
        for memory_format in formats[:1] if way in _COMPILED else formats:
            times.append(_times(RUNS[way], module.to(memory_format=memory_format), hosts))
            torch.cuda.empty_cache()
        device, host = (min(column) for column in zip(*times, strict=True))
        major, minor = torch.cuda.get_device_capability()
        yield {
            "network": name, "batch": batch, "precision": precision, "way": way,
            "device us": round(device, 1), "host us": round(host, 1), "seconds": round(time.monotonic() - begin, 1),
            "date": time.strftime("%Y-%m-%d"), "device": torch.cuda.get_device_name(), "capability": f"{major}.{minor}",
            "torch": torch.__version__, "cuda": torch.version.cuda, "driver": _driver(),
        }  # fmt: skip


def _times(run: Callable[[Any, Sequence[Any]], Network], module: Any, hosts: Sequence[Any]) -> tuple[float, float]:
    import torch

    with torch.no_grad():
        inputs = [None if host is None else host.cuda() for host in hosts]
        network = run(module, inputs)

        def from_host_to_host() -> list[Any]:
            own = [None if host is None else host.cuda() for host in hosts]
            return [tensor.cpu() for tensor in _tensors(network(own))]

        for _ in range(_WARM_UP_ROUNDS):
            from_host_to_host()
        times = []
        for _ in range(_ROUNDS):
            begin = time.perf_counter()
            from_host_to_host()
            times.append(time.perf_counter() - begin)
        return median(_device_times(lambda: network(inputs))) * 1e3, median(times) * 1e6


def _network(name: str, batch: int, precision: str) -> tuple[Any, list[Any]]:
    """The module of a network on the device, and random inputs in the memory of the host."""
    import torch

    from benchmarks.zoo import NETWORKS

    torch.manual_seed(0)
    made = NETWORKS[name]()
    kind = torch.float16 if precision == "fp16" else torch.float32
    module = made.module.eval().cuda().to(kind)
    inputs: list[Any] = []
    for label, example in made.inputs.items():
        if "mask" in label:
            inputs.append(None)
        elif example.is_floating_point():
            inputs.append(torch.randn(batch, *example.shape[1:]).to(kind))
        else:
            inputs.append(torch.randint(0, 2000, (batch, *example.shape[1:])))
    names = list(made.inputs)
    return _Positional.of(module, names), inputs


class _Positional:
    """A module whose inputs are given in order."""

    @staticmethod
    def of(module: Any, names: Sequence[str]) -> Any:
        import torch

        class Positional(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.inner = module

            def forward(self, *inputs: Any) -> Any:
                return list(_tensors(self.inner(**dict(zip(names, inputs, strict=True)))))

        return Positional()


def _eager(module: Any, _: Sequence[Any]) -> Network:
    return lambda inputs: module(*inputs)


def _graph(module: Any, inputs: Sequence[Any]) -> Network:
    """The module in a CUDA graph; inputs other than those it was captured with are copied to these."""
    import torch

    static = list(inputs)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP_ROUNDS):
            module(*static)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = module(*static)

    def run(own: Sequence[Any]) -> Any:
        for to, source in zip(static, own, strict=True):
            if source is not to:
                to.copy_(source)
        graph.replay()
        return results

    return run


def _compiled(module: Any, inputs: Sequence[Any], mode: str = "reduce-overhead") -> Network:
    import torch

    torch._dynamo.reset()
    compiled = torch.compile(module, mode=mode, dynamic=False)
    for _ in range(_WARM_UP_ROUNDS):
        compiled(*inputs)
    return lambda own: compiled(*own)


RUNS: dict[str, Callable[[Any, Sequence[Any]], Network]] = {
    "eager": _eager,
    "graph": _graph,
    "compiled": _compiled,
    "autotuned": partial(_compiled, mode="max-autotune"),
}


def _device_times(function: Callable[[], Any]) -> list[float]:
    """Milliseconds between events around each call of a function, that follow one another."""
    import torch

    for _ in range(_WARM_UP_ROUNDS):
        function()
    pairs = []
    for _ in range(_ROUNDS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        stop.record()
        pairs.append((start, stop))
        stop.synchronize()
    return [start.elapsed_time(stop) for start, stop in pairs]


def _tensors(results: Any) -> Iterator[Any]:
    """The tensors in what a network gives, which may be in lists, in tuples, and in dicts."""
    if hasattr(results, "element_size"):
        yield results
    elif isinstance(results, list | tuple | dict):
        for part in results.values() if isinstance(results, dict) else results:
            yield from _tensors(part)


def _driver() -> str:
    """The version of CUDA that the driver has."""
    from ingot.providers.cuda.driver import open_driver

    return ".".join(map(str, open_driver().version))


def _key(record: Record) -> tuple[str, int, str, str]:
    return record["network"], record["batch"], record["precision"], record["way"]


def _keep(records: list[Record], path: Path) -> None:
    """Add records to a file, in place of those of the same network, batch, precision and way."""
    every = {_key(record): record for record in (json.loads(path.read_text()) if path.exists() else [])}
    every.update((_key(record), record) for record in records)
    lines = ",\n".join(json.dumps(every[key]) for key in sorted(every))
    path.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
