"""The public names: everything in `__all__` exists, and nothing is in it by accident."""

from __future__ import annotations

import pickle
from importlib import import_module

import pytest

import ingot


@pytest.mark.parametrize("module", ["ingot", "ingot.ir", "ingot.format", "ingot.builder", "ingot.ir.text"])
def test_every_public_name_exists_and_is_listed_in_order(module: str) -> None:
    public = import_module(module)
    for name in public.__all__:
        assert getattr(public, name) is not None
    assert len(set(public.__all__)) == len(public.__all__)
    assert set(public.__all__) <= set(dir(public))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        _ = ingot.lode


def test_errors_can_be_pickled() -> None:
    error = ingot.DecodeError("wrong", offset=5, path="model.graph", hint="try again")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.offset, again.path, again.hint) == (5, "model.graph", "try again")
    parse = ingot.ParseError("wrong", line=2, column=3, source="abc")
    assert str(pickle.loads(pickle.dumps(parse))) == str(parse)


def test_an_error_says_what_where_and_what_to_do() -> None:
    error = ingot.DecodeError("the graph is missing", offset=1234, path="model", hint="is this an ONNX model?")
    assert str(error) == "the graph is missing\n  in model at byte 1,234\n  hint: is this an ONNX model?"
