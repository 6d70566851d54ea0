"""Functions become their bodies."""

from __future__ import annotations

import ingot
from ingot.passes.inline import inline_functions
from passes.written import applied

TEXT = """<ir_version: 14, opset_import: ["" : 28, "local" : 1]>
g (float[2] x) => (float[2] y) { a = local.Scaled<by = 2.0> (x)\n y = local.Scaled<by = 3.0> (a) }
<domain: "local", opset_import: ["" : 28]>
Scaled <by> (x) => (y) { w = Constant<value_float: float = @by> ()\n y = Mul (x, w) }"""


def test_each_call_is_a_copy_of_the_body_with_its_attributes() -> None:
    model = ingot.parse_model(TEXT)
    count, nodes = applied(inline_functions, model)
    assert count == 2
    assert [node.split("(")[0].split(" = ")[1] for node in nodes] == ["Constant", "Mul", "Constant", "Mul"]
    assert not model.functions


def test_a_model_without_functions_stays() -> None:
    assert applied(inline_functions, "g (float[2] x) => (float[2] y) { y = Relu (x) }") == (0, ["y = Relu(x)"])
