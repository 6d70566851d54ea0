"""Transcendental functions as straight-line vector code, each with a stated largest error."""

from __future__ import annotations

from ingot.codegen.llvm.math.registry import FUNCTIONS, Emitter, Function

__all__ = ["FUNCTIONS", "Emitter", "Function"]
