"""Every function there is, with the error it may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Literal, TypeAlias

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.math.lanes import lanes_of
from ingot.dataclass import dataclass

__all__ = ["FUNCTIONS", "Emitter", "Function"]

Emitter: TypeAlias = Callable[..., ir.Value]
Unit: TypeAlias = Literal["result", "half argument", "factor"]


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and how far its results may be from the true ones."""

    name: str
    family: str
    """The module that it is in, which is imported when it is first emitted."""
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

    @property
    def emit(self) -> Emitter:
        """Emits it: of a builder and one or two values of one type; the result has that type."""
        return _emitter(self.family, self.name)


@cache
def _emitter(family: str, name: str) -> Emitter:
    return lanes_of(getattr(import_module(f"ingot.codegen.llvm.math.{family}"), name))


_DIVISIBLE = "finite x, y not 0; NaN elsewhere"

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        function.name: function
        for function in (
            Function("exp", "exponential", 1.0, 1.0),
            Function("exp_nonpositive", "exponential", 1.0, 1.0, domain="x <= 0; anything above is undefined"),
            Function("exp2", "exponential", 1.0, 1.0),
            Function("expm1", "exponential", 2.0, 2.0),
            Function("log", "logarithm", 1.0, 1.0, domain="x >= 0; NaN below"),
            Function("log2", "logarithm", 1.25, 1.25, domain="x >= 0; NaN below"),
            Function("log1p", "logarithm", 2.0, 2.0, domain="x >= -1; NaN below"),
            Function("pow", "power", 0.75, 1.5, arity=2, domain="x >= 0, or whole y; NaN elsewhere", branches=True),
            Function("tanh", "hyperbolic", 2.0, 2.25),
            Function("sinh", "hyperbolic", 2.5, 2.75),
            Function("cosh", "hyperbolic", 1.5, 1.5),
            Function("asinh", "hyperbolic", 2.5, 2.5),
            Function("acosh", "hyperbolic", 2.5, 2.5, domain="x >= 1; NaN below"),
            Function("atanh", "hyperbolic", 2.5, 2.5, domain="-1 <= x <= 1; NaN outside"),
            Function("sigmoid", "activation", 2.0, 2.0),
            Function("silu", "activation", 2.5, 2.5, unit="factor", branches=True),
            Function("softplus", "activation", 2.0, 2.0),
            Function("mish", "activation", 4.0, 4.0, unit="factor"),
            Function("gelu", "activation", 2.0, 2.0, unit="half argument"),
            Function("gelu_tanh", "activation", 3.0, 3.0, unit="half argument", branches=True),
            Function("erf", "erf", 1.5, 2.5),
            Function("sin", "trigonometric", 2.0, 2.0, branches=True),
            Function("cos", "trigonometric", 2.0, 2.0, branches=True),
            Function("tan", "trigonometric", 3.0, 3.0, branches=True),
            Function("asin", "inverse", 2.0, 2.0, domain="-1 <= x <= 1; NaN outside"),
            Function("acos", "inverse", 1.5, 1.5, domain="-1 <= x <= 1; NaN outside"),
            Function("atan", "inverse", 1.5, 1.5),
            Function("floor", "rounding", 0.0, 0.0),
            Function("ceil", "rounding", 0.0, 0.0),
            Function("trunc", "rounding", 0.0, 0.0),
            Function("round_half_even", "rounding", 0.0, 0.0),
            Function("sqrt", "rounding", 0.5, 0.5, domain="x >= 0; NaN below"),
            Function("rsqrt", "rounding", 1.5, 1.5, domain="x >= 0; NaN below"),
            Function("reciprocal", "rounding", 0.5, 0.5),
            Function("fmod", "rounding", 0.0, 0.0, arity=2, domain=_DIVISIBLE, branches=True),
            Function("remainder", "rounding", 0.5, 0.5, arity=2, domain=_DIVISIBLE, branches=True),
        )
    }
)
