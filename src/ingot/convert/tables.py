"""Tabular inputs: what an example says about the inputs of a model, and rows like it to compare on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot.builder import Var, build
from ingot.convert.request import Request, checked_names
from ingot.dims import parse
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.infer.building import builder_checker
from ingot.ir.model import Model
from ingot.ir.types import MapType, TensorType, Type

_VARIANTS = (1, 7, 40)
"""How many rows each variant of an example has."""
_MOST_ROWS = 200
_BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Table:
    """The inputs of a tabular model: one matrix, one list of documents, one column of a frame each, or a dictionary.

    `columns` are the names of a frame's columns, None for a matrix or a list. `restore` makes of feeds what the
    original takes.
    """

    types: dict[str, Type]
    example: dict[str, Array]
    columns: tuple[str, ...] | None
    restore: Callable[[Mapping[str, Array]], Any]
    rows: tuple[Mapping[Any, Any], ...] = ()
    """Dictionaries, where the model takes one of them at a time."""

    @property
    def dtypes(self) -> set[DType]:
        """The element types of the inputs, of dictionaries those of their values."""
        values = (type_.value if isinstance(type_, MapType) else type_ for type_ in self.types.values())
        return {type_.dtype for type_ in values if isinstance(type_, TensorType)}

    def examples(self, seed: int) -> list[dict[str, Any]]:
        """What to compare on: the example and variants of it, or the dictionaries one by one."""
        [name, *_] = self.types
        return [{name: row} for row in self.rows] if self.rows else list(variants(self.example, seed))


def table_of(example: Any, request: Request, features: int | None, *, default: str = "X") -> Table:
    """The inputs that an example stands for; without one, a float32 matrix of as many features.

    InputError for an example of a kind that has no place in a model, or where there is neither.
    """
    if example is None:
        if features is None:
            raise InputError("what the model takes is not known", hint="give an example: convert(model, example)")
        rows = np.random.default_rng(request.seed).normal(size=(50, features))
        example = rows.astype(np.float32)
    if isinstance(example, Mapping):
        raise InputError("an example by name is for models of several inputs", hint="a matrix, a frame or a list")
    if isinstance(example, list) and example and all(isinstance(row, Mapping) for row in example):
        return _dictionaries(example, request, default)
    if hasattr(example, "columns") and hasattr(example, "iloc"):
        return _frame(example, request)
    if hasattr(example, "toarray"):
        example = example.toarray()
    if hasattr(example, "to_numpy"):
        example = example.to_numpy()
    try:
        array = stored(np.asarray(example))
    except ValueError:
        raise InputError("the rows of the example have different lengths, which no tensor holds") from None
    if array.ndim == 0:
        raise InputError("an example is rows, not one value")
    if features is not None and array.ndim == 2 and array.shape[1] != features:
        raise InputError(f"the example has {array.shape[1]} features, the model was fitted to {features}")
    [name] = checked_names("input", request.input_names, [default])
    type_ = TensorType(DType.of(array.dtype), (parse(_batch(name, request)), *array.shape[1:]))
    return Table({name: type_}, {name: array}, None, lambda feeds: feeds[name])


PLACEHOLDER = "input_0"
"""What the first input is called while its model is built: names of columns need not be Python's."""


def build_table(fn: Callable[[tuple[Var, ...]], Mapping[str, Var]], table: Table, name: str) -> Model:
    """The model that `fn` writes for the inputs of a table; InputError if an input is called like an output."""
    placeholders = [f"input_{place}" for place in range(len(table.types))]

    def called(**inputs: Var) -> Mapping[str, Var]:
        return fn(tuple(inputs.values()))

    keyword = inspect.Parameter.KEYWORD_ONLY
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(placeholder, keyword) for placeholder in placeholders]
    )
    types = dict(zip(placeholders, table.types.values(), strict=True))
    model = build(called, inputs=types, name=name, doc_string="", check=builder_checker())
    for value, wanted in zip(list(model.graph.inputs), table.types, strict=True):
        holder = model.graph.find(wanted)
        if holder is not None and holder.is_output:
            raise InputError(f"'{wanted}' is the name of an input and of an output", hint="give output_names")
        if holder is not None and holder is not value:
            holder.name = model.graph.fresh_name(wanted)
        value.name = wanted
    return model


def variants(example: Mapping[str, Array], seed: int) -> list[dict[str, Array]]:
    """The example, and batches of other sizes whose columns are drawn from it, numbers moved a little.

    A column of integers, or of whole numbers, keeps to the values it has: they may be categories.
    """
    generator = np.random.default_rng(seed)
    drawn = [{name: _drawn(array, rows, generator) for name, array in example.items()} for rows in _VARIANTS]
    return [{name: array[:_MOST_ROWS] for name, array in example.items()}, *drawn]


