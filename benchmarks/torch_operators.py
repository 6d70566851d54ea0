"""Which of PyTorch's core operators convert: torch's own test inputs, converted, run by the reference, and compared.

`python -m benchmarks.torch_operators [--samples N] [--only NAME ...]` writes benchmarks/results/torch_operators.md.
A sample counts for every operator that torch.export and the decompositions leave in its program.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from benchmarks.torch_operator_cases import CASES
from ingot.convert.request import Request
from ingot.convert.source import Source
from ingot.convert.torch import convert_torch
from ingot.convert.torch.rule import rules
from ingot.convert.verify import compare
from ingot.errors import ConvertError, IngotError
from ingot.session import Session

RESULTS = Path(__file__).parent / "results" / "torch_operators.md"
DTYPES = (torch.float32, torch.int64, torch.bool)
RANDOM = {"rand", "randn", "randperm", "native_dropout", "bernoulli", "randint", "multinomial", "uniform", "normal"}
"""Operators whose results are drawn: their types and shapes are compared."""
UNWRITTEN = {"empty", "empty_strided", "empty_like", "new_empty", "empty_permuted", "new_empty_strided"}
"""Operators whose results hold whatever was in memory."""


FUNCTIONAL = {"aten._native_batch_norm_legit.default": "aten._native_batch_norm_legit_functional.default"}
"""Operators that change tensors in place, and what export has instead."""


@dataclass
class Tally:
    """What became of the samples in which an operator occurs."""

    equal: int = 0
    refused: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    wrong: list[str] = field(default_factory=list)


class Call(torch.nn.Module):  # type: ignore[misc]
    """A function with its arguments that are no tensors."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.fn = fn
        leaves, self.spec = pytree.tree_flatten((args, kwargs))
        self.fixed = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def forward(self, *tensors: Any) -> Any:
        leaves = list(self.fixed)
        for at, tensor in zip(self.places, tensors, strict=True):
            leaves[at] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.fn(*args, **kwargs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2, help="samples of an operator and element type")
    parser.add_argument("--core", action="store_true", help="only test cases named like a core operator, and our own")
    parser.add_argument("--only", nargs="*", help="only test cases whose name contains one of these")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    tallies: dict[str, Tally] = defaultdict(Tally)
    unexported = 0
    for at, (name, module, tensors) in enumerate(cases(options)):
        unexported += not tried(name, module, tensors, tallies)
        if at % 50 == 49 and not options.only:
            print(f"{at + 1} samples, at {name}", flush=True)
            RESULTS.write_text(page(tallies, unexported))
    if options.only:
        print(page(tallies, unexported))
    else:
        RESULTS.write_text(page(tallies, unexported))


def cases(options: Any) -> Iterator[tuple[str, Call, list[Any]]]:
    """Samples with their names: those of core operators first."""
    only = options.only
    for name, fn, args in CASES:
        if only and not any(part in name for part in only):
            continue
        yield name, Call(fn, args, {}), [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    core = {target.split(".")[1] for target in core_operators()}
    for info in sorted(op_db, key=lambda info: info.aten_name not in core):
        if only and not any(part in info.name for part in only):
            continue
        if options.core and info.aten_name not in core:
            break
        for dtype in DTYPES:
            if dtype not in info.supported_dtypes("cpu"):
                continue
            try:
                found = list(islice(info.sample_inputs("cpu", dtype, requires_grad=False), options.samples))
            except Exception:
                continue
            for at, sample in enumerate(found):
                module = Call(info.op, (sample.input, *sample.args), dict(sample.kwargs))
                leaves = pytree.tree_leaves(((sample.input, *sample.args), dict(sample.kwargs)))
                yield (
                    f"{info.formatted_name}, {dtype}, sample {at}",
                    module,
                    [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)],
                )


def tried(name: str, module: Call, tensors: list[Any], tallies: dict[str, Tally]) -> bool:
    """Note what became of a sample; False if torch itself could not export it."""
    used: set[str] = set()

    def recorded(target: str, rule: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: Any, **kwargs: Any) -> Any:
            used.add(target)
            return rule(*args, **kwargs)

        return write

    table = {target: recorded(target, rule) for target, rule in rules().items()}
    try:
        source = convert_torch(module, tuple(tensors), Request(options={"custom_translation_table": table}))
        problem = difference(source, used)
    except ConvertError as error:
        if "torch.export cannot" in error.message:
            return False
        for line in error.where:
            target, _, reason = line.partition(": ")
            tallies[target].refused[reason.partition(" (in")[0]] += 1
        return True
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if problem is not None:
        print(f"wrong: {name}: {problem} ({', '.join(sorted(used))})", flush=True)
    for target in used:
        if problem is None:
            tallies[target].equal += 1
        else:
            tallies[target].wrong.append(f"{name}: {problem}")
    return True


