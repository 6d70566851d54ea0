"""Kernels of Gaussian processes, which are made of one another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import exact_squared_distances
from ingot.convert.sklearn.conversion import Conversion
from ingot.convert.sklearn.kernels import kernel as named_kernel
from ingot.errors import ConvertError


def evaluated(c: Conversion, kernel: Any, x: Var, points: Any) -> Var:
    """The kernel of rows with points; without points, of each row with itself: shape [batch, 1]."""
    name = type(kernel).__name__
    if name in ("Sum", "Product"):
        one, other = evaluated(c, kernel.k1, x, points), evaluated(c, kernel.k2, x, points)
        return one + other if name == "Sum" else one * other
    if name == "Exponentiation":
        return op.Pow(evaluated(c, kernel.kernel, x, points), c.number(kernel.exponent))
    if name == "ConstantKernel":
        return _constant(c, x, points, kernel.constant_value)
    if name == "WhiteKernel":
        return _constant(c, x, points, kernel.noise_level if points is None else 0.0)
    if name == "DotProduct":
        square = c.number(kernel.sigma_0**2)
        if points is None:
            return op.ReduceSum(x * x, [1], keepdims=1) + square
        return op.MatMul(x, c.array(np.asarray(points).T)) + square
    if points is None:
        return _constant(c, x, points, 1.0)  # those below are of the distance, which is zero
    if name == "PairwiseKernel":
        if not isinstance(kernel.metric, str):
            raise ConvertError("a PairwiseKernel of a Python function has no rule")
        return named_kernel(c, kernel.metric, x, points, gamma=kernel.gamma, coef0=1.0)
    return _stationary(c, name, kernel, x, points)


def _constant(c: Conversion, x: Var, points: Any, value: float) -> Var:
    return c.filled(x, c.array(np.full(1 if points is None else len(points), value)))


def _stationary(c: Conversion, name: str, kernel: Any, x: Var, points: Any) -> Var:
    scale = np.asarray(kernel.length_scale, np.float64)
    if name == "ExpSineSquared":
        away = op.Sqrt(exact_squared_distances(c, x, points))
        waves = op.Sin(away * c.number(np.pi / kernel.periodicity)) / c.number(float(scale))
        return op.Exp(c.number(-2) * waves * waves)
    if name == "RationalQuadratic":
        squares = exact_squared_distances(c, x, points) / c.number(2 * kernel.alpha * float(scale) ** 2)
        return op.Pow(c.number(1) + squares, c.number(-kernel.alpha))
    squares = exact_squared_distances(c, x / c.array(np.atleast_1d(scale)), np.asarray(points) / scale)
    if name == "RBF" or (name == "Matern" and np.isinf(kernel.nu)):
        return op.Exp(squares * c.number(-0.5))
    if name == "Matern" and kernel.nu in (0.5, 1.5, 2.5):
        away = op.Sqrt(squares) * c.number(np.sqrt(2 * kernel.nu))
        polynomial = c.number(1)
        if kernel.nu >= 1.5:
            polynomial = polynomial + away
        if kernel.nu == 2.5:
            polynomial = polynomial + away * away / c.number(3)
        return polynomial * op.Exp(op.Neg(away))
    raise ConvertError(f"there is no rule for the kernel {kernel}")
