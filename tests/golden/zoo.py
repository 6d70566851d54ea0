"""The graphs of the zoo without their weights, and the digests of the kernels that they become.

    python tests/golden/zoo.py strip build/zoo     writes the graphs, from the files of `python -m benchmarks.zoo`
    python tests/golden/zoo.py record [NAME...]    writes the digests

Learned weights are left out of the graphs and filled in again with a fixed pattern: no kernel depends on them, but for
single numbers, which are kept. A change that is meant to leave kernels alone leaves the digests alone; one that is not
says why, and records them anew.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot.codegen.elf import LinkedCode
from ingot.codegen.executable_memory import Code
from ingot.codegen.llvm.kernel import emit
from ingot.codegen.llvm.templates import PendingTemplate, Template
from ingot.compile import Options, compile_model
from ingot.dtypes import Array, DType
from ingot.format import decode, encode
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.loops.ir import Buffer, Kernel, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.verify import verify_kernel
from ingot.ops.catalog import standard
from ingot.prepare import prepare
from ingot.providers.cpu import Cpu
from ingot.providers.cpu.code import EmittedKernel
from ingot.runtime.limits import RunLimits
from ingot.schedule.schedule import Scheduled
from ingot.schedule.target import Target

FOLDER = Path(__file__).parent
GRAPHS = FOLDER / "graphs"
DIGESTS = FOLDER / "digests"
NAMES = sorted(path.name.removesuffix(".onnx.xz") for path in GRAPHS.glob("*.onnx.xz"))

TARGETS = {
    "v4": Target("x86_64-unknown-linux-gnu", "znver4", "", 64, 32),
    "v3": Target("x86_64-unknown-linux-gnu", "haswell", "", 32, 16),
}

_KEY = "left out"
_FEW = 512
"""Elements up to which weights are kept."""


def digests_of(name: str) -> list[str]:
    """A line for each kernel of a model: the target, its name, and the digest of its template in LLVM."""
    lines = []
    for short, target in TARGETS.items():
        for kernel, text in templates_of(graph_of(name), target):
            lines.append(f"{short} {kernel.name} {hashlib.sha256(text.encode()).hexdigest()[:16]}")
    return lines


def templates_of(model: Model, target: Target) -> Iterator[tuple[Kernel, str]]:
    """Each kernel of a model as a plan has it, and its template in LLVM."""
    recorder = Recorder(target)
    compile_model(prepare(model, standard(), RunLimits()), recorder, Options(standard(), threads=2))
    yield from recorder.seen


class Recorder(Cpu):
    """A provider that emits kernels, and notes them, instead of compiling them."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.seen: list[tuple[Kernel, str]] = []

    def emit(self, scheduled: Scheduled, _: bool, /) -> dict[Kernel, Any]:
        return {kernel: self._emit(kernel) for kernel in kernels_in(scheduled.steps)}

    def _emit(self, kernel: Kernel) -> EmittedKernel:
        parametrised = parametrise(kernel)
        verify_kernel(parametrised.kernel)
        emitted = emit(parametrised.kernel, self.target)
        self.seen.append((kernel, emitted.text))
        code = Code({"kernel": len(self.seen)}, None, LinkedCode(b"", {"kernel": 0}))
        template = PendingTemplate()
        template.settle(Template(code, emitted.sizes))
        return EmittedKernel(kernel, template, parametrised.sizes)

    def hold(self, scheduled: Scheduled) -> dict[Buffer, Array]:
        return dict.fromkeys(scheduled.constants, np.zeros(64, np.uint8))


def graph_of(name: str) -> Model:
    """A model of the zoo, with a pattern for its weights."""
    model = decode(lzma.decompress((GRAPHS / f"{name}.onnx.xz").read_bytes()))
    missing = json.loads(model.metadata.pop(_KEY))
    for place, constant, put in _constants(model):
        if place in missing:
            dtype, shape = missing[place]
            put(Tensor(_pattern(np.dtype(dtype), shape), name=constant.name))
    return model


def _pattern(dtype: np.dtype[Any], shape: list[int]) -> Array:
    return np.resize(np.linspace(0.1, 0.9, 13), shape).astype(dtype)


def _constants(model: Model) -> Iterator[tuple[str, Tensor, Callable[[Tensor], None]]]:
    """The constants of a model, each with a name of its own, and how it is replaced."""
    for number, graph in enumerate(model.graphs()):
        for name, value in list(graph.initializers.items()):
            if isinstance(value.constant, Tensor):
                yield f"{number} {name}", value.constant, partial(setattr, value, "constant")
        for node in list(graph):
            for name, attribute in list(node.attributes.items()):
                if isinstance(attribute.value, Tensor):
                    put = partial(node.attributes.__setitem__, name)
                    yield f"{number} {node.outputs[0].name} {name}", attribute.value, put


def strip(source: Path) -> None:
    """Write the graphs of the models in a folder."""
    GRAPHS.mkdir(exist_ok=True)
    for path in sorted(source.glob("*.onnx")):
        model = ingot.load(path)
        missing: dict[str, tuple[str, tuple[int, ...]]] = {}
        for place, constant, put in _constants(model):
            if constant.dtype in (DType.FLOAT32, DType.FLOAT64, DType.FLOAT16) and np.prod(constant.shape) > _FEW:
                missing[place] = (str(constant.dtype.numpy), constant.shape)
                put(Tensor(np.zeros(1, constant.dtype.numpy), name=constant.name))
        for graph in model.graphs():
            graph.doc_string = ""
            for node in graph:
                node.doc_string = ""
                node.metadata.clear()
            for value in graph.values():
                value.metadata.clear()
        model.metadata.clear()
        model.metadata[_KEY] = json.dumps(missing)
        (GRAPHS / f"{path.stem}.onnx.xz").write_bytes(lzma.compress(encode(model), preset=9))


def main(arguments: list[str]) -> None:
    match arguments:
        case ["strip", folder]:
            strip(Path(folder))
        case ["record", *names]:
            DIGESTS.mkdir(exist_ok=True)
            for name in names or NAMES:
                (DIGESTS / f"{name}.txt").write_text("\n".join(digests_of(name)) + "\n", "utf-8")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
