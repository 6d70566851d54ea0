"""Transformers that are a Python function, as far as numpy's own; transformed targets; sketches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.builder.known import shape_of
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.families.composition import joined
from ingot.convert.sklearn.rule import children, refusal, rule
from ingot.errors import ConvertError

_UFUNCS: dict[Any, Callable[[Conversion, Var], Var]] = {
    np.log: lambda _, x: op.Log(x),
    np.log1p: lambda c, x: op.Log(x + c.number(1)),
    np.log2: lambda c, x: op.Log(x) / c.number(np.log(2)),
    np.log10: lambda c, x: op.Log(x) / c.number(np.log(10)),
    np.exp: lambda _, x: op.Exp(x),
    np.expm1: lambda c, x: op.Exp(x) - c.number(1),
    np.exp2: lambda c, x: op.Pow(c.number(2), x),
    np.sqrt: lambda _, x: op.Sqrt(x),
    np.cbrt: lambda c, x: op.Sign(x) * op.Pow(op.Abs(x), c.number(1 / 3)),
    np.square: lambda _, x: x * x,
    np.abs: lambda _, x: op.Abs(x),
    np.fabs: lambda _, x: op.Abs(x),
    np.negative: lambda _, x: op.Neg(x),
    np.reciprocal: lambda _, x: op.Reciprocal(x),
    np.sin: lambda _, x: op.Sin(x),
    np.cos: lambda _, x: op.Cos(x),
    np.tan: lambda _, x: op.Tan(x),
    np.arctan: lambda _, x: op.Atan(x),
    np.tanh: lambda _, x: op.Tanh(x),
    np.sinh: lambda _, x: op.Sinh(x),
    np.cosh: lambda _, x: op.Cosh(x),
    np.arcsinh: lambda _, x: op.Asinh(x),
    np.floor: lambda _, x: op.Floor(x),
    np.ceil: lambda _, x: op.Ceil(x),
    np.rint: lambda _, x: op.Round(x),
    np.round: lambda _, x: op.Round(x),
    np.sign: lambda _, x: op.Sign(x),
    np.nan_to_num: lambda c, x: op.Where(op.IsNaN(x), c.number(0), x),
}


@refusal("FunctionTransformer")
def unknown(estimator: Any) -> str | None:
    if _is_plain(estimator.func) or _known(estimator.func, estimator.kw_args) is not None:
        return None
    name = getattr(estimator.func, "__name__", repr(estimator.func))
    return f"its function '{name}' is one of Python; numpy's elementwise ones have rules"


def _is_plain(function: Any) -> bool:
    """Whether a function gives its argument back: none, or scikit-learn's own check."""
    inner = getattr(function, "func", function)
    own = getattr(inner, "__module__", "").startswith("sklearn.")
    return function is None or (own and getattr(inner, "__name__", "") in ("check_array", "_identity"))


def _known(function: Any, named: Any) -> Callable[[Conversion, Var], Var] | None:
    try:
        return None if named else _UFUNCS.get(function)
    except TypeError:
        return None


@rule("transform", "FunctionTransformer")
def applied(c: Conversion, estimator: Any, x: Rows) -> Var:
    if _is_plain(estimator.func):
        return x if isinstance(x, Var) else joined(c, list(x.values))
    rule = _known(estimator.func, estimator.kw_args)
    if rule is None:
        raise ConvertError(unknown(estimator) or "")
    return rule(c, c.matrix(x))


@children("TransformedTargetRegressor")
def inner(estimator: Any) -> list[Any]:
    return [estimator.regressor_]


@refusal("TransformedTargetRegressor")
def no_way_back(estimator: Any) -> str | None:
    kind = type(estimator.transformer_).__name__
    if kind == "FunctionTransformer":
        back = estimator.transformer_.inverse_func
        known = _is_plain(back) or _known(back, estimator.transformer_.inv_kw_args) is not None
        return None if known else "the inverse of its function is one of Python"
    return None if kind in _BACK else f"the inverse of {kind} has no rule"


