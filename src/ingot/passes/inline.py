"""Inlining: calls of the model's functions become their bodies, so that every other pass sees one graph."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.inline import inline
from ingot.ir.model import Model


def inline_functions(model: Model, facts: Facts | None = None) -> int:  # noqa: ARG001 - what every pass is given
    """Replace every call of a function of the model by its body; how many calls. CheckError as `ir.inline` has it."""
    return inline(model) if model.functions else 0
