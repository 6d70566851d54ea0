"""Architectures of transformers, small and random: converted, verified, and run by onnxruntime at opset 18.

`python -m benchmarks.torch_models [NAME ...]` writes benchmarks/results/torch_models.md, or prints the rows.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
import transformers as tf
from torch.utils import _pytree as pytree

import ingot
from benchmarks.torch_model_cases import MODELS, Case
from benchmarks.torch_model_more import MORE
from ingot.convert import Request, converted

RESULTS = Path(__file__).parent / "results" / "torch_models.md"
OPSET = 18
__all__ = ["MODELS", "MORE", "Case", "row"]


def row(name: str) -> str:
    """A line of the table: what verification and onnxruntime say."""
    import onnxruntime

    case = {**MODELS, **MORE}[name]()
    started = time.perf_counter()
    made, report = converted(case.module, case.inputs, Request(dynamic_axes=case.axes, opset_version=OPSET))
    seconds = time.perf_counter() - started
    assert report is not None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(ingot.encode(made), options, providers=["CPUExecutionProvider"])
    found = session.run(None, {each.name: case.inputs[each.name].numpy() for each in session.get_inputs()})
    with torch.no_grad():
        wanted = [leaf for leaf in pytree.tree_leaves(case.module(**case.inputs)) if isinstance(leaf, torch.Tensor)]
    apart = max(float(np.abs(one - other.numpy()).max()) for one, other in zip(found, wanted, strict=True))
    worst = max(output.absolute for output in report.outputs)
    size = max(float(other.abs().max()) for other in wanted)
    axes = ", ".join(dict.fromkeys(name for own in case.axes.values() for name in own.values()))
    nodes = sum(1 for _ in made.nodes())
    outputs = ", ".join(f"`{value.type}`" for value in made.outputs[:2])
    return f"| {name} | {axes} | {nodes} | {size:.1e} | {worst:.1e} | {apart:.1e} | {seconds:.0f} | {outputs} |"


def main() -> None:
    warnings.simplefilter("ignore")
    tf.logging.set_verbosity_error()
    rows: dict[str, str] = {}
    for name in sys.argv[1:] or [*MODELS, *MORE]:
        rows[name] = row(name)
        print(rows[name], flush=True)
    if sys.argv[1:]:
        return
    titles = [
        "| model | open axes | nodes | largest | ingot apart | onnxruntime apart | seconds | outputs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines = [
        "# PyTorch architectures, converted",
        "",
        f"Models of transformers {tf.__version__}, small and random, exported by torch {torch.__version__} with the",
        f"axes named here open, converted at opset {OPSET}, and verified: the compiled model and the original ran on",
        "the example and in two other sizes. Then the same file in onnxruntime, on the example. What lies between each",
        "and torch, at most, over all outputs, beside the largest value among them. Written by",
        "`python -m benchmarks.torch_models`.",
        "",
        *titles,
        *(rows[name] for name in MODELS),
        "",
        "Others:",
        "",
        *titles,
        *(rows[name] for name in MORE),
        "",
    ]
    RESULTS.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
