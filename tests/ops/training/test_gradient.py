"""Gradient: the derivative of a value of the graph, against differences between close points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot

HEAD = '<ir_version: 8, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>\n'
RNG = np.random.default_rng(0)


def graph(nodes: str, inputs: str) -> str:
    names = [part.split()[-1] for part in inputs.split(";")]
    shown = ", ".join(part.strip() for part in inputs.split(";"))
    quoted = ", ".join(f'"{name}"' for name in names)
    results = ", ".join(f"d_{name}" for name in names)
    typed = ", ".join(f"{part.split()[0]} d_{name}" for name, part in zip(names, inputs.split(";"), strict=True))
    gradient = f'{results} = ai.onnx.preview.training.Gradient <xs = [{quoted}], y = "y"> ({", ".join(names)})'
    lines = [*nodes.split(";"), "y = ReduceSum <keepdims = 0> (z)", gradient]
    return f"{HEAD}g ({shown}) => (double y, {typed}) {{\n" + "\n".join(lines) + "\n}"


def differences(session: ingot.Session, feeds: dict[str, Any], name: str) -> Any:
    """The derivative of `y` by an input, from the values half a millionth to either side."""
    found = np.zeros_like(feeds[name])
    for place in np.ndindex(found.shape):
        values = []
        for step in (-5e-7, 5e-7):
            moved = feeds[name].copy()
            moved[place] += step
            values.append(session.run(["y"], {**feeds, name: moved})[0])
        found[place] = (values[1] - values[0]) / 1e-6
    return found


CASES = {
    "arithmetic": ("t = Mul (a, b); u = Div (t, b); v = Sub (u, a); z = Add (v, t)", "double[2,3] a; double[3] b"),
    "exponentials": ("t = Exp (a); u = Tanh (t); v = Sigmoid (u); w = Sqrt (v); z = Log (w)", "double[2,3] a"),
    "softmax": ("t = Softmax (a); z = Mul (t, b)", "double[2,3] a; double[2,3] b"),
    "a product": ("t = MatMul (a, b); z = Tanh (t)", "double[2,3] a; double[3,4] b"),
    "views": (
        "t = Transpose <perm = [1, 0]> (a); s = Constant <value_ints = [2, 3]> (); u = Reshape (t, s); z = Mul (u, a)",
        "double[2,3] a",
    ),
    "a gate": ("t = Gelu (a); u = Mul (t, b); z = Erf (u)", "double[2,4] a; double[4] b"),
    "a convolution": ("t = Conv <pads = [1, 1, 1, 1]> (a, b); z = Sigmoid (t)", "double[1,2,4,4] a; double[3,2,3,3] b"),
    "determinants": ("z = Det (a)", "double[2,3,3] a"),
    "joined": ("t = Concat <axis = 1> (a, b); z = Mul (t, t)", "double[2,3] a; double[2,2] b"),
}


def shape(type_: Any) -> Any:
    return type_.shape


@pytest.mark.parametrize("name", CASES)
def test_a_gradient_is_the_slope(name: str) -> None:
    nodes, inputs = CASES[name]
    session = ingot.Session(ingot.parse_model(graph(nodes, inputs)))
    feeds = {key: RNG.uniform(0.3, 1.7, shape(type_)) for key, type_ in session.inputs.items()}
    results = session.run(None, feeds)[1:]
    for key, result in zip(feeds, results, strict=True):
        np.testing.assert_allclose(result, differences(session, feeds, key), rtol=1e-5, atol=1e-7)


def test_what_has_no_derivative_is_named() -> None:
    session = ingot.Session(ingot.parse_model(graph("z = Det (a)", "double[40,40] a")))
    with pytest.raises(ingot.UnsupportedError, match="Det has no derivative"):
        session.run(None, {"a": np.eye(40)})


def test_a_value_that_is_needed_and_not_given_is_named() -> None:
    text = f"""{HEAD}g (double[2] a, double[2] b) => (double[2] d) {{
        y = Mul (a, b)
        d = ai.onnx.preview.training.Gradient <xs = ["a"], y = "y"> (a)
    }}"""
    with pytest.raises(ingot.CheckError, match="cannot compute 'y' without 'b'"):
        ingot.Session(ingot.parse_model(text)).run(None, {"a": np.ones(2), "b": np.ones(2)})
