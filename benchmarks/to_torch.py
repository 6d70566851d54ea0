"""Which of the standard's node cases go through `to_torch`: made a module, run by torch, compared with the record.

`python -m benchmarks.to_torch` writes benchmarks/results/to_torch.md; it ends with 1 if a case is wrong.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

import ingot

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from conformance.cases import node_cases
from conformance.known import KNOWN_TORCH
from convert.to_torch.cases import run_case

RESULTS = Path(__file__).parent / "results" / "to_torch.md"


def main() -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    equal = 0
    refused: dict[str, list[str]] = defaultdict(list)
    noise: dict[str, list[str]] = defaultdict(list)
    wrong: dict[str, str] = {}
    for name, case in node_cases().items():
        try:
            run_case(case)
            equal += 1
        except ingot.ConvertError as error:
            refused[_reason(error)].append(name)
        except AssertionError as error:
            if name in KNOWN_TORCH:
                noise[KNOWN_TORCH[name]].append(name)
            else:
                wrong[name] = str(error).strip().splitlines()[0]
        except Exception as error:  # a defect: whatever it is, it must be seen
            wrong[name] = f"{type(error).__name__}: {error}"
    RESULTS.write_text(page(equal, refused, noise, wrong), "utf-8")
    for name, why in wrong.items():
        print(f"wrong: {name}: {why}")
    sys.exit(bool(wrong))


def _reason(error: ingot.ConvertError) -> str:
    """Why the first node was refused, without where it is."""
    what, _, reason = re.sub(r" \(in node .*", "", error.where[0]).partition(": ")
    return reason if "tensors of" in reason else f"{what}: {reason}"


def page(equal: int, refused: dict[str, list[str]], noise: dict[str, list[str]], wrong: dict[str, str]) -> str:
    total = equal + sum(map(len, (*refused.values(), *noise.values()))) + len(wrong)
    lines = [
        "# ONNX as PyTorch modules",
        "",
        "The node cases of the onnx package through `ingot.to_torch`, run by torch and compared with what they record,",
        "by the suite's own tolerances. `python -m benchmarks.to_torch` makes this page.",
        "",
        f"onnx {_version('onnx')}, torch {torch.__version__.partition('+')[0]}.",
        "",
        "| cases | equal | refused | noise in the record | wrong |",
        "|---:|---:|---:|---:|---:|",
        f"| {total:,} | {equal:,} | {_count(refused)} | {_count(noise)} | {len(wrong)} |",
        "",
        "## Refused",
        "",
        "| reason | cases |",
        "|---|---|",
        *_rows(refused),
        "",
        "## Noise in the record",
        "",
        "| reason | cases |",
        "|---|---|",
        *_rows(noise),
    ]
    if wrong:
        lines += ["", "## Wrong", "", *(f"- {name}: {why}" for name, why in wrong.items())]
    return "\n".join(lines) + "\n"


def _rows(found: dict[str, list[str]]) -> list[str]:
    ordered = sorted(found.items(), key=lambda row: (-len(row[1]), row[0]))
    return [f"| {reason} | {len(names)}: {', '.join(names)} |" for reason, names in ordered]


def _count(found: dict[str, list[str]]) -> int:
    return sum(map(len, found.values()))


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


if __name__ == "__main__":
    main()
