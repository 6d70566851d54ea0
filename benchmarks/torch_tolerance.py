"""How far converted architectures are from torch, and both from the truth: what a tolerance must allow.

`python -m benchmarks.torch_tolerance [NAME ...]` writes benchmarks/results/torch_tolerance.md, or prints the rows.
"""

from __future__ import annotations

import copy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as tf
from torch.utils import _pytree as pytree

from benchmarks.torch_models import MODELS, Case
from ingot.convert import Request
from ingot.convert.torch import convert_torch
from ingot.errors import IngotError
from ingot.session import Session

RESULTS = Path(__file__).parent / "results" / "torch_tolerance.md"
TYPES = (torch.float32, torch.float16, torch.bfloat16)
RELATIVE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""What is allowed of each value; the rest is what the table shows."""


def main() -> None:
    warnings.simplefilter("ignore")
    tf.logging.set_verbosity_error()
    lines = []
    for name in sys.argv[1:] or MODELS:
        case = MODELS[name]()
        for dtype in TYPES:
            lines.append(row(name, case, dtype))
            print(lines[-1], flush=True)
    if sys.argv[1:]:
        return
    RESULTS.write_text(page(lines))


def row(name: str, case: Case, dtype: Any) -> str:
    label = f"| {name} | {str(dtype).removeprefix('torch.')} |"
    module = copy.deepcopy(case.module).to(dtype)
    try:
        inputs = converted_to(case.inputs, dtype)
        source = convert_torch(module, inputs, Request())
        found = Session(source.model, providers=("reference",)).run(None, source.examples[0])
        wanted = source.original(source.examples[0])
    except (IngotError, RuntimeError) as error:
        return f"{label} {str(error).splitlines()[0][:60]} | | | |"
    truth = floats(copy.deepcopy(module).double()(**converted_to(inputs, torch.float64)))
    ours = [np.asarray(each) for each in found if "float" in str(np.asarray(each).dtype)]
    theirs = [np.asarray(each) for each in wanted if "float" in str(np.asarray(each).dtype)]
    largest = max(float(np.abs(each).max(initial=0)) for each in truth)
    pairs = ((ours, theirs), (ours, truth), (theirs, truth))
    needed = " | ".join(f"{max(map(least(dtype), *pair)):.1e}" for pair in pairs)
    return f"{label} {largest:.1e} | {needed} |"


def converted_to(inputs: dict[str, Any], dtype: Any) -> dict[str, Any]:
    return {
        key: each.to(dtype) if isinstance(each, torch.Tensor) and each.is_floating_point() else each
        for key, each in inputs.items()
    }


def floats(result: Any) -> list[Any]:
    leaves = [leaf.detach() for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    return [leaf.numpy() for leaf in leaves if leaf.is_floating_point()]


def least(dtype: Any) -> Any:
    """The least tolerance, as a part of the largest value or of one, that lets all elements pass."""

    def needed(one: Any, other: Any) -> float:
        a, b = np.asarray(other, np.float64), np.asarray(one, np.float64)
        apart = np.abs(a - b) - RELATIVE[dtype] * np.abs(a)
        finite = np.isfinite(apart)
        largest = np.abs(a[np.isfinite(a)]).max(initial=1.0)
        return float(np.where(finite, apart, 0).max(initial=0.0) / largest)

    return needed


def page(lines: list[str]) -> str:
    allowed = ", ".join(f"{value:g} for {str(dtype).removeprefix('torch.')}" for dtype, value in RELATIVE.items())
    return "\n".join(
        [
            "# How far converted architectures are from torch",
            "",
            "The models of [torch_models.md](torch_models.md), run by the reference and by torch in the same element",
            f"type, and by torch in float64 as the truth. A relative difference of {allowed} is allowed of each value;",
            "the table shows what is needed beside it, as a part of the largest value of the output, or of one if that",
            "is larger. Written by `python -m benchmarks.torch_tolerance`.",
            "",
            "| model | type | largest | ingot from torch | ingot from the truth | torch from the truth |",
            "|---|---|---|---|---|---|",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    main()
