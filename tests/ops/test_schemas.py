"""Every operator in every version, compared with the schemas of the onnx package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import defs, helper

from ingot.ops.catalog import standard
from ingot.ops.define import Formal, Operator, Parameter

SCHEMAS = sorted(defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version))
Option = defs.OpSchema.FormalParameterOption


UNOFFICIAL = {
    "Affine",
    "Crop",
    "DynamicSlice",
    "ImageScaler",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
    "SimplifiedLayerNormalization",
}
"""Names that real files use in the standard's domain although the standard does not have them."""


def named(schema: Any) -> str:
    return f"{schema.domain or 'ai.onnx'}.{schema.name}-{schema.since_version}"


def ours(schema: Any) -> Operator:
    found = standard().find(schema.domain, schema.name, schema.since_version)
    assert found is not None, "the operator is not there"
    assert schema.since_version in found.since, f"it is covered by {found.since}"
    return found


def types_of(schema: Any, formal: Any) -> frozenset[str]:
    for constraint in schema.type_constraints:
        if constraint.type_param_str == formal.type_str:
            return frozenset(constraint.allowed_type_strs)
    return frozenset([formal.type_str])


def same_formals(schema: Any, theirs: list[Any], mine: tuple[Formal, ...], what: str) -> None:
    here = [formal for formal in mine if formal.since <= schema.since_version]
    assert len(here) == len(theirs), f"{what}: {[f.name for f in here]} against {[f.name for f in theirs]}"
    variables: dict[str, set[str]] = {}
    for formal, wanted in zip(here, theirs, strict=True):
        where = f"{what} {wanted.name}"
        assert formal.variadic == (wanted.option == Option.Variadic), f"{where}: variadic"
        assert formal.optional == (wanted.option == Option.Optional), f"{where}: optional"
        if formal.variadic:
            assert formal.at_least == wanted.min_arity, f"{where}: at least"
            assert formal.heterogeneous == (not wanted.is_homogeneous), f"{where}: heterogeneous"
        assert formal.types.at(schema.since_version) == types_of(schema, wanted), f"{where}: types"
        variables.setdefault(wanted.type_str, set()).add(formal.types.name)
    for variable, names in variables.items():
        assert len(names) == 1, f"{variable} is {names}"


def default_of(attribute: Any) -> Any:
    if not attribute.default_value.name:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):
        return [item.decode() if isinstance(item, bytes) else item for item in value]
    return value


def same_attribute(parameter: Parameter, wanted: Any) -> None:
    assert parameter.required == wanted.required, f"{wanted.name}: required"
    assert int(parameter.kind) == int(wanted.type), f"{wanted.name}: kind"
    default, expected = parameter.default, default_of(wanted)
    if isinstance(expected, float):
        assert default is not None
        assert np.float32(default) == np.float32(expected), f"{wanted.name}: default"
    elif isinstance(expected, list):
        assert list(default) == expected, f"{wanted.name}: default"
    else:
        assert default == expected, f"{wanted.name}: default"


@pytest.mark.parametrize("schema", SCHEMAS, ids=named)
def test_the_signature_is_the_schema(schema: Any) -> None:
    operator = ours(schema)
    assert operator.deprecated == schema.deprecated
    if schema.deprecated:
        return
    same_formals(schema, list(schema.inputs), operator.inputs, "input")
    same_formals(schema, list(schema.outputs), operator.outputs, "output")
    mine = {name: p for name, p in operator.attributes.items() if p.exists_at(schema.since_version)}
    assert set(mine) == set(schema.attributes)
    for name, wanted in schema.attributes.items():
        same_attribute(mine[name], wanted)


def test_there_is_no_version_that_the_standard_does_not_have() -> None:
    known = {(s.domain, s.name, s.since_version) for s in SCHEMAS}
    for operator in standard():
        if operator.domain in ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"):
            if operator.name in UNOFFICIAL:
                continue
            for version in operator.since:
                assert (operator.domain, operator.name, version) in known, operator


def test_every_old_meaning_can_be_upgraded() -> None:
    catalog = standard()
    for operator in catalog:
        if operator is not catalog.newest(operator.domain, operator.name):
            assert "upgrade" in operator.rules, operator


def test_every_meaning_of_today_is_inferred() -> None:
    catalog = standard()
    for operator in catalog:
        if operator is catalog.newest(operator.domain, operator.name) and not operator.deprecated:
            assert "infer" in operator.rules, operator
