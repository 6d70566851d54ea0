"""The table of found models: what is wrong first, then the ratios from the least on, and causes counted."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmarks.timing import machine

HEAD = """\
# Found models

{machine}; `python -m benchmarks.found_models`

Models that nobody looked at before: out of packages on PyPI and npm (`benchmarks/found_models/packages.txt`), and
written by exporters of scikit-learn, boosters and PyTorch (`generated`). Inputs are random, the first of some attempts
that onnxruntime runs; what a model draws at random is constant. Both engines have one thread and take turns in one
process; times are of the processor, the least of all rounds. `speed` is how often faster than onnxruntime ingot is;
`reference` how many of the nodes the reference runs, and the part of the time they take; a start is the creation of a
session and its first run, ingot's with an empty cache.

"""
NOTE = "Measured while other programs were running, starts above all: to be measured again.\n\n"


def page(results: Mapping[str, Mapping[str, Any]], busy: bool = False) -> str:
    """Results by name of a model, as kept in the file; those that onnxruntime does not run are counted only.

    `busy` says that other programs were running.
    """
    ran = {name: result for name, result in results.items() if "not run" not in result}
    ended = {name: result["not run"] for name, result in results.items() if _did_not_end(result)}
    failed = {name: result for name, result in ran.items() if result["failure"]}
    timed = {name: result for name, result in ran.items() if result["ours"]}
    ratios = {name: result["theirs"] / result["ours"] for name, result in timed.items()}
    nodes = sum(result["nodes"] for result in timed.values())
    calls = sum(len(result["on_reference"]) for result in timed.values())
    share = sum(result["reference_time"] for result in timed.values()) / max(len(timed), 1)
    below = sum(ratio < 0.9 for ratio in ratios.values())
    lines = [
        HEAD.format(machine=machine()) + (NOTE if busy else ""),
        f"{len(ran)} models; {len(failed)} fail; geometric mean {_mean(ratios.values()):.2f}, least "
        f"{min(ratios.values(), default=math.nan):.2f}, {below} below 0.9; on the reference {calls} of {nodes} nodes "
        f"({calls / max(nodes, 1):.2%}), on average {share:.2%} of the time; first starts "
        f"{_mean(r['start'] / r['their_start'] for r in timed.values()):.1f} × onnxruntime's.\n",
        f"{len(results) - len(ran) - len(ended)} more are not run by onnxruntime on any of the inputs tried.\n",
        "\n| kind | models | speed | least |\n| --- | --- | --- | --- |\n",
        *(
            f"| {kind} | {len(some)} | {_mean(some):.2f} | {min(some):.2f} |\n"
            for kind in dict.fromkeys(map(kind_of, ratios))
            if (some := [ratio for name, ratio in ratios.items() if kind_of(name) == kind])
        ),
        "\n| model | nodes | ingot | onnxruntime | speed | reference | apart | first start | its start |\n",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        *(_row(name, timed[name], ratios[name]) for name in sorted(ratios, key=ratios.__getitem__)),
    ]
    if failed:
        lines += ["\n## What fails\n\n", *(f"- {name}: {result['failure']}\n" for name, result in failed.items())]
    if ended:
        lines += ["\n## What did not end\n\n", *(f"- {name}: {reason}\n" for name, reason in ended.items())]
    settled = {name: result["settled"] for name, result in ran.items() if result.get("settled")}
    if settled:
        lines += ["\n## What differs, and is right\n\n", *(f"- {name}: {reason}\n" for name, reason in settled.items())]
    reasons = Counter(_plain(reason) for result in timed.values() for reason in result["on_reference"])
    if reasons:
        lines += ["\n## What the reference runs\n\n| nodes | operator and reason |\n| --- | --- |\n"]
        lines += [f"| {count} | {reason} |\n" for reason, count in reasons.most_common()]
    return "".join(lines)


def _did_not_end(result: Mapping[str, Any]) -> bool:
    """Whether a model took too long, or its process ended without a result: that may be of either engine."""
    return str(result.get("not run", "")).startswith(("takes more than", "exit status"))


def kind_of(name: str) -> str:
    """Where a model is from: a registry, or an exporter."""
    first, second, *_ = name.split("/")
    return second if first == "generated" else first


def _row(name: str, result: Mapping[str, Any], ratio: float) -> str:
    calls = len(result["on_reference"])
    reference = f"{calls}, {result['reference_time']:.0%}" if calls else ""
    cells = [name, str(result["nodes"]), _time(result["ours"]), _time(result["theirs"]), f"{ratio:.2f}", reference]
    cells += [f"{result['apart']:.0e}", f"{result['start']:.2f} s", f"{result['their_start']:.2f} s"]
    return "| " + " | ".join(cells) + " |\n"


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _mean(ratios: Any) -> float:
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def _plain(reason: str) -> str:
    return re.sub(r"\b\d\d+\b", "n", re.sub(r"'[^']*'", "'…'", reason)).replace("|", "/")
