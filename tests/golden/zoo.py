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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import ingot
from ingot import compile as stages
from ingot import prim
from ingot.codegen.elf import LinkedCode
from ingot.codegen.executable_memory import Code
from ingot.codegen.llvm.kernel import emit
from ingot.codegen.llvm.templates import Template
from ingot.compile import Options, compile_model, prepare
from ingot.dtypes import Array, DType
from ingot.format import decode, encode
from ingot.fuse.build import Fused
from ingot.fuse.fuse import fuse
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.loops.ir import Kernel, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.verify import verify_kernel
from ingot.ops.catalog import standard
from ingot.prim.verify import verify
from ingot.providers.cpu import Cpu, plan
from ingot.runtime.limits import RunLimits
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
    """Each kernel of a model as a plan has it, verified, and its template in LLVM."""
    seen: list[tuple[Kernel, str]] = []

    def begun(kernel: Kernel, target: Target) -> tuple[Future[Template], dict[str, object]]:
        general = parametrise(kernel)
        verify_kernel(kernel)
        verify_kernel(general.kernel)
        emitted = emit(general.kernel, target)
        seen.append((kernel, emitted.text))
        done: Future[Template] = Future()
        done.set_result(Template(Code({"kernel": len(seen)}, None, LinkedCode(b"", {"kernel": 0})), emitted.sizes))
        return done, dict(general.sizes)

    def unpacked(*_: object) -> Array:
        return np.zeros(64, np.uint8)

    def fused(roots: Sequence[prim.Tensor], name: str) -> Fused:
        verify(roots)
        result = fuse(roots, name)
        for kernel in kernels_in(result.steps):
            verify_kernel(kernel)
        return result

    typed = prepare(model, standard(), RunLimits())
    with (
        patch.object(stages, "fuse", fused),
        patch.object(plan, "_begun", begun),
        patch.object(plan, "packed", unpacked),
        patch.object(plan, "begin_thread_pool", lambda _: None),
    ):
        compile_model(typed, Cpu(target), Options(standard(), threads=2))
    yield from seen


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
