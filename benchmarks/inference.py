"""Types and sizes that ingot and the onnx package find, on the standard's models and on exported ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks import exports
from benchmarks.found import Comparison
from benchmarks.verified import RUNS, verified
from conformance.cases import node_cases
from conformance.old_wheels import cases, fetch
from models import real_models, wheel_models

WHEELS = Path(__file__).parent.parent / "build" / "wheels"

FALSE: dict[str, str] = {
    "test_loop13_seq: seq_res: 0 axes": "the elements that the loop adds have one axis",
    "test_affine_grid_3d_expanded: 15.then_branch/": "in a branch not taken, a Split of 5 into 4, the last of size −1",
    "test_affine_grid_3d_align_corners_expanded: 15.then_branch/": "the same",
}
"""What onnx says that is not so."""


def table(exported: Path = exports.FOLDER, wheels: Path = WHEELS) -> str:
    """The counts as a page; the models are made and fetched where `exported` and `wheels` do not hold them."""
    peers = ", ".join(f"{name} {version(name)}" for name in ("onnx", "numpy"))
    lines = [
        "# Inference",
        "",
        f"`ingot.infer` and `onnx.shape_inference.infer_shapes(data_prop=True)`, {peers}, on models whose declared",
        "types are taken off but for those of the inputs. A value is what a node computes, in subgraphs too. Its sizes",
        "are known if each is a number or an expression of the sizes of the inputs; named if some have a name that the",
        "tool made up, so that equal ones can be told. −1, which onnx carries on from files that have it in place of",
        "an unknown size, is not a size. `python -m benchmarks inference`",
        "",
        "## The standard's cases, and models in packages",
        "",
        *_compared(_collections(wheels)),
        "",
        "What onnx says and ingot does not:",
        "",
        *(f"- not so: `{what.rstrip('/')}`: {why}" for what, why in FALSE.items()),
        "",
        "## Exported models",
        "",
        *_exported(exported),
        "",
    ]
    return "\n".join(lines)


def _collections(wheels: Path) -> Iterator[tuple[str, Comparison]]:
    found = Comparison()
    for name, case in node_cases().items():
        found.add(name, case.model)
    yield "node cases of onnx " + version("onnx"), found
    found = Comparison()
    for path in (*wheel_models(), *real_models()):
        found.add(path.name, onnx.load(path))
    yield "models in packages", found
    for wheel in _wheels(wheels):
        found = Comparison()
        for name, files in cases(wheel):
            found.add(name, onnx.load_from_string(files["model.onnx"]))
        yield f"wheel of onnx {wheel.name.split('-')[1]}", found


def _wheels(folder: Path) -> list[Path]:
    """The old wheels in order of version, fetched if there are none; none, with a word, where that cannot be."""
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            wheels = fetch(folder)
        except subprocess.CalledProcessError:
            print("the old wheels cannot be fetched, and are left out", file=sys.stderr)
    return sorted(wheels, key=lambda wheel: [int(part) for part in wheel.name.split("-")[1].split(".")])


def _compared(collections: Iterable[tuple[str, Comparison]]) -> list[str]:
    head = ("models", "number", "values", "tool", "type", "rank", "sizes known", "named", "found by onnx only")
    rows: list[tuple[str, ...]] = [head, ("---",) * len(head)]
    for name, found in collections:
        missed = [what for what in found.missed if not any(false in what for false in FALSE)]
        for what in missed:
            print(f"{name}: {what}", file=sys.stderr)
        for tool, counts in (("ingot", found.ours), ("onnx", found.theirs)):
            first = tool == "ingot"
            rows.append(
                (
                    name if first else "",
                    f"{found.models:,}" if first else "",
                    f"{found.values:,}" if first else "",
                    tool,
                    *(f"{n:,}" for n in (counts.types, counts.ranks, counts.sizes, counts.named)),
                    _only(len(missed), len(found.missed) - len(missed)) if first else "",
                )
            )
    return ["| " + " | ".join(row) + " |" for row in rows]


def _only(missed: int, false: int) -> str:
    return f"{missed}" if not false else f"{missed}, and {false} not so"


def _exported(folder: Path) -> list[str]:
    missing = [name for name in exports.EXPORTS if not (folder / f"{name}.onnx").exists()]
    why = exports.missing() if missing else None
    if why is not None:
        print(f"left out, {why}: {', '.join(missing)}", file=sys.stderr)
    head = ("model", "values", "tool", "type", "rank", "sizes known", "named", "found by onnx only", "true in 2 runs")
    rows: list[tuple[str, ...]] = [head, ("---",) * len(head)]
    data_dependent: list[str] = []
    for name in exports.EXPORTS:
        if why is not None and name in missing:
            rows.append((name, why, *[""] * 7))
            continue
        path = exports.export(name, folder)
        model, found = onnx.load(path), Comparison()
        found.add(name, model)
        held, wrong, made = verified(model)
        data_dependent += [f"{name}: {text}" for text in made]
        for what in (*found.missed, *wrong):
            print(f"{name}: {what}", file=sys.stderr)
        for tool, counts in (("ingot", found.ours), ("onnx", found.theirs)):
            first = tool == "ingot"
            rows.append(
                (
                    name if first else "",
                    f"{found.values:,}" if first else "",
                    tool,
                    *(f"{n:,}" for n in (counts.types, counts.ranks, counts.sizes, counts.named)),
                    str(len(found.missed)) if first else "",
                    f"{held:,} of {held + len(wrong):,}" if first else "",
                )
            )
    sizes = "; ".join(", ".join(f"{name} {size}" for name, size in run.items()) for run in RUNS)
    return [
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        "Randomly initialised `transformers`, their sizes left open, by torch's exporter (`benchmarks/exports.py`).",
        f"The sizes that ingot finds were held against those of every value in a run of the model with {sizes}.",
        "",
        *(f"- a name that ingot made up, for a size that depends on what flows: {text}" for text in data_dependent),
    ]
