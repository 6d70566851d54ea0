"""The standard's node cases as machine code: `python tests/lower/compiled.py`.

Each case runs on the provider `cpu`, without falling back to the reference when compiling fails; the outputs must be
what the case records. It is counted which nodes ran compiled.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ingot
from conformance.cases import UNPREDICTABLE, node_cases, plain, same
from conformance.known import KNOWN


def run(case: Any, threads: int) -> tuple[int, Counter[str]]:
    """How many nodes of a case ran compiled, and why others did not; AssertionError where an output is wrong."""
    session = ingot.Session(case.model, providers=("cpu", "reference"), threads=threads, fallback=False)
    names = list(session.inputs)
    random = any(node.op_type in UNPREDICTABLE for node in session.model.nodes())
    for inputs, outputs in case.data_sets:
        results = session.run(None, dict(zip(names, map(plain, inputs), strict=False)))
        for index, (result, expected) in enumerate(zip(results, outputs, strict=True)):
            if random:
                assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            else:
                same(result, plain(expected), case.rtol, case.atol, f"output {index}")
    compiled = session.compiled
    assert compiled is not None
    calls = compiled.program.calls
    return len(session.model.graph.nodes) - len(calls), Counter(f"{n.op_type}: {c.reason}" for n, c in calls.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name has this")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--refusals", action="store_true", help="say which nodes were not compiled, and why")
    parser.add_argument("--names", action="store_true", help="name each case before it runs")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", ingot.FallbackWarning)  # such a case does not run compiled
    reasons: Counter[str] = Counter()
    nodes, whole, passed, wrong = 0, 0, 0, 0
    for name, case in node_cases().items():
        if name in KNOWN or not re.search(arguments.only, name):
            continue
        if arguments.names:
            print(name, flush=True)
        try:
            compiled, refused = run(case, arguments.threads)
        except Exception as error:  # a defect: whatever it is, it must be seen
            wrong += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            continue
        passed += 1
        whole += not refused
        nodes += max(compiled, 0)
        reasons += refused
    print(f"{passed:,} cases right, {whole:,} of them compiled whole, {wrong:,} wrong", end="; ")
    print(f"{nodes:,} nodes compiled, {reasons.total():,} run by the reference")
    if arguments.refusals:
        for reason, count in reasons.most_common():
            print(f"  {count:4} {reason}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
