"""The standard's node cases said in older operator sets, and run there: `python tests/conformance/versions.py`.

Each case is converted to each version asked for. What is refused must say why; what is converted must pass the checker
of the onnx package and give the outputs that the case records: on ingot, and on onnxruntime and the reference evaluator
of the onnx package, which share no rule with ingot, where these can run it, and run the case as it was to its record.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ingot
from conformance.cases import UNPREDICTABLE, node_cases, plain, same
from conformance.known import KNOWN
from ingot.builder.versions import domain_version_of, ir_version_of
from ingot.versions.convert import convert_versions

OPSETS = (28, 27, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 1)


@dataclass
class Row:
    """What became of the cases on the way to one version."""

    opset: int
    same: int = 0
    converted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    peers: Counter[tuple[str, str]] = field(default_factory=Counter)
    peers_wrong: dict[str, str] = field(default_factory=dict)


NOISE = {
    "test_dft_inverse_opset19": "records 1.9e-7 of rounding where the value is 0, more than its own tolerance of 1e-7",
    "test_dft_inverse": "records 1.9e-7 of rounding where the value is 0, more than its own tolerance of 1e-7",
}
"""Cases whose recorded outputs a more exact computation misses; peers that run the converted model miss them alike."""


def prove(opset: int, cases: dict[str, Any], *, up: bool, peers: bool = True) -> Row:
    """Convert every case that is newer, or older if `up`, to a version, and compare what comes out with its record."""
    row = Row(opset)
    for name, case in cases.items():
        model = ingot.from_onnx(case.model)
        source = model.opset_imports.get("", 0)
        if name in KNOWN or name in NOISE or (source >= opset if up else source <= opset):
            continue
        versions = {domain: opset if not domain else domain_version_of(domain, opset) for domain in model.opset_imports}
        limit = max if up else min
        try:
            count = convert_versions(model, {d: limit(v, model.opset_imports[d]) for d, v in versions.items()})
        except ingot.UnsupportedError as error:
            node = re.search(r"\(([^)]*)\)$", error.where[0]) if error.where else None
            row.refused[f"{node[1] if node else name}: {error.message}"] += 1
            continue
        except Exception as error:  # a defect: whatever it is, it must be seen
            row.wrong[name] = f"{type(error).__name__}: {error}"
            continue
        row.same += not count
        row.converted += bool(count)
        model.ir_version = max(8, ir_version_of(opset, functions=bool(model.functions)))
        proto = ingot.to_onnx(model)
        if trouble := _ours(proto, case):
            row.wrong[name] = trouble
        for peer, verdict in _peers(proto, case) if peers else ():
            row.peers[peer, verdict.split(":")[0]] += 1
            if verdict.startswith("differs"):
                row.peers_wrong[f"{name} on {peer}"] = verdict
    return row


def _ours(proto: onnx.ModelProto, case: Any) -> str | None:
    try:
        onnx.checker.check_model(proto)
        session = ingot.Session(proto)
        for inputs, outputs in case.data_sets:
            _compare(case, session.run(None, _feeds(proto, inputs)), outputs)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:400]}"
    return None


def _peers(proto: onnx.ModelProto, case: Any) -> Iterator[tuple[str, str]]:
    """What each peer makes of a converted model: a difference counts if it runs the case itself to its record."""
    for peer, start in (("onnxruntime", _onnxruntime), ("onnx reference", ReferenceEvaluator)):
        verdict = _verdict(start, proto, case)
        if verdict.startswith("differs") and _verdict(start, case.model, case) != "agrees":
            verdict = "cannot"
        yield peer, verdict


def _verdict(start: Callable[[onnx.ModelProto], Any], proto: onnx.ModelProto, case: Any) -> str:
    try:
        session = start(proto)
        results = [session.run(None, _feeds(proto, inputs)) for inputs, _ in case.data_sets]
    except Exception:
        return "cannot"
    try:
        for result, (_, outputs) in zip(results, case.data_sets, strict=True):
            _compare(case, result, outputs)
    except AssertionError as error:
        return f"differs: {str(error)[:300]}"
    return "agrees"


def _onnxruntime(proto: onnx.ModelProto) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _feeds(proto: onnx.ModelProto, inputs: Sequence[Any]) -> dict[str, Any]:
    own = {value.name for value in proto.graph.initializer}
    names = [value.name for value in proto.graph.input if value.name not in own]
    return {name: _array(plain(given)) for name, given in zip(names, inputs, strict=False)}


def _array(given: Any) -> Any:
    """A number as an array without axes, as which onnxruntime takes it."""
    return np.asarray(given) if isinstance(given, np.generic) else given


def _compare(case: Any, results: Sequence[Any], outputs: Sequence[Any]) -> None:
    random = any(node.op_type in UNPREDICTABLE for node in case.model.graph.node)
    for index, (result, expected) in enumerate(zip(results, outputs, strict=True)):
        if random:
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        else:
            same(result, plain(expected), case.rtol, case.atol, f"output {index}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--opset", type=int, nargs="*", default=OPSETS, help="the versions to go to")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name has this")
    parser.add_argument("--refusals", action="store_true", help="say what was refused, and how often")
    parser.add_argument("--no-peers", action="store_true", help="run the results on ingot alone")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    cases = {name: case for name, case in node_cases().items() if re.search(arguments.only, name)}
    failed = False
    for up in (True, False):
        print(f"\n{'From older versions up' if up else 'From newer versions down'}:\n")
        print("| opset | cases | as they are | rewritten | refused | wrong", end=" | ")
        print("onnxruntime: agrees | differs | cannot | onnx reference: agrees | differs | cannot |\n|" + "---:|" * 12)
        for opset in arguments.opset:
            row = prove(opset, cases, up=up, peers=not arguments.no_peers)
            failed |= bool(row.wrong)
            _show(row, arguments.refusals)
    sys.exit(failed)


def _show(row: Row, refusals: bool) -> None:
    refused = row.refused.total()
    cells = [row.opset, row.same + row.converted + refused, row.same, row.converted, refused, len(row.wrong)]
    cells += [row.peers[p, v] for p in ("onnxruntime", "onnx reference") for v in ("agrees", "differs", "cannot")]
    if cells[1]:
        print("| " + " | ".join(f"{cell:,}" for cell in cells) + " |", flush=True)
    for name, trouble in {**row.wrong, **row.peers_wrong}.items():
        print(f"  {row.opset} {name}: {trouble}", file=sys.stderr)
    if refusals:
        for reason, count in row.refused.most_common():
            print(f"  {count:4} {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
