"""The page of the walk over PyTorch's operators: what became of each operator's samples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import torch

FUNCTIONAL = {"aten._native_batch_norm_legit.default": "aten._native_batch_norm_legit_functional.default"}
"""Operators that change tensors in place, and what export has instead."""
MOST_REASONS = 3


@dataclass(frozen=True)
class Outcome:
    """What became of a sample: `equal`, `refused`, `wrong`, `not exported` by torch, `not reached` in time."""

    sample: str
    verdict: str
    used: list[str] = field(default_factory=list)
    """The operators in its program."""
    refused: dict[str, str] = field(default_factory=dict)
    """By operator, why its rule refused."""
    problem: str = ""
    distances: list[float] = field(default_factory=list)
    """Of the model to torch, of the model to torch in float64, of torch to that."""


@dataclass
class Tally:
    """What became of the samples in which an operator occurs."""

    equal: int = 0
    opened: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        if self.wrong:
            return "wrong"
        return "equal" if self.equal else "refused" if self.refused else "no sample"


@cache
def core_operators() -> list[str]:
    """The overloads that torch tags as core ATen."""
    names = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    pairs = {(name, overload or "default") for name, _, overload in (name.partition(".") for name in names)}
    return sorted(
        f"aten.{name}.{overload}"
        for name, overload in pairs
        if torch.Tag.core in getattr(getattr(torch.ops.aten, name), overload).tags and overload != "out"
    )


def page(outcomes: Sequence[Outcome]) -> str:
    core = core_operators()
    tallies = tallied(outcomes)
    for target, name in FUNCTIONAL.items():
        if name in tallies:
            tallies[target] = tallies.pop(name)
    own = {target: tallies.get(target, Tally()) for target in core}
    overloads = Counter(tally.verdict for tally in own.values())
    by_name: dict[str, set[str]] = defaultdict(set)
    for target, tally in own.items():
        by_name[target.split(".")[1]].add(tally.verdict)
    names = Counter("equal" if found == {"equal"} else "other" for found in by_name.values())
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    cases = {outcome.sample.partition(", sample")[0] for outcome in outcomes}
    others = sorted(target for target in tallies if target not in own)
    lines = [
        "# PyTorch's core operators, converted",
        "",
        f"torch {torch.__version__}: all its own test inputs (OpInfo) for float32, int64 and bool, exported,",
        "decomposed, converted, run by the reference and compared with torch, and calls of our own for operators that",
        "those do not reach. Written by `python -m benchmarks.torch_operators`. A sample counts for every operator",
        "left in its program. An operator is equal if all its samples that convert are, and some do; refused if none",
        "converts; samples that one operator's rule refuses are listed beside it. Up to four samples of each core",
        "operator ran again with a first axis that stays open, in two other sizes: the column `open`.",
        "",
        f"Of {len(core)} core ATen overloads {overloads['equal']} are equal ({share(overloads['equal'], len(core))}),",
        f"{overloads['refused']} refused, {overloads['wrong']} wrong, {overloads['no sample']} without a sample.",
        f"Of their {len(by_name)} operators {names['equal']} are equal in all overloads",
        f"({share(names['equal'], len(by_name))}).",
        "",
        f"Of {len(outcomes):,} samples of {len(cases):,} test cases and element types, which are all of those named",
        f"like core operators and others, {verdicts['equal']:,} are equal, {verdicts['refused']:,} refused,",
        f"{verdicts['wrong']:,} wrong; torch did not export {verdicts['not exported']:,};",
        f"{verdicts['not reached']:,} were not reached in the time of their test case.",
        "",
        *measurement(outcomes),
        "",
        "| operator | equal | open | refused | wrong | |",
        "|---|---|---|---|---|---|",
        *(row(target, own[target]) for target in core),
        "",
        "Others that survive decomposition, or that have a rule because ONNX says them in one operator:",
        "",
        "| operator | equal | open | refused | wrong | |",
        "|---|---|---|---|---|---|",
        *(row(target, tallies[target]) for target in others),
        "",
    ]
    return "\n".join(lines)


def tallied(outcomes: Sequence[Outcome]) -> dict[str, Tally]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    for outcome in outcomes:
        for target, reason in outcome.refused.items():
            tallies[target].refused[reason] += 1
        for target in outcome.used:
            if outcome.verdict == "wrong":
                tallies[target].wrong.append(outcome.sample)
            elif outcome.sample.endswith(", open"):
                tallies[target].opened += 1
            else:
                tallies[target].equal += 1
    return tallies


def measurement(outcomes: Sequence[Outcome]) -> list[str]:
    """How far float32 results are apart, and from the truth: percentiles over the samples."""
    rows = np.array([outcome.distances for outcome in outcomes if outcome.distances]).reshape(-1, 3)
    if not len(rows):
        return []
    at = (50, 90, 99, 99.9, 100)
    named = zip(("ingot from torch", "ingot from the truth", "torch from the truth"), rows.T, strict=True)
    return [
        f"How far {len(rows):,} samples of float32 are apart: the least tolerance, absolute and relative alike, that",
        "lets all elements pass. The truth is torch in float64 on the same inputs.",
        "",
        f"| | {' | '.join(f'{each:g} %' for each in at)} |",
        f"|---|{'---|' * len(at)}",
        *(f"| {name} | {' | '.join(f'{np.percentile(of, each):.1e}' for each in at)} |" for name, of in named),
    ]


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def row(target: str, tally: Tally) -> str:
    reasons = "; ".join(f"{reason} ({count})" for reason, count in tally.refused.most_common(MOST_REASONS))
    note = f"{tally.verdict}{', ' + reasons if reasons else ''}"
    return f"| `{target}` | {tally.equal} | {tally.opened} | {tally.refused.total()} | {len(tally.wrong)} | {note} |"
