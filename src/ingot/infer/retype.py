"""Giving an input another type, and what is computed from it those that follow."""

from __future__ import annotations

from contextlib import suppress

from ingot.errors import CheckError, InputError
from ingot.infer.driver import infer
from ingot.ir.model import Model, nested_graphs
from ingot.ir.spelling import tensor_type
from ingot.ir.types import Type


def set_type(model: Model, name: str, type_: Type | str) -> None:
    """Give an input of the main graph another type: other sizes, another rank, other elements.

    Declared types of what is computed are forgotten and inferred anew, as far as operators take what they are given;
    `check` says where they do not. A text is one
    as messages show it: `float32[batch, 3]`. InputError if there is no such input.
    """
    value = model.graph.value(name)
    if not value.is_input:
        raise InputError(f"'{name}' is not an input", hint=f"the inputs are {', '.join(model.graph.inputs.names)}")
    value.type = tensor_type(type_) if isinstance(type_, str) else type_
    for graph in nested_graphs(model.graph):
        for node in graph.nodes:
            for output in node.outputs:
                output.type = None
    with suppress(CheckError):
        infer(model, name_sizes=False)
