"""Pair: a complex tensor as a real one whose last axis holds the real and the imaginary part."""

from __future__ import annotations

from dataclasses import dataclass

from ingot.builder import Var


@dataclass(frozen=True, slots=True)
class Pair:
    """What rules pass for a complex tensor: ONNX computes with complex numbers only in this form."""

    var: Var
