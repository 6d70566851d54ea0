"""Loading and saving against the onnx package and onnx_ir, and what importing costs."""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
from onnx import TensorProto, helper, numpy_helper

import ingot
from benchmarks.timing import duel, in_fresh_process, machine

NODES = 10_000
WEIGHTS = 100
WEIGHT_BYTES = 4_000_000


def large_file(path: Path) -> None:
    """A model of 400 MB with its weights inside."""
    rng = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for index in range(WEIGHTS):
        array = rng.standard_normal((1000, WEIGHT_BYTES // 4000), np.float32)
        weights.append(numpy_helper.from_array(array, f"w{index}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{index}"], [f"h{index}"], name=f"matmul_{index}"))
        value = f"h{index}"
    _write(path, nodes, weights, value, [])


def long_file(path: Path) -> None:
    """A graph of 10,000 nodes with names, attributes, small weights and declared types, as exporters write them."""
    nodes, weights, infos, value = [], [], [], "x"
    for index in range(NODES):
        out, name = f"layer_{index // 10}/block/value_{index}", f"/layer_{index // 10}/node_{index}"
        match index % 4:
            case 0:
                weights.append(numpy_helper.from_array(np.ones((8, 8), np.float32), f"w_{index}"))
                nodes.append(helper.make_node("MatMul", [value, f"w_{index}"], [out], name=name))
            case 1:
                nodes.append(helper.make_node("Relu", [value], [out], name=name))
            case 2:
                nodes.append(helper.make_node("Transpose", [value], [out], name=name, perm=[1, 0]))
            case _:
                nodes.append(helper.make_node("Softmax", [value], [out], name=name, axis=-1))
        infos.append(helper.make_tensor_value_info(out, TensorProto.FLOAT, ["batch", 8]))
        value = out
    _write(path, nodes, weights, value, infos[:-1])


def _write(
    path: Path,
    nodes: list[onnx.NodeProto],
    weights: list[onnx.TensorProto],
    result: str,
    infos: list[onnx.ValueInfoProto],
) -> None:
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 8]) for name in ("x", result)]
    graph = helper.make_graph(nodes, "g", types[:1], types[1:], weights, value_info=infos)
    onnx.save(helper.make_model(graph), path)


RESIDENT = """
import sys
def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024
import ingot
before = resident()
model = ingot.load(sys.argv[1] if len(sys.argv) > 1 else {path!r})
print(resident() - before)
"""
IMPORT = """
import numpy, ml_dtypes
from time import perf_counter
start = perf_counter()
import ingot
print((perf_counter() - start) * 1000)
"""


def table() -> str:
    """The figures as a page."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, long, out = folder / "large.onnx", folder / "long.onnx", folder / "out.onnx"
        large_file(large)
        long_file(long)
        size = large.stat().st_size / 1e6
        load = duel(lambda: ingot.load(large), lambda: onnx.load(large), 7)
        rows.append(
            (
                f"load {size:.0f} MB, weights inside",
                f"{load.ours * 1e3:.2f} ms",
                f"onnx.load {load.theirs * 1e3:.0f} ms",
                f"{1 / load.ratio:.0f}× faster",
                "at least 20×",
            )
        )
        if sys.platform == "linux":
            grown = in_fresh_process(RESIDENT.format(path=str(large)), 3)
            rows.append(("resident memory after that load", f"+{grown:.1f} MB", "", "", "less than 20 MB"))
        read = duel(lambda: ingot.load(long), lambda: onnx_ir.from_proto(onnx.load(long)))
        rows.append(
            (
                f"load {NODES:,} nodes for editing",
                f"{read.ours * 1e3:.0f} ms",
                f"onnx.load + onnx_ir.from_proto {read.theirs * 1e3:.0f} ms",
                f"{read.ratio:.2f}",
                "at most 2",
            )
        )
        ours, theirs = ingot.load(long), onnx_ir.from_proto(onnx.load(long))
        write = duel(
            lambda: ingot.save(ours, out, durable=False), lambda: onnx.save(onnx_ir.to_proto(theirs), folder / "o.onnx")
        )
        rows.append(
            (
                f"save {NODES:,} nodes after editing",
                f"{write.ours * 1e3:.0f} ms",
                f"onnx_ir.to_proto + onnx.save {write.theirs * 1e3:.0f} ms",
                f"{write.ratio:.2f}",
                "at most 2",
            )
        )
        durable = duel(lambda: ingot.save(ours, out), lambda: onnx.save(onnx_ir.to_proto(theirs), folder / "o.onnx"))
        rows.append(
            (
                "the same, waiting for the disk",
                f"{durable.ours * 1e3:.0f} ms",
                f"which they do not {durable.theirs * 1e3:.0f} ms",
                f"{durable.ratio:.2f}",
                "",
            )
        )
    cost = in_fresh_process(IMPORT, 15)
    rows.append(("import ingot, numpy and ml_dtypes imported", f"{cost:.0f} ms", "", "", "at most 80 ms"))
    head = [("what", "ingot", "peer", "ratio", "wanted"), ("---",) * 5]
    lines = ["| " + " | ".join(row) + " |" for row in head + rows]
    peers = ", ".join(f"{name} {version(name)}" for name in ("onnx", "onnx-ir", "numpy"))
    return "\n".join(
        [
            "# Format",
            "",
            f"{machine()}; {peers}. Medians; ours and theirs take turns in one run. `python -m benchmarks format`",
            "",
            *lines,
            "",
        ]
    )
