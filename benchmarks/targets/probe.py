"""Models of one node to try an engine with: the standard's own cases, and the same in other element types."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx.backend.test.loader import load_model_tests

from benchmarks.targets.table_file import kind

_NUMBERS = {
    **{name.lower(): number for name, number in onnx.TensorProto.DataType.items()},
    "float32": 1,
    "float64": 11,
}


@dataclass(frozen=True, slots=True)
class Probe:
    """A model whose only node is of an operator in one of its versions, and the kinds of values at its places."""

    domain: str
    name: str
    since: int
    kinds: dict[str, str]
    model: Any


_OLD_IR = 10
"""An IR version that engines of years ago read; older versions of operators need no newer one."""
_WITHOUT_CASES = {
    "GlobalLpPool": "float[1, 2, 4, 4] x => y = GlobalLpPool (x)",
    "MaxRoiPool": "float[1, 2, 4, 4] x, float[1, 5] r => y = MaxRoiPool <pooled_shape: ints = [2, 2]> (x, r)",
    "Multinomial": "float[1, 4] x => y = Multinomial (x)",
    "RandomNormal": "=> y = RandomNormal <shape: ints = [2, 2]> ()",
    "RandomNormalLike": "float[2, 2] x => y = RandomNormalLike (x)",
    "RandomUniform": "=> y = RandomUniform <shape: ints = [2, 2]> ()",
    "RandomUniformLike": "float[2, 2] x => y = RandomUniformLike (x)",
}
"""Operators that the suite has no case of: what a model of each takes, and its node."""
_OUTPUTS = {"Multinomial": "int32"}


@cache
def cases() -> dict[str, Any]:
    """The models of the standard's node cases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    return {case.name: case.model or onnx.load(f"{case.model_dir}/model.onnx") for case in found}


@cache
def case_inputs() -> dict[str, list[Any]]:
    """What each case feeds to its model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    return {case.name: list(case.data_sets[0][0]) if case.data_sets else [] for case in found}


def with_constants(name: str) -> Probe | None:
    """A case of one node whose inputs but the first are constants; None if they are no tensors."""
    model, given = onnx.ModelProto(), case_inputs()[name]
    model.CopyFrom(cases()[name])
    inputs = list(model.graph.input)
    if len(inputs) < 2 or len(given) != len(inputs) or inputs[0].name not in model.graph.node[0].input[:1]:
        return None
    for value, item in list(zip(inputs, given, strict=True))[1:]:
        if not isinstance(item, onnx.TensorProto | np.ndarray):
            return None
        tensor = item if isinstance(item, onnx.TensorProto) else onnx.numpy_helper.from_array(item)
        constant = model.graph.initializer.add()
        constant.CopyFrom(tensor)
        constant.name = value.name
    del model.graph.input[1:]
    return probe_of(model)


def own_probes() -> Iterator[tuple[str, Probe]]:
    """The cases that have one node, as they are; then operators that have none."""
    for name, model in cases().items():
        if len(model.graph.node) == 1 and not model.functions:
            found = probe_of(model)
            if found is not None:
                yield name, found
    for name, text in _WITHOUT_CASES.items():
        taken, _, node = text.partition("=>")
        graph = f"g ({taken}) => ({_OUTPUTS.get(name, 'float')} y) {{ {node} }}"
        found = probe_of(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 21]> {graph}'))
        if found is not None:
            yield f"made_{name}", found


def retyped(probe: Probe, version: int | None = None) -> Iterator[Probe]:
    """A probe in every element type that the schema has for each of its type variables, one at a time."""
    schema = onnx.defs.get_schema(probe.name, version or probe.since, probe.domain)
    for variable in schema.type_constraints:
        for text in variable.allowed_type_strs:
            wanted = kind(text)
            if wanted not in _NUMBERS:
                continue
            model = onnx.ModelProto()
            model.CopyFrom(probe.model)
            if version is not None:
                model.ir_version = min(model.ir_version, _OLD_IR)
                for imported in model.opset_import:
                    if imported.domain in (probe.domain, "ai.onnx" if not probe.domain else probe.domain):
                        imported.version = version
            if _retype(model, schema, variable.type_param_str, _NUMBERS[wanted]):
                found = probe_of(model)
                if found is not None:
                    yield found


def _retype(model: Any, schema: Any, variable: str, number: int) -> bool:
    """Give inputs and outputs of a type variable another element type; whether that could be done.

    A variable of outputs alone is what an attribute says: it must be there.
    """
    node = model.graph.node[0]
    values = {value.name: value for value in (*model.graph.input, *model.graph.output)}
    changed = False
    for is_input, names, formals in (True, node.input, schema.inputs), (False, node.output, schema.outputs):
        for place, name in enumerate(names):
            formal = formals[min(place, len(formals) - 1)] if formals else None
            if formal is None or formal.type_str != variable or name not in values:
                continue
            if values[name].type.WhichOneof("value") != "tensor_type":
                return False
            values[name].type.tensor_type.elem_type = number
            changed |= is_input
    if not changed:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype", "output_dtype"):
                attribute.i = number
                return True
            if attribute.name == "value" and attribute.type == onnx.AttributeProto.TENSOR:
                attribute.t.CopyFrom(onnx.helper.make_tensor("value", number, [1], [0]))
                changed = True
                for value in model.graph.output:
                    value.type.tensor_type.elem_type = number
    return changed


def probe_of(model: Any) -> Probe | None:
    """What a model of one node tries; None for an operator that ONNX does not have in its version."""
    node = model.graph.node[0]
    imported = {entry.domain: entry.version for entry in model.opset_import}
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = imported.get(domain, imported.get(node.domain, 1))
    try:
        since = onnx.defs.get_schema(node.op_type, version, domain).since_version
    except onnx.defs.SchemaError:
        return None
    types = {value.name: value.type for value in (*model.graph.input, *model.graph.output)}
    kinds = {}
    for mark, names in ("", node.input), (">", node.output):
        for place, name in enumerate(names):
            if name and name in types:
                kinds[f"{mark}{place}"] = _kind(types[name])
    return Probe(domain, node.op_type, since, kinds, model)


def _kind(type_: Any) -> str:
    which = type_.WhichOneof("value")
    if which == "tensor_type":
        name = onnx.TensorProto.DataType.Name(type_.tensor_type.elem_type).lower()
        return kind(name)
    if which == "sequence_type":
        return f"seq({_kind(type_.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({_kind(type_.optional_type.elem_type)})"
    return str(which)
