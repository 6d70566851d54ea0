"""The table of OpenVINO: the standard's cases, in every element type and older versions, compiled for its CPU.

    python -m benchmarks.targets.openvino [OPERATOR...]

Of the operators named, or of all.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import onnx

import ingot
from benchmarks.targets.probe import Probe, cases, own_probes, probe_of, retyped, with_constants
from benchmarks.targets.table_file import write
from ingot.engine_support.opsets import at_opset
from ingot.engine_support.table import table_for
from ingot.errors import IngotError

_PATIENCE = 60.0  # seconds for one model
_CASES_PER_VERSION = 6
Operators = dict[str, dict[str, dict[int, list[dict[str, frozenset[str]]]]]]
Constants = dict[tuple[str, str, int], list[int]]


class Workers:
    """Compiles models in a process of its own, which may crash."""

    def __init__(self) -> None:
        self._process: Any = None
        self._ours: Any = None

    def compile(self, model: bytes) -> str | None:
        """None if a model can be compiled, or else why it cannot be."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._ours, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
        try:
            self._ours.send_bytes(model)
            if self._ours.poll(_PATIENCE):
                text: str = self._ours.recv()
                return text or None
        except (EOFError, OSError):
            pass
        self._process.kill()
        self._process.join()
        self._process = None
        return "the process ended"


def _serve(pipe: Any) -> None:
    import openvino

    core = openvino.Core()
    while True:
        try:
            model = pipe.recv_bytes()
        except EOFError:
            return
        try:
            core.compile_model(core.read_model(model), "CPU")
        except Exception as error:
            pipe.send(str(error) or type(error).__name__)
        else:
            pipe.send("")


def main(only: list[str]) -> None:
    import openvino

    release = openvino.__version__.split("-")[0]
    workers = Workers()
    operators, constants = _known(release) if only else ({}, {})
    tried = 0
    for (domain, name), probes in sorted(_by_operator().items()):
        if only and name not in only:
            continue
        versions: dict[int, list[dict[str, frozenset[str]]]] = {}
        for since, ours in sorted(_by_version(domain, name, [probe for _, probe in probes]).items()):
            compiled, count = _compiled(ours, workers)
            tried += count
            if not compiled:
                fixed = [made for case, _ in probes if case in cases() and (made := with_constants(case)) is not None]
                ours = [probe for probe in fixed if probe.since == since] or list(_older(fixed, name, since))[:1]
                compiled, count = _compiled(ours, workers)
                tried += count
                if compiled:
                    constants[domain, name, since] = list(range(1, len(ours[0].model.graph.node[0].input)))
            versions[since] = [{slot: frozenset(kinds) for slot, kinds in compiled.items()}] if compiled else []
        for since in _without_probe(domain, name, versions):  # as the next newer version of which there is a case
            newer = min((later for later in versions if later > since), default=None)
            if newer is not None:
                versions[since] = versions[newer]
                if (domain, name, newer) in constants:
                    constants[domain, name, since] = constants[domain, name, newer]
        if (domain, name) == ("", "Constant"):
            versions = {since: [{}] for since in versions}
        operators.setdefault(domain, {})[name] = versions
    path = write(
        {
            "target": "openvino",
            "release": release,
            "where": "CPU",
            "source": "the standard's cases, compiled by the package in every element type and in older versions",
            "ir_version": _newest(lambda version: _identity(20, version), workers),
            "opsets": {"": [1, _newest(lambda version: _identity(version, 10), workers)]},
        },
        operators,
        constants=constants,
    )
    names = sum(len(known) for known in operators.values())
    print(f"wrote {path.name}: {names} operators, {tried} models tried, {path.stat().st_size:,} bytes")


def _known(release: str) -> tuple[Operators, Constants]:
    """What the table of a release has."""
    operators: Operators = {}
    constants: Constants = {}
    for domain, names in table_for(f"openvino:{release}").operators.items():
        for name, versions in names.items():
            for version in versions:
                taken = [dict(slots) for slots in version.signatures]
                operators.setdefault(domain, {}).setdefault(name, {})[version.since] = taken
                if version.constants:
                    constants[domain, name, version.since] = list(version.constants)
    return operators, constants


def _compiled(probes: list[Probe], workers: Workers) -> tuple[dict[str, set[str]], int]:
    """The kinds at each place of the models that compile, and how many were tried."""
    compiled: dict[str, set[str]] = defaultdict(set)
    seen = set()
    tried = 0
    for probe in [*probes[:_CASES_PER_VERSION], *(retyped(probes[0]) if probes else ())]:
        key = tuple(sorted(probe.kinds.items()))
        if key in seen:
            continue
        tried += 1
        if workers.compile(probe.model.SerializeToString()) is None:
            seen.add(key)
            for slot, kind in probe.kinds.items():
                compiled[slot].add(kind)
    return compiled, tried


def _without_probe(domain: str, name: str, versions: dict[int, Any]) -> list[int]:
    known = {
        schema.since_version
        for schema in onnx.defs.get_all_schemas_with_history()
        if (schema.domain, schema.name) == (domain, name)
    }
    return sorted(known - set(versions), reverse=True)


def _by_operator() -> dict[tuple[str, str], list[tuple[str, Probe]]]:
    found: dict[tuple[str, str], list[tuple[str, Probe]]] = defaultdict(list)
    for case, probe in own_probes():
        found[probe.domain, probe.name].append((case, probe))
    return found


def _by_version(domain: str, name: str, probes: list[Probe]) -> dict[int, list[Probe]]:
    """Cases of every version of an operator: as they are, and brought to older versions."""
    found: dict[int, list[Probe]] = defaultdict(list)
    for probe in probes:
        found[probe.since].append(probe)
    if domain:
        return found
    for schema in onnx.defs.get_all_schemas_with_history():
        if (schema.domain, schema.name) == (domain, name) and schema.since_version not in found:
            found[schema.since_version] = list(_older(probes, name, schema.since_version))[:1]
    return {since: ours for since, ours in found.items() if ours}


def _older(probes: list[Probe], name: str, version: int) -> Iterator[Probe]:
    for probe in probes[:4]:
        try:
            made = at_opset(ingot.from_onnx(probe.model), version)
        except IngotError:
            continue
        if [node.op_type for node in made.graph if not node.applies("Constant")] == [name]:
            proto = onnx.ModelProto.FromString(ingot.encode(made))
            found = probe_of(proto)
            if found is not None:
                yield found


def _newest(make: Any, workers: Workers) -> int:
    return max(version for version in range(7, 40) if workers.compile(make(version)) is None)


def _identity(opset: int, ir_version: int) -> bytes:
    values = [[onnx.helper.make_tensor_value_info(each, 1, [1])] for each in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", *values)
    imports = [onnx.helper.make_opsetid("", opset)]
    made: bytes = onnx.helper.make_model(graph, opset_imports=imports, ir_version=ir_version).SerializeToString()
    return made


if __name__ == "__main__":
    main(sys.argv[1:])
