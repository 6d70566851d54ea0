"""Every operator that onnxruntime has a schema for is defined here, or refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime

import ingot
from ingot.errors import UnsupportedError
from ingot.ops.catalog import standard
from ingot.ops.contrib.refused import INTERNAL_NHWC, REFUSED
from ingot.ops.define import Operator

SCHEMAS: dict[tuple[str, str], Any] = {
    (schema.domain, schema.name): schema
    for schema in sorted(onnxruntime.get_all_operator_schema(), key=lambda schema: schema.since_version)
}
ON_CPU = {(kernel.domain, kernel.op_name) for kernel in onnxruntime.get_all_opkernel_def()}
OF_MICROSOFT = [key for key in SCHEMAS if key[0].startswith("com.microsoft")]
COPIES = {("", "MemcpyFromHost"), ("", "MemcpyToHost")}
"""What onnxruntime puts between its providers; its CPU has them so that a graph may be divided."""


def ours(key: tuple[str, str]) -> Operator | None:
    return standard().newest(*key)


def test_all_that_onnxruntime_computes_on_a_cpu_is_defined() -> None:
    assert not [key for key in ON_CPU - COPIES if ours(key) is None]


def test_each_schema_is_defined_or_refused_and_never_both() -> None:
    known = {key for key in SCHEMAS if key[0] != INTERNAL_NHWC}
    defined = {key for key in known if ours(key) is not None}
    assert known - defined == set(REFUSED) & known
    assert set(REFUSED) <= known
    assert not any(ours(key) for key in REFUSED)


@pytest.mark.parametrize("key", [key for key in OF_MICROSOFT if ours(key) is not None], ids=".".join)
def test_a_schema_is_that_of_onnxruntime(key: tuple[str, str]) -> None:
    """Inputs, outputs and attributes by number, order and kind; types may be more."""
    schema, mine = SCHEMAS[key], ours(key)
    assert mine is not None
    for theirs, formals in ((schema.inputs, mine.inputs), (schema.outputs, mine.outputs)):
        assert len(theirs) == len(formals)
        for formal, wanted in zip(formals, theirs, strict=True):
            variadic = str(wanted.option).endswith("Variadic")
            assert formal.variadic == variadic, formal.name
            assert formal.optional or str(wanted.option).endswith(("Single", "Variadic")), formal.name
    assert set(mine.attributes) == set(schema.attributes)
    for name, attribute in schema.attributes.items():
        kind = str(attribute.type).rsplit(".", 1)[-1]
        assert mine.attributes[name].kind.name == kind, name
        assert not attribute.required or mine.attributes[name].required or mine.attributes[name].default is not None


@pytest.mark.parametrize("key", [*REFUSED, (INTERNAL_NHWC, "Conv")], ids=lambda key: f"{key[0]}.{key[1]}")
def test_a_refused_operator_is_named_with_what_to_do(key: tuple[str, str]) -> None:
    domain, name = key
    node = helper.make_node(name, ["x"], ["y"], domain=domain, name="the_node")
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])]
    graph = helper.make_graph([node], "g", given, [helper.make_empty_tensor_value_info("y")])
    imports = [helper.make_opsetid("", 7)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    with pytest.raises(UnsupportedError) as raised:
        ingot.Session(model.SerializeToString()).run(None, {"x": np.zeros(2, np.float32)})
    assert f"{domain or 'ai.onnx'}.{name} is not supported: " in str(raised.value)
    assert raised.value.hint
    assert "the_node" in str(raised.value)
