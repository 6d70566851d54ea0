"""What the `lower` rules say of the standard's node cases, evaluated with numpy: `python tests/lower/rules.py`.

Each node case is typed, said in primitives, and these evaluated; what they give must be what the case records. Cases
whose operators have no rule, or whose rule refuses, are counted with the reason.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ingot
from conformance.cases import node_cases, plain, same
from conformance.known import KNOWN
from ingot.infer import infer
from ingot.lower.graph import lower_graph
from ingot.ops.catalog import standard
from ingot.prim.evaluate import evaluate
from ingot.prim.tensor import Parameter
from ingot.versions.upgrade import upgrade


def lowered(case: Any) -> str | None:
    """None if a case is said in primitives alone and gives what it should, else why not; AssertionError if wrong."""
    model = ingot.from_onnx(case.model)
    upgrade(model)
    facts = infer(model)
    program = lower_graph(model, facts, standard())
    if program.calls:
        call = next(iter(program.calls.values()))
        return f"{call.node.op_type}: {call.reason}"
    results = [program.values[value] for value in model.graph.outputs]
    for inputs, outputs in case.data_sets:
        feeds = dict(zip(model.graph.inputs.names, map(plain, inputs), strict=False))
        sizes: dict[str, int] = {}
        for name, tensor in program.inputs.items():
            if isinstance(tensor, Parameter) and name in feeds:
                found = zip(tensor.shape, np.shape(feeds[name]), strict=True)
                sizes.update({str(dim): size for dim, size in found if not isinstance(dim, int)})
        computed = evaluate(results, feeds, sizes)
        for value, result, expected in zip(model.graph.outputs, computed, outputs, strict=True):
            same(result, plain(expected), case.rtol, case.atol, value.name)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name has this")
    parser.add_argument("--refusals", action="store_true", help="say what was refused, and how often")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    refused: Counter[str] = Counter()
    passed, wrong = 0, 0
    for name, case in node_cases().items():
        if name in KNOWN or not re.search(arguments.only, name):
            continue
        try:
            reason = lowered(case)
        except Exception as error:  # a defect: whatever it is, it must be seen
            wrong += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}")
            continue
        if reason is None:
            passed += 1
        else:
            refused[reason] += 1
    print(f"{passed:,} in primitives and right, {wrong:,} wrong, {refused.total():,} refused")
    if arguments.refusals:
        for reason, count in refused.most_common():
            print(f"  {count:4} {reason}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