def difference(source: Source, used: set[str]) -> str | None:
    """How the model differs from the original; None if it does not."""
    words = {target.split(".")[1] for target in used if target.startswith("aten.")}
    feeds = source.examples[0]
    try:
        found = Session(source.model, providers=("reference",)).run(None, feeds)
    except IngotError as error:
        return f"{type(error).__name__}: {error.message}"
    names = [value.name for value in source.model.outputs]
    expected = source.original(feeds)
    if words <= {"topk", "sort"} and len(found) == 2:
        found, expected = found[:1], expected[:1]  # among equal values torch promises no order of their places
        names = names[:1]
    for name, wanted, got in zip(names, expected, found, strict=True):
        if words & (RANDOM | UNWRITTEN):
            if np.shape(got) != np.shape(wanted):
                return f"'{name}' has shape {np.shape(got)}, expected {np.shape(wanted)}"
            continue
        if np.asarray(got).dtype != np.asarray(wanted).dtype:
            return f"'{name}' is {np.asarray(got).dtype}, expected {np.asarray(wanted).dtype}"
        _, problem = compare(name, wanted, got, source.tolerance)
        if problem is not None:
            return f"'{name}': {problem}"
    return None


def core_operators() -> list[str]:
    """The overloads that torch tags as core ATen."""
    packets = {name: getattr(torch.ops.aten, name) for name in dir(torch.ops.aten)}
    return sorted(
        f"aten.{name}.{overload}"
        for name, packet in packets.items()
        for overload in (packet.overloads() if hasattr(packet, "overloads") else ())
        if torch.Tag.core in getattr(packet, overload).tags and overload != "out"
    )


def page(tallies: dict[str, Tally], unexported: int) -> str:
    core = core_operators()
    for target, name in FUNCTIONAL.items():
        if name in tallies:
            tallies[target] = tallies.pop(name)
    verdicts = {target: verdict(tallies.get(target)) for target in core}
    count = {
        kind: sum(found == kind for found in verdicts.values()) for kind in ("equal", "refused", "wrong", "no sample")
    }
    others = sorted(target for target in tallies if target not in verdicts)
    equal = 100 * count["equal"] / len(core)
    lines = [
        "# PyTorch's core operators, converted",
        "",
        f"torch {torch.__version__}: its own test inputs (OpInfo) for float32, int64 and bool, exported, decomposed,",
        "converted, run by the reference and compared with torch, and calls of our own for operators that those do not",
        "reach. Written by `python -m benchmarks.torch_operators --core`: inputs named like core operators.",
        "A sample counts for every operator left in its program. An operator is equal if all its samples that convert",
        "are, and some do; refused if none converts; samples that one operator's rule refuses are listed beside it.",
        "",
        f"Of {len(core)} core ATen overloads {count['equal']} are equal ({equal:.1f} %), {count['refused']} refused,"
        f" {count['wrong']} wrong, {count['no sample']} without a sample. torch did not export {unexported:,} samples.",
        "",
        "| operator | equal | refused | wrong | |",
        "|---|---|---|---|---|",
        *(row(target, tallies.get(target, Tally()), verdicts[target]) for target in core),
        "",
        "Others that survive decomposition, or that have a rule because ONNX says them in one operator:",
        "",
        "| operator | equal | refused | wrong | |",
        "|---|---|---|---|---|",
        *(row(target, tallies[target], verdict(tallies[target])) for target in others),
        "",
    ]
    return "\n".join(lines)


def verdict(tally: Tally | None) -> str:
    if tally is None:
        return "no sample"
    if tally.wrong:
        return "wrong"
    return "equal" if tally.equal else "refused"


def row(target: str, tally: Tally, found: str) -> str:
    reasons = "; ".join(f"{reason} ({count})" for reason, count in sorted(tally.refused.items()))
    refused = sum(tally.refused.values())
    return (
        f"| `{target}` | {tally.equal} | {refused} | {len(tally.wrong)} | {found}{', ' + reasons if reasons else ''} |"
    )


if __name__ == "__main__":
    main()
