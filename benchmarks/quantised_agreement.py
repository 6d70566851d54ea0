"""Models of the zoo, quantised by onnxruntime's own quantiser, run by ingot and by onnxruntime: how far apart, and why.

    python -m benchmarks.quantised_agreement [--zoo FOLDER] [NAME...]

Outputs are compared in steps of their own scale, or, where they have none, in those of the last codes that they follow
from. Then every layer is compared by itself: ingot computes the codes of each QuantizeLinear from those codes that
onnxruntime had before it. Two engines that sum in other orders round a number halfway between two codes to either of
them; how near to halfway those are that differ shows whether it is anything else. A Softmax on codes is one: there
onnxruntime adds up integers from a table of exponentials, and its results are counted by themselves. What `ingot
compare --bisect` says of the first difference is printed for models that are more than a step apart. Writes
`benchmarks/results/quantised_agreement.md`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ingot
from benchmarks import zoo
from benchmarks.quantised_models import feeds_of, static
from ingot.cli.engine_runs import run_on
from ingot.cli.first_difference import describe_first_difference
from ingot.convert.source import Tolerance
from ingot.dataclass import dataclass
from ingot.infer import infer
from ingot.ir import Model, Node, Value

PAGE = Path(__file__).parent / "results" / "quantised_agreement.md"
NAMES = ("resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "unet", "vit_base", "distilbert")


@dataclass(frozen=True, slots=True)
class Layers:
    """Codes of every QuantizeLinear, each computed from the peer's codes before it."""

    codes: int
    differing: int
    steps: int
    """The largest difference."""
    from_tie: float
    """How far from halfway between two codes the numbers are whose codes differ, at most, in steps."""
    softmax: int
    """Codes of Softmax that differ, which are not among the others."""


def rounded_values(model: Model) -> list[Node]:
    """The nodes that round computed values to codes."""
    return [
        node
        for node in model.graph
        if node.applies("QuantizeLinear") and node.inputs[0] is not None and node.inputs[0].constant is None
    ]


def layer_by_layer(model: Model, feeds: Mapping[str, Any]) -> Layers:
    """How ingot's codes differ from onnxruntime's where both begin with the same."""
    names = [node.output.name for node in rounded_values(model)]
    theirs = dict(zip(names, run_on("onnxruntime", model, names, feeds), strict=True))
    cut = model.copy()
    infer(cut)
    taken, rounded = {}, rounded_values(cut)
    for node in rounded:
        name = node.output.name
        entering = Value(cut.graph.fresh_name(f"{name}_given"), node.output.type)
        cut.graph.inputs.append(entering)
        node.output.replace_uses(entering)
        taken[entering.name] = theirs[name]
    floats = [node.inputs[0] for node in rounded]
    needed = dict.fromkeys(value.name for value in (*floats, *(node.output for node in rounded)) if value is not None)
    results = dict(zip(needed, run_on("cpu", cut, list(needed), {**feeds, **taken}), strict=True))
    total = differing = steps = softmax = 0
    from_tie = 0.0
    for node in rounded:
        value = node.inputs[0]
        assert value is not None
        ours, peer = results[node.output.name].astype(np.int64), theirs[node.output.name].astype(np.int64)
        apart = np.abs(ours - peer)
        wrong = apart > 0
        if value.producer is not None and value.producer.applies("Softmax"):
            softmax += int(wrong.sum())
            continue
        total, differing = total + apart.size, differing + int(wrong.sum())
        steps = max(steps, int(apart.max(initial=0)))
        if wrong.any():
            exact = np.broadcast_to(results[value.name] / _spread(node, ours.ndim), ours.shape)[wrong]
            fraction = np.abs(exact - np.floor(exact) - 0.5)
            from_tie = max(from_tie, float(fraction.max()))
    return Layers(total, differing, steps, from_tie, softmax)


def outputs_in_steps(model: Model, feeds: Mapping[str, Any]) -> float:
    """The largest difference of outputs, in steps of the scale of the codes that each comes from."""
    names = model.graph.outputs.names
    ours, theirs = (run_on(engine, model, names, feeds) for engine in ("cpu", "onnxruntime"))
    largest = 0.0
    for value, one, other in zip(model.graph.outputs, ours, theirs, strict=True):
        node = value.producer
        step = None
        while node is not None and step is None:
            if node.applies("DequantizeLinear"):
                step = float(np.max(_constant(node.inputs[1])))
            node = node.inputs[0].producer if node.inputs and node.inputs[0] is not None else None
        largest = max(largest, float(np.abs(one.astype(np.float64) - other).max(initial=0.0)) / (step or 1.0))
    return largest


def bisected(model: Model, feeds: Mapping[str, Any]) -> list[str]:
    """What `ingot compare --bisect` says of the codes of both engines."""
    names = [node.output.name for node in rounded_values(model)]
    sides = [dict(zip(names, run_on(engine, model, names, feeds), strict=True)) for engine in ("cpu", "onnxruntime")]
    return describe_first_difference(model.graph, names, sides[0], sides[1], Tolerance(0.0, 0.0))


def quantised(path: Path, folder: Path, shapes: Mapping[str, str] | None = None) -> tuple[Model, dict[str, Any]]:
    """What onnxruntime's quantiser makes of a file, and inputs of these shapes for it."""
    return ingot.load(static(path, folder / "small.onnx", shapes)), feeds_of(path, 0, shapes)


def _constant(value: Value | None) -> Any:
    assert value is not None
    assert isinstance(value.constant, ingot.Tensor)
    return value.constant.numpy()


def _spread(node: Node, rank: int) -> Any:
    scale = _constant(node.inputs[1])
    axis = int(node.get("axis", 1)) % rank
    return scale.reshape([-1 if place == axis else 1 for place in range(rank)]) if scale.size > 1 else scale.reshape(())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quantised_agreement")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of the zoo [{' '.join(NAMES)}]")
    parser.add_argument("--zoo", type=Path, default=zoo.FOLDER, help="where the models are kept")
    options = parser.parse_args(arguments)
    lines = [
        "| model | outputs, steps apart | codes | differ, layer by layer | by steps | from a tie, steps | of Softmax |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    notes = []
    for name in options.names or NAMES:
        with TemporaryDirectory() as folder:
            model, feeds = quantised(zoo.write(name, options.zoo), Path(folder))
        apart, layers = outputs_in_steps(model, feeds), layer_by_layer(model, feeds)
        lines.append(
            f"| {name} | {apart:.2f} | {layers.codes:,} | {layers.differing:,} | {layers.steps} "
            f"| {layers.from_tie:.1e} | {layers.softmax:,} |"
        )
        print(lines[-1], flush=True)
        if apart > 1.001:
            notes += [f"{name}:", *(f"- {line}" for line in bisected(model, feeds)), ""]
    text = [
        "# Quantised models on ingot and onnxruntime",
        "",
        "The zoo, quantised by onnxruntime's quantiser (QDQ, uint8 activations, scales of channels), on random inputs.",
        "`python -m benchmarks.quantised_agreement` writes this page, and says how it measures. A Softmax on codes",
        "adds up integers from a table of exponentials in onnxruntime, which is not what the standard has; its codes",
        "are counted by themselves, and what the bisection says of models with one begins there.",
        "",
        *lines,
        "",
        *notes,
    ]
    PAGE.write_text("\n".join(text).rstrip() + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
