"""The table of onnxruntime: its registered kernels; operators that are functions without one are tried out.

python -m benchmarks.targets.onnxruntime
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as state

from benchmarks.targets.probe import Probe, own_probes, retyped
from benchmarks.targets.table_file import kind, write

_OPEN = 2**31 - 1
_SIZES = {"int64", "bool"}
_SEEDS = 6
"""How many cases of different types each operator is tried with."""
_NO_KERNEL_NEEDED = ("Constant",)
"""It becomes an initialiser as a model is read."""
_ONLY_INSIDE = ("com.microsoft.nchwc", "com.ms.internal.nhwc")


def main() -> None:
    onnxruntime.set_default_logger_severity(4)
    operators = kernels()
    tried = with_functions(operators)
    path = write(
        {
            "target": "onnxruntime",
            "release": onnxruntime.__version__,
            "where": "CPU",
            "source": "the kernels that the package registers, and trials of operators that are functions",
            "ir_version": newest_ir_version(),
            "opsets": {domain: [1, newest_opset(domain)] for domain in ("", "ai.onnx.ml")},
            "casts": {"float16": "float32"},
            "quiet_casts": True,
        },
        operators,
        attributes(),
    )
    names = sum(len(versions) for versions in operators.values())
    print(f"wrote {path.name}: {names} operators, {tried} trials of functions, {path.stat().st_size:,} bytes")


def kernels() -> dict[str, dict[str, dict[int, list[dict[str, frozenset[str]]]]]]:
    """By domain, operator and version of its schema, the kinds that each kernel of the CPU takes."""
    registered: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for found in state.get_all_opkernel_def():
        if found.provider == "CPUExecutionProvider":
            registered[found.domain, found.op_name].append(found)
    table: dict[str, dict[str, dict[int, list[dict[str, frozenset[str]]]]]] = {}
    for schema in state.get_all_operator_schema():
        if schema.domain in _ONLY_INSIDE or schema.deprecated:
            continue
        since = schema.since_version
        taken: list[dict[str, frozenset[str]]] = (
            [{}]
            if schema.name in _NO_KERNEL_NEEDED
            else [
                _slots(kernel, schema)
                for kernel in registered[schema.domain, schema.name]
                if _serves(kernel.version_range, since)
            ]
        )
        table.setdefault(schema.domain, {}).setdefault(schema.name, {})[since] = taken
    return table


def attributes() -> dict[tuple[str, str, int], frozenset[str]]:
    """By domain, operator and version, the attributes that it knows."""
    return {
        (schema.domain, schema.name, schema.since_version): frozenset(schema.attributes)
        for schema in state.get_all_operator_schema()
    }


def _serves(versions: tuple[int, int], since: int) -> bool:
    """Whether a kernel is for a version: one without an end is for the version it begins with alone."""
    first, last = versions
    return first == since or (first < since <= last and last != _OPEN)


def _slots(kernel: Any, schema: Any) -> dict[str, frozenset[str]]:
    """The kinds at each place, from those of type variables, or of parameters by name."""
    found: dict[str, frozenset[str]] = {}
    for mark, formals in ("", schema.inputs), (">", schema.outputs):
        for place, formal in enumerate(formals):
            kinds = kernel.type_constraints.get(formal.typeStr) or kernel.type_constraints.get(formal.name)
            if kinds:
                many = str(formal.option).endswith("Variadic") and formal.isHomogeneous
                several = str(formal.option).endswith("Variadic")
                found[f"{mark}{place}{'+' if many or several else ''}"] = frozenset(map(kind, kinds))
    return found


def with_functions(operators: dict[str, dict[str, dict[int, list[dict[str, frozenset[str]]]]]]) -> int:
    """Add what can be loaded of operators that have no kernel and are functions of others; how many were tried."""
    seeds: dict[tuple[str, str], dict[tuple[str, ...], Probe]] = defaultdict(dict)
    own: dict[tuple[str, str, int], list[Probe]] = defaultdict(list)
    for _, probe in own_probes():
        seeds[probe.domain, probe.name].setdefault(tuple(probe.kinds.values()), probe)
        own[probe.domain, probe.name, probe.since].append(probe)
    tried = 0
    for domain, names in operators.items():
        for name, versions in names.items():
            for since, taken in versions.items():
                if taken or (domain, name) not in seeds or since > newest_opset(domain):
                    continue
                schema = onnx.defs.get_schema(name, since, domain)
                if not (schema.has_function or schema.has_context_dependent_function):
                    continue
                loaded: dict[str, set[str]] = defaultdict(set)
                allowed = {kind(text) for each in schema.type_constraints for text in each.allowed_type_strs}
                fit = [seed for seed in seeds[domain, name].values() if set(seed.kinds.values()) <= allowed | _SIZES]
                made = (probe for seed in fit[:_SEEDS] for probe in retyped(seed, since))
                for probe in [*made, *own.get((domain, name, since), ())]:
                    tried += 1
                    if loads(probe.model):
                        for slot, found in probe.kinds.items():
                            loaded[slot].add(found)
                if loaded:
                    versions[since] = [{slot: frozenset(kinds) for slot, kinds in loaded.items()}]
    return tried


def loads(model: Any) -> bool:
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:
        return False
    return True


def newest_opset(domain: str) -> int:
    """The newest version that a model may import."""
    name = "Identity" if not domain else "Binarizer"
    return max(version for version in range(1, 40) if _imports(domain, name, version))


def newest_ir_version() -> int:
    return max(version for version in range(3, 30) if _imports("", "Identity", 20, version))


def _imports(domain: str, name: str, version: int, ir_version: int = 8) -> bool:
    value = [onnx.helper.make_tensor_value_info(each, 1, [1]) for each in "xy"]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(name, ["x"], ["y"], domain=domain)], "g", *[[v] for v in value]
    )
    imports = [onnx.helper.make_opsetid("", 13)] if domain else []
    imports.append(onnx.helper.make_opsetid(domain, version))
    return loads(onnx.helper.make_model(graph, opset_imports=imports, ir_version=ir_version))


if __name__ == "__main__":
    main()