_BACK: dict[str, Callable[[Conversion, Any, Var], Var]] = {
    "StandardScaler": lambda c, t, y: (
        (y * c.array(t.scale_[None]) if t.with_std else y) + (c.array(t.mean_[None]) if t.with_mean else c.number(0))
    ),
    "MinMaxScaler": lambda c, t, y: (y - c.array(t.min_[None])) / c.array(t.scale_[None]),
    "MaxAbsScaler": lambda c, t, y: y * c.array(t.scale_[None]),
    "RobustScaler": lambda c, t, y: (
        (y * c.array(t.scale_[None]) if t.with_scaling else y)
        + (c.array(t.center_[None]) if t.with_centering else c.number(0))
    ),
}


@rule("predict", "TransformedTargetRegressor")
def target(c: Conversion, estimator: Any, x: Rows) -> Var:
    raw = c.predict(estimator.regressor_, x)
    transformer = estimator.transformer_
    if type(transformer).__name__ != "FunctionTransformer":
        return _BACK[type(transformer).__name__](c, transformer, raw)
    if _is_plain(transformer.inverse_func):
        return raw
    rule = _known(transformer.inverse_func, transformer.inv_kw_args)
    assert rule is not None
    return rule(c, raw)


@rule("transform", "PolynomialCountSketch")
def sketch(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Products of count sketches are their circular convolution: by a table of sums of places."""
    rows = c.matrix(x)
    degree, features = estimator.indexHash_.shape
    size = estimator.n_components
    if estimator.coef0:
        extra = c.filled(x, c.array([np.sqrt(estimator.coef0)]))
        rows = op.Concat(rows * c.number(np.sqrt(estimator.gamma)), extra, axis=1)
    else:
        rows = rows * c.number(np.sqrt(estimator.gamma))
    total: Var | None = None
    for level in range(degree):
        table = np.zeros((features, size))
        table[np.arange(features), estimator.indexHash_[level]] = estimator.bitHash_[level]
        part = op.MatMul(rows, c.array(table))
        total = part if total is None else _circular(total, part, size)
    assert total is not None
    return total


def _circular(one: Var, other: Var, size: int) -> Var:
    turned = op.Gather(other, (np.arange(size)[None] - np.arange(size)[:, None]) % size, axis=1)
    return op.ReduceSum(op.Unsqueeze(one, [2]) * turned, [1], keepdims=0)


@refusal("PatchExtractor")
def random_patches(estimator: Any) -> str | None:
    return None if estimator.max_patches is None else "max_patches picks patches at random"


@rule("transform", "PatchExtractor")
def patches(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Every patch of every image, row by row."""
    assert isinstance(x, Var)
    sizes = shape_of(x.value)
    assert sizes is not None
    height, width = (int(size) for size in sizes[1:3] if isinstance(size, int))
    tall, wide = estimator.patch_size or (max(height // 10, 1), max(width // 10, 1))
    tops, lefts = np.arange(height - tall + 1), np.arange(width - wide + 1)
    rows = tops[:, None, None, None] + np.arange(tall)[None, None, :, None]
    columns = lefts[None, :, None, None] + np.arange(wide)[None, None, None, :]
    places = (rows * width + columns).reshape(-1, tall, wide)
    channels = [size for size in sizes[3:] if isinstance(size, int)]
    flat = op.Reshape(c.cast(x, c.real), np.array([0, -1, *channels], np.int64))
    return op.Reshape(op.Gather(flat, places, axis=1), np.array([-1, tall, wide, *channels], np.int64))


@rule("transform", "DictVectorizer")
def vectors(c: Conversion, estimator: Any, x: Rows) -> Var:
    """One dictionary of numbers as one row."""
    names = list(estimator.feature_names_)
    strings = all(isinstance(name, str) for name in names)
    vocabulary = {"string_vocabulary": names} if strings else {"int64_vocabulary": [int(name) for name in names]}
    return c.cast(op.domain("ai.onnx.ml").DictVectorizer(x, **vocabulary), c.real)
