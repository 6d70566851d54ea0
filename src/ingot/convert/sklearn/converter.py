"""A fitted estimator of scikit-learn as a model: its inputs from an example, its outputs from what it can do."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.request import Request, checked_names
from ingot.convert.sklearn.conversion import REGISTER, Columns, Conversion, inside
from ingot.convert.sklearn.outputs import Output, outputs_of
from ingot.convert.sklearn.rule import children_of, has_rules, reason_against
from ingot.convert.source import Source, Tolerance
from ingot.convert.tables import PLACEHOLDER, Table, build_table, table_of, widened
from ingot.convert.unsupported import Unsupported
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ConvertError, InputError

_PRECISIONS: Mapping[str, type[np.floating[Any]]] = {"double": np.float64, "single": np.float32}


def convert_sklearn(model: Any, example: Any, request: Request) -> Source:
    """The model of a fitted estimator, and how to compare it.

    Options: `zipmap` gives probabilities as a sequence of maps from class to probability; `raw_scores` gives decision
    values in place of probabilities; `precision` is "double" (numbers are computed in float64, as scikit-learn does,
    and given as float32 where the example is) or "single".
    """
    options = request.only("scikit-learn", "zipmap", "raw_scores", "precision")
    precision = str(options.get("precision", "double"))
    if precision not in _PRECISIONS:
        raise InputError(f"there is no precision '{precision}'", hint="double or single")
    _refuse_unfitted(model)
    _refuse_unsupported(model)
    table = table_of(example, request, getattr(model, "n_features_in_", None))
    outputs = outputs_of(model, zipmap=bool(options.get("zipmap")), raw_scores=bool(options.get("raw_scores")))
    names = checked_names("output", request.output_names, [output.name for output in outputs])
    conversion = Conversion(_PRECISIONS[precision])
    number_type = _number_type(table)

    def fn(inputs: tuple[Var, ...]) -> dict[str, Var]:
        x: Any = Columns(table.columns, inputs) if table.columns else inputs[0]
        pairs = zip(names, outputs, strict=True)
        return {name: _result(output, conversion, model, x, number_type) for name, output in pairs}

    try:
        built = build_table(fn, table, type(model).__name__)
    except CheckError:
        fitted = getattr(model, "n_features_in_", None)  # a column transformer may leave out columns: others may not
        if table.columns and fitted is not None and len(table.columns) != fitted:
            message = f"the example has {len(table.columns)} columns, the model was fitted to {fitted}"
            raise InputError(message) from None
        raise

    def original(feeds: Mapping[str, Array]) -> list[Any]:
        rows = table.restore(feeds)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X has feature names, but", UserWarning)
            warnings.filterwarnings("ignore", "X does not have valid feature names, but", UserWarning)
            try:
                return [output.expected(model, widened(rows)) for output in outputs]
            except (TypeError, ValueError):  # a few that were fitted to float32 take nothing else
                return [output.expected(model, rows) for output in outputs]

    def intermediate(feeds: Mapping[str, Array]) -> dict[str, Array]:
        return inside(conversion.notes, {PLACEHOLDER: widened(table.restore(feeds))})

    return Source(
        built,
        original,
        table.examples(request.seed),
        None if table.columns else intermediate,
        tolerance=Tolerance(1e-5, 1e-6) if precision == "double" else Tolerance(1e-3, 1e-4),
    )


def _result(output: Output, conversion: Conversion, model: Any, x: Any, number_type: DType) -> Var:
    """An output as it leaves the model: numbers in the type of the example's."""
    value = output.write(conversion, model, x)
    if output.is_map:
        return value
    if value.dtype in (DType.FLOAT32, DType.FLOAT64) and value.dtype is not number_type:
        return op.Cast(value, to=int(number_type))
    return value


def _number_type(table: Table) -> DType:
    return DType.FLOAT64 if DType.FLOAT64 in table.dtypes else DType.FLOAT32


def _refuse_unfitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ConvertError(f"the {type(model).__name__} is not fitted", hint="call fit on it first") from None
    except TypeError:
        raise ConvertError(f"a {type(model).__name__} is no estimator") from None


def _refuse_unsupported(model: Any) -> None:
    unsupported = Unsupported()
    _look(model, type(model).__name__, unsupported)
    unsupported.refuse("scikit-learn")


def _look(estimator: Any, place: str, unsupported: Unsupported) -> None:
    reason = reason_against(estimator)
    if reason is not None:
        unsupported.add(type(estimator).__name__, place=place, reason=reason)
    elif not has_rules(estimator):
        unsupported.add(type(estimator).__name__, place=place, reason="there is no rule for it", hint=REGISTER)
    for child in children_of(estimator):
        _look(child, f"{place} > {type(child).__name__}", unsupported)
