"""Every function there is, with the error it may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.math import (
    activation,
    erf,
    exponential,
    hyperbolic,
    inverse,
    logarithm,
    power,
    rounding,
    trigonometric,
)
from ingot.codegen.llvm.math.lanes import Floats, lanes_of
from ingot.dataclass import dataclass

__all__ = ["FUNCTIONS", "Emitter", "Function"]

Emitter: TypeAlias = Callable[..., ir.Value]
Unit: TypeAlias = Literal["result", "half argument", "factor"]


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and how far its results may be from the true ones."""

    name: str
    emit: Emitter
    """Of a builder and one or two values of one type; the result has that type."""
    ulp_32: float
    """The largest error in units in the last place of float32; 1/2 is correct rounding."""
    ulp_64: float
    arity: int = 1
    domain: str = "every number"
    unit: Unit = "result"
    """What has the last place that the error is counted in: the result; half the argument, below 0; or the result, but
    no less than the argument times the smallest normal number, as a factor may be subnormal."""
    branches: bool = False
    """It leaves the builder in a new block."""


def _function(body: Callable[..., Floats], ulp_32: float, ulp_64: float, /, **rest: object) -> Function:
    return Function(body.__name__, lanes_of(body), ulp_32, ulp_64, **rest)  # type: ignore[arg-type]


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        function.name: function
        for function in (
            _function(exponential.exp, 1.0, 1.0),
            _function(exponential.exp_nonpositive, 1.0, 1.0, domain="x <= 0; anything above is undefined"),
            _function(exponential.exp2, 1.0, 1.0),
            _function(exponential.expm1, 2.0, 2.0),
            _function(logarithm.log, 1.0, 1.0, domain="x >= 0; NaN below"),
            _function(logarithm.log2, 1.25, 1.25, domain="x >= 0; NaN below"),
            _function(logarithm.log1p, 2.0, 2.0, domain="x >= -1; NaN below"),
            _function(power.pow, 0.75, 1.5, arity=2, domain="x >= 0, or whole y; NaN elsewhere", branches=True),
            _function(hyperbolic.tanh, 2.0, 2.25),
            _function(hyperbolic.sinh, 2.5, 2.75),
            _function(hyperbolic.cosh, 1.5, 1.5),
            _function(hyperbolic.asinh, 2.5, 2.5),
            _function(hyperbolic.acosh, 2.5, 2.5, domain="x >= 1; NaN below"),
            _function(hyperbolic.atanh, 2.5, 2.5, domain="-1 <= x <= 1; NaN outside"),
            _function(activation.sigmoid, 2.0, 2.0),
            _function(activation.silu, 2.5, 2.5, unit="factor"),
            _function(activation.softplus, 2.0, 2.0),
            _function(activation.mish, 4.0, 4.0, unit="factor"),
            _function(activation.gelu, 2.0, 2.0, unit="half argument"),
            _function(activation.gelu_tanh, 3.0, 3.0, unit="half argument"),
            _function(erf.erf, 1.5, 2.5),
            _function(trigonometric.sin, 2.0, 2.0, branches=True),
            _function(trigonometric.cos, 2.0, 2.0, branches=True),
            _function(trigonometric.tan, 3.0, 3.0, branches=True),
            _function(inverse.asin, 2.0, 2.0, domain="-1 <= x <= 1; NaN outside"),
            _function(inverse.acos, 1.5, 1.5, domain="-1 <= x <= 1; NaN outside"),
            _function(inverse.atan, 1.5, 1.5),
            _function(rounding.floor, 0.0, 0.0),
            _function(rounding.ceil, 0.0, 0.0),
            _function(rounding.trunc, 0.0, 0.0),
            _function(rounding.round_half_even, 0.0, 0.0),
            _function(rounding.sqrt, 0.5, 0.5, domain="x >= 0; NaN below"),
            _function(rounding.rsqrt, 1.5, 1.5, domain="x >= 0; NaN below"),
            _function(rounding.reciprocal, 0.5, 0.5),
            _function(rounding.fmod, 0.0, 0.0, arity=2, domain="finite x, y not 0; NaN elsewhere", branches=True),
            _function(rounding.remainder, 0.5, 0.5, arity=2, domain="finite x, y not 0; NaN elsewhere", branches=True),
        )
    }
)
