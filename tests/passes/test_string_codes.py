"""Strings that are moved and compared with constants become codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot import parse_model
from ingot.passes.string_codes import encode_strings

HEADER = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>'
WORDS = np.array([["a", "u"], ["strange", "a"], ["b", "strange"]], object)

COLUMNS = """g (string[n, 2] x) => (float[n, 1, 2] y, float[n, 1, 2] z, bool[n, 1] w)
    <int64[1] first = {0}, int64[1] second = {1}, string[1] word = {"a"}> {
    a = Gather <axis = 1> (x, first)
    b = ai.onnx.ml.ArrayFeatureExtractor (x, second)
    y = ai.onnx.ml.OneHotEncoder <cats_strings = ["a", "b"]> (a)
    z = ai.onnx.ml.OneHotEncoder <cats_strings = ["u", "a"]> (b)
    w = Equal (b, word) }"""

NAMES = """g (int64[n] i, bool[n] c) => (string[n] y, int64[n] z)
    <string[3] names = {"p", "q", "r"}, string[1] other = {"s"}> {
    a = Gather (names, i)
    y = Where (c, a, other)
    z = ai.onnx.ml.LabelEncoder <keys_strings = ["s", "q"], values_int64s = [7, 8]> (y) }"""


def typed(graph: str) -> ingot.Model:
    return ingot.Session(parse_model(f"{HEADER} {graph}"), providers=("reference",)).typed.model.copy()


def operators(graph: str) -> tuple[int, list[str]]:
    """How many nodes are replaced, and the operators after that."""
    model = typed(graph)
    count = encode_strings(model)
    return count, [node.op_type for node in model.graph]


@pytest.mark.parametrize(
    ("graph", "feeds", "calls"),
    [
        (COLUMNS, {"x": WORDS}, ["LabelEncoder"]),
        (NAMES, {"i": np.array([2, 0, 1]), "c": np.array([True, False, True])}, ["Gather"]),
    ],
    ids=["strings that enter", "strings that leave"],
)
def test_a_model_of_strings_is_computed_with_codes(graph: str, feeds: dict[str, Any], calls: list[str]) -> None:
    model = parse_model(f"{HEADER} {graph}")
    expected = ingot.Session(model, providers=("reference",)).run(None, feeds)
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    assert [call.node.op_type for call in session.compiled.program.calls.values()] == calls
    for _ in range(3):
        for result, wanted in zip(session.run(None, feeds), expected, strict=True):
            assert (result.dtype, result.tolist()) == (wanted.dtype, wanted.tolist())


def test_what_else_reads_strings_reads_strings() -> None:
    graph = """g (string[n, 2] x) => (float[n, 2, 1] y, float[n, 2, 1] z, string[n, 2] w) {
        y = ai.onnx.ml.OneHotEncoder <cats_strings = ["a"]> (x)
        z = ai.onnx.ml.OneHotEncoder <cats_strings = ["b"]> (x)
        w = StringConcat (x, x) }"""
    assert operators(graph) == (2, ["LabelEncoder", "OneHotEncoder", "OneHotEncoder", "StringConcat"])


@pytest.mark.parametrize(
    "graph",
    [
        """g (string[n] x) => (int64[n] y) {
            y = ai.onnx.ml.LabelEncoder <keys_strings = ["a"], values_int64s = [3]> (x) }""",
        'g (int64[n] i) => (string[n] y) <string[2] names = {"p", "q"}> { y = Gather (names, i) }',
        "g (string[n] x, string[n] z) => (bool[n] y) { a = Concat <axis = 0> (x, x) b = Concat <axis = 0> (z, z) "
        "y = Equal (a, b) }",
        'g (string[n] x) => (string[n] y, bool[n] z) <string[1] word = {"a"}> { a = Identity (x) y = Concat <axis = 0> '
        "(a, word) z = Equal (y, word) }",
    ],
    ids=["one lookup", "one table", "strings that may be equal", "strings that would be lost"],
)
def test_strings_stay_where_codes_save_nothing_or_say_too_little(graph: str) -> None:
    assert operators(graph)[0] == 0


def test_a_string_of_no_category_is_named_by_its_error() -> None:
    graph = """g (string[n, 2] x) => (float[n, 2, 2] y) {
        y = ai.onnx.ml.OneHotEncoder <cats_strings = ["u", "a"], zeros = 0> (x) }"""
    session = ingot.Session(parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    assert [call.node.op_type for call in session.compiled.program.calls.values()] == ["LabelEncoder"]
    for _ in range(3):
        assert session.run(None, {"x": WORDS[:1]})[0].tolist() == [[[0, 1], [1, 0]]]
        with pytest.raises(ingot.InputError, match="'strange' is none of the 2 categories"):
            session.run(None, {"x": WORDS})