def widened(rows: Any) -> Any:
    """A float32 matrix with the same numbers in float64: what the original computes then has no rounding of its own."""
    return rows.astype(np.float64) if isinstance(rows, np.ndarray) and rows.dtype == np.float32 else rows


def stored(array: Array) -> Array:
    """An array as a model stores its elements: strings as objects, dates and other objects refused."""
    if array.dtype.kind in "US" or array.dtype == object:
        flat = array.reshape(-1)
        if all(isinstance(item, str) for item in flat.tolist()):
            return array.astype(object)
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            wrong = next(item for item in flat.tolist() if not isinstance(item, str))
            raise InputError(
                f"a column has strings and {wrong!r}", hint="a column of a model is strings, or numbers"
            ) from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"an example of {array.dtype} has no place in a model", hint="numbers, booleans or strings")
    return array


def _drawn(array: Array, rows: int, generator: np.random.Generator) -> Array:
    if not len(array):
        return array
    if array.ndim == 1:
        return array[generator.integers(0, len(array), rows)]
    columns = [array[generator.integers(0, len(array), rows), ..., place] for place in range(array.shape[-1])]
    drawn = np.stack(columns, axis=-1) if columns else array[:0].repeat(rows, 0)
    if array.dtype.kind != "f":
        return drawn
    with np.errstate(invalid="ignore"):
        axes = tuple(range(array.ndim - 1))
        whole = np.all(np.isnan(array) | (array == np.round(array)), axis=axes)
        spread = np.nan_to_num(np.std(np.nan_to_num(array), axis=axes))
        positive = np.all(np.isnan(array) | (array >= 0), axis=axes)
    moved = drawn + np.where(whole, 0, 0.1 * spread) * generator.normal(size=drawn.shape)
    return np.where(positive, np.abs(moved), moved).astype(array.dtype)


def _frame(frame: Any, request: Request) -> Table:
    names = [str(name) for name in frame.columns]
    inputs = checked_names("input", request.input_names, names)
    example, kinds = {}, {}
    for place, name in enumerate(inputs):
        column = frame.iloc[:, place]
        kinds[name] = column.dtype
        example[name] = stored(np.asarray(_plain(column))).reshape(-1, 1)
    types: dict[str, Type] = {
        name: TensorType(DType.of(array.dtype), (parse(_batch(name, request)), 1)) for name, array in example.items()
    }

    def restore(feeds: Mapping[str, Array]) -> Any:
        restored = type(frame)({own: feeds[name].reshape(-1) for own, name in zip(frame.columns, inputs, strict=True)})
        return restored.astype({own: kinds[name] for own, name in zip(frame.columns, inputs, strict=True)})

    return Table(types, example, tuple(names), restore)


def _dictionaries(rows: list[Mapping[Any, Any]], request: Request, default: str) -> Table:
    """A model that takes one dictionary of numbers, float32 as onnxruntime feeds them; InputError for other kinds."""
    keys = {type(key) for row in rows for key in row}
    if keys not in ({str}, {int}):
        raise InputError("dictionaries have strings for keys, or integers, in a model")
    for row in rows:
        for key, value in row.items():
            if isinstance(value, str) or not np.isscalar(value):
                raise InputError(f"the value of {key!r} is {value!r}", hint="dictionaries have numbers in a model")
    [name] = checked_names("input", request.input_names, [default])
    type_ = MapType(DType.STRING if keys == {str} else DType.INT64, TensorType(DType.FLOAT32, ()))
    examples = tuple({key: float(np.float32(value)) for key, value in row.items()} for row in rows[:_MOST_ROWS])
    return Table({name: type_}, {}, None, lambda feeds: [feeds[name]], examples)


def _plain(column: Any) -> Any:
    """A column's values without what is particular to frames: categories as what they stand for."""
    if getattr(column.dtype, "categories", None) is not None:
        return column.astype(column.dtype.categories.dtype)
    return column.to_numpy()


def _batch(name: str, request: Request) -> str:
    """What the first axis is called: by `dynamic_axes` where they name it."""
    axes = request.dynamic_axes
    if axes is None:
        return _BATCH
    named = axes.get(name) if isinstance(axes, Mapping) else axes[0] if axes else None
    if isinstance(named, Mapping):
        return named.get(0, _BATCH)
    return _BATCH
