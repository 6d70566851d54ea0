"""Encoders of categories: a position among the known ones, and a table of what stands for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import refusal, rule
from ingot.dtypes import Array, DType
from ingot.errors import ConvertError
from ingot.ir.tensor import Tensor


def positions(c: Conversion, x: Var, categories: Any) -> Var:
    """The place of each element among the categories, -1 where it is none of them: int64 of the shape of `x`."""
    known = np.asarray(categories)
    if x.dtype is DType.STRING:
        if any(not isinstance(item, str) for item in known.tolist()):
            raise ConvertError("categories of strings have something else among them", hint="fill in missing ones")
        keys: dict[str, Any] = {"keys_strings": [str(item) for item in known.tolist()]}
        if not len(known):
            raise ConvertError("a column has no categories")
    else:
        x = c.cast(x, np.float64)
        keys = {"keys_tensor": Tensor(known.astype(np.float64))}
    places = Tensor(np.arange(len(known), dtype=np.int64))
    default = Tensor(np.array([-1], np.int64))
    places_of: Var = op.domain("ai.onnx.ml").LabelEncoder(x, **keys, values_tensor=places, default_tensor=default)
    return places_of


def _table(c: Conversion, x: Rows, place: int, categories: Any, table: Array) -> Var:
    """Rows of a table by the category of a column; its last row is for those not known."""
    index = op.Reshape(positions(c, c.column(x, place), categories), [-1])
    return op.Gather(table, op.Where(index < np.array(0, np.int64), np.array(len(table) - 1, np.int64), index), axis=0)


@rule("transform", "OneHotEncoder")
def one_hot(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = [
        _table(c, x, place, categories, c.array(_hot_rows(estimator, place, len(categories))))
        for place, categories in enumerate(estimator.categories_)
    ]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=1)


def _hot_rows(estimator: Any, place: int, count: int) -> Array:
    groups = _groups(estimator, place, count)
    width = int(groups.max(initial=-1)) + 1
    table = np.vstack([np.eye(width)[groups], np.zeros(width)])
    rare = getattr(estimator, "infrequent_categories_", [None] * (place + 1))[place]
    if estimator.handle_unknown in ("infrequent_if_exist", "warn") and rare is not None:
        table[-1, -1] = 1  # rare categories share the last column
    dropped = None if estimator.drop_idx_ is None else estimator._drop_idx_after_grouping[place]
    return table if dropped is None else np.delete(table, int(dropped), axis=1)


def _groups(estimator: Any, place: int, count: int) -> Array:
    """The column each category has: its own, or the one that rare ones share."""
    if not getattr(estimator, "_infrequent_enabled", False):
        return np.arange(count)
    mapping = estimator._default_to_infrequent_mappings[place]
    return np.arange(count) if mapping is None else np.asarray(mapping)


@rule("transform", "OrdinalEncoder")
def ordinal(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = []
    for place, categories in enumerate(estimator.categories_):
        values = _groups(estimator, place, len(categories)).astype(np.float64)
        missing = getattr(estimator, "_missing_indices", {}).get(place)
        if missing is not None:
            values[missing] = estimator.encoded_missing_value
        unknown = np.nan if estimator.unknown_value is None else float(estimator.unknown_value)
        parts.append(_table(c, x, place, categories, c.array(np.append(values, unknown)[:, None])))
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=1)


@rule("transform", "TargetEncoder")
def target(c: Conversion, estimator: Any, x: Rows) -> Var:
    features = len(estimator.categories_)
    several = len(estimator.encodings_) > features
    parts = []
    for number, encoding in enumerate(estimator.encodings_):
        classes = len(estimator.classes_) if several else 1
        place, which = divmod(number, classes)
        mean = np.atleast_1d(estimator.target_mean_)[which]
        table = c.array(np.append(encoding, mean)[:, None])
        parts.append(_table(c, x, place, estimator.categories_[place], table))
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=1)


@rule("transform", "LabelEncoder")
def label_encoder(c: Conversion, estimator: Any, x: Rows) -> Var:
    assert isinstance(x, Var)
    return op.Reshape(positions(c, x, estimator.classes_), [-1, 1])


@rule("transform", "LabelBinarizer")
def label_binarizer(c: Conversion, estimator: Any, x: Rows) -> Var:
    assert isinstance(x, Var)
    if estimator.y_type_.startswith("multilabel"):
        return op.Cast(x, to=7)
    low, high, count = estimator.neg_label, estimator.pos_label, len(estimator.classes_)
    table = np.where(np.vstack([np.eye(count), np.zeros(count)]) > 0, high, low).astype(np.int64)
    if estimator.y_type_ == "binary":
        table = table[:, -1:]
    index = op.Reshape(positions(c, x, estimator.classes_), [-1])
    return op.Gather(table, op.Where(index < np.array(0, np.int64), np.array(count, np.int64), index), axis=0)


@refusal("MultiLabelBinarizer")
def ragged(estimator: Any) -> str | None:
    del estimator
    return "it takes lists of different lengths, which no tensor holds"


@rule("transform", "KBinsDiscretizer")
def discretised(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    parts = []
    for place, edges in enumerate(estimator.bin_edges_):
        inner = np.asarray(edges, np.float64)[1:-1]
        column = c.column(rows, place)
        if len(inner):
            number = op.ReduceSum(op.Cast(column >= c.array(inner[None]), to=7), [1], keepdims=1)
        else:
            number = op.Cast(column * c.number(0), to=7)
        if estimator.encode == "ordinal":
            parts.append(c.cast(number, c.real))
        else:
            parts.append(op.Gather(c.array(np.eye(len(inner) + 1)), op.Reshape(number, [-1]), axis=0))
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=1)


@rule("transform", "PolynomialFeatures")
def polynomial(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    columns = [c.column(rows, place) for place in range(c.width(rows))]
    one: Var | None = None
    parts = []
    for powers in np.asarray(estimator.powers_).tolist():
        product: Var | None = None
        for column, power in zip(columns, powers, strict=True):
            for _ in range(power):
                product = column if product is None else product * column
        if product is None:
            one = one if one is not None else c.filled(x, c.array([1]))
            product = one
        parts.append(product)
    return op.Concat(*parts, axis=1)


@rule("transform", "SplineTransformer")
def splines(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    parts = [_spline(c, estimator, c.column(rows, at), spline) for at, spline in enumerate(estimator.bsplines_)]
    columns = op.Concat(*parts, axis=1)
    if estimator.include_bias:
        return columns
    width = basis_width(estimator)
    remaining = [at for at in range(width * len(parts)) if (at + 1) % width]
    return op.Gather(columns, np.array(remaining, np.int64), axis=1)


def basis_width(estimator: Any) -> int:
    """How many splines each feature has."""
    spline = estimator.bsplines_[0]
    count = len(spline.t) - spline.k - 1
    return int(count - spline.k) if estimator.extrapolation == "periodic" else int(count)


def _spline(c: Conversion, estimator: Any, x: Var, spline: Any) -> Var:
    """Piecewise polynomials: the interval a number lies in picks the coefficients of every spline there."""
    from scipy.interpolate import PPoly

    knots, degree = np.asarray(spline.t, np.float64), int(spline.k)
    low, high = float(knots[degree]), float(knots[-degree - 1])
    pieces = [PPoly.from_spline((knots, column, degree)) for column in np.asarray(spline.c).T]
    breaks = pieces[0].x
    edges = np.unique(np.concatenate([[low], breaks[(breaks > low) & (breaks < high)], [high]]))
    starts = np.searchsorted(breaks, edges[:-1], side="right") - 1
    coefficients = np.stack([piece.c[:, starts] for piece in pieces], axis=2)  # powers, highest first, by interval
    inside = op.Clip(x, c.number(low), c.number(high))
    if estimator.extrapolation == "periodic":
        span = c.number(high - low)
        moved = x - c.number(low)
        inside = moved - op.Floor(moved / span) * span + c.number(low)
    at = _interval(c, inside, edges)
    value = _evaluated(c, inside, at, edges, coefficients)
    if estimator.extrapolation == "zero":
        outside = op.Or(x < c.number(low), x > c.number(high))
        return op.Where(outside, c.number(0), value)
    if estimator.extrapolation == "linear":
        rise_low = np.array([piece.derivative()(low) for piece in pieces])[None]
        rise_high = np.array([piece.derivative()(np.nextafter(high, low)) for piece in pieces])[None]
        below, above = op.Min(x - c.number(low), c.number(0)), op.Max(x - c.number(high), c.number(0))
        return value + below * c.array(rise_low) + above * c.array(rise_high)
    if estimator.extrapolation == "continue":
        first, last = coefficients[:, 0], coefficients[:, -1]
        low_side = _line(c, x - c.number(float(edges[0])), first)
        high_side = _line(c, x - c.number(float(edges[-2])), last)
        return op.Where(x < c.number(low), low_side, op.Where(x > c.number(high), high_side, value))
    return value


def _interval(c: Conversion, x: Var, edges: Array) -> Var:
    if len(edges) == 2:
        return op.Reshape(op.Cast(x * c.number(0), to=7), [-1])
    return op.ReduceSum(op.Cast(x >= c.array(edges[1:-1][None]), to=7), [1], keepdims=0)


def _evaluated(c: Conversion, x: Var, at: Var, edges: Array, coefficients: Array) -> Var:
    away = x - op.Unsqueeze(op.Gather(c.array(edges[:-1]), at), [1])
    total: Var | None = None
    for table in coefficients:
        part = op.Gather(c.array(table), at, axis=0)
        total = part if total is None else total * away + part
    assert total is not None
    return total


def _line(c: Conversion, away: Var, coefficients: Array) -> Var:
    total: Var | Array = c.array(coefficients[0][None])
    for row in coefficients[1:]:
        total = away * total + c.array(row[None])
    return total if isinstance(total, Var) else away * c.number(0) + total
