"""Tables that look values up by keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, constant
from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.convert.tensorflow.operands import sizes_of
from ingot.convert.tensorflow.resource import Resource
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.tables import entries, entry_count
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError

_ML = op.domain("ai.onnx.ml")


@rule("LookupTableFindV2")
def find(site: Site, table: Any, x: Var, default: Var, *, Tin: Any, Tout: Any) -> Var:  # noqa: N803
    keys, values = _entries(table, Tin, Tout)
    if values.ndim != 1:
        raise UnsupportedError("a table of vectors")
    if len(keys) == 0:
        return op.Expand(default, sizes_of(x))
    missing = constant(default)
    fallback = values[:1] if missing is None else np.asarray(missing).reshape(1)
    answers: Var = cast(_encoded(x, keys, values, fallback), dtype_of(Tout))
    if missing is not None:
        return answers
    there = _encoded(x, keys, np.ones(len(keys), np.int64), np.zeros(1, np.int64))
    return op.Where(cast(there, DType.BOOL), answers, default)


@rule("LookupTableExportV2")
def export(site: Site, table: Any, *, Tkeys: Any, Tvalues: Any) -> Any:  # noqa: N803
    return _entries(table, Tkeys, Tvalues)


@rule("LookupTableSizeV2")
def size(site: Site, table: Any) -> Any:
    if not isinstance(table, Resource):
        raise UnsupportedError("a table that the function makes itself")
    return entry_count(table)


def _entries(table: Any, keys: Any, values: Any) -> tuple[Array, Array]:
    if not isinstance(table, Resource):
        raise UnsupportedError("a table that the function makes itself")
    return entries(table, keys, values)


def _encoded(x: Var, keys: Array, values: Array, missing: Array) -> Var:
    """What a table has for `x`, in the types that ONNX's tables have."""
    own, kind = _kind(keys)
    result_type, to = _kind(values)
    attributes: dict[str, Any] = {
        f"keys_{kind}s": keys.astype(own.numpy).tolist(),
        f"values_{to}s": values.astype(result_type.numpy).tolist(),
        f"default_{to}": missing.astype(result_type.numpy).tolist()[0],
    }
    encoded: Var = _ML.LabelEncoder(cast(x, own), **attributes)
    return encoded


def _kind(array: Array) -> tuple[DType, str]:
    if array.dtype.kind in "OSU":
        return DType.STRING, "string"
    if array.dtype.kind == "f":
        if array.dtype.itemsize > 4:
            raise UnsupportedError("a table of float64")
        return DType.FLOAT32, "float"
    return DType.INT64, "int64"
