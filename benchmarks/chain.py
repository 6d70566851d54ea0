"""How long a model of many nodes takes to open, stage by stage: `python -m benchmarks.chain [NODES] [--kinds NAME...]`.

Microseconds of processor time for each node of a chain, in this process alone: LLVM works in others. `whole` has what
no stage counts, `onnxruntime` is its session of the same chain. Least of three starts, each with an empty cache.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.first_start import PARTS
from benchmarks.opening import Parts, instrumented, opener
from ingot import Session

KINDS: dict[str, tuple[str, ...]] = {
    "elementwise": ("Add", "Tanh", "Mul", "Relu"),
    "products": ("MatMul", "Add", "Relu", "Softmax"),
    "views": ("Transpose", "Relu", "Unsqueeze", "Squeeze"),
}
"""Operators that follow one another."""
SIZES: dict[str, Sequence[int | str]] = {"static": (16, 16), "dynamic": ("n", 16)}

_ARGUMENTS = {"Add": ["c"], "Mul": ["c"], "MatMul": ["w"], "Unsqueeze": ["axis"], "Squeeze": ["axis"]}
_ROUNDS = 3


def chain(operators: Sequence[str], nodes: int, sizes: Sequence[int | str]) -> onnx.ModelProto:
    """A model of operators one after another, over and over."""
    names = ["x", *(f"v{index}" for index in range(1, nodes)), "y"]
    chosen = [operators[index % len(operators)] for index in range(nodes)]
    links = [
        helper.make_node(operator, [source, *_ARGUMENTS.get(operator, [])], [target])
        for operator, source, target in zip(chosen, names, names[1:], strict=False)
    ]
    constants = [
        numpy_helper.from_array(np.full(16, 0.5, np.float32), "c"),
        numpy_helper.from_array(np.eye(16, dtype=np.float32), "w"),
        numpy_helper.from_array(np.array([0], np.int64), "axis"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(sizes)) for name in ("x", "y")]
    graph = helper.make_graph(links, "chain", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def opening(path: Path, parts: Parts) -> dict[str, float]:
    """The processor time of opening a model in ingot by stages, of all of it, and of opening it in onnxruntime."""
    parts.seconds.clear()
    start = process_time()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        os.environ["INGOT_CACHE"] = cache
        with Session(path, fallback=False):
            whole = process_time() - start
    start = process_time()
    opener("onnxruntime")(str(path))
    return {**parts.seconds, "whole": whole, "onnxruntime": process_time() - start}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chain", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("nodes", nargs="?", type=int, default=20_000)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args(arguments)
    parts = instrumented()
    columns = (*(part for part in PARTS if part not in ("import", "operators", "rest")), "whole", "onnxruntime")
    print(f"| chain of {options.nodes:,} | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chain.onnx")
        for kind in options.kinds:
            for name, sizes in SIZES.items():
                onnx.save(chain(KINDS[kind], options.nodes, sizes), path)
                rounds = [opening(path, parts) for _ in range(_ROUNDS)]
                least = (min(seconds.get(column, 0) for seconds in rounds) for column in columns)
                cells = (f"{1e6 * seconds / options.nodes:.1f}" for seconds in least)
                print(f"| {kind}, {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
