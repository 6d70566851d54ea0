"""A conversion under way: the precision it computes in, and how rules call one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ingot.builder import Var, op
from ingot.builder.known import shape_of
from ingot.builder.literals import as_value
from ingot.convert.sklearn.rule import find_rule
from ingot.dtypes import Array, DType
from ingot.errors import ConvertError


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a frame, each with one value a row: shape [batch, 1]."""

    names: tuple[str, ...]
    values: tuple[Var, ...]


Result = TypeVar("Result")
Rows: TypeAlias = Var | Columns
"""What an estimator is given: a matrix, a list of documents, or a frame."""


@dataclass(frozen=True, slots=True)
class Note:
    """A value that the original has too: what a method of an estimator gives for what another value holds."""

    name: str
    estimator: Any
    method: str
    source: str


class Conversion:
    """What rules share: `real` is the type numbers are computed in, `notes` what to compare inside."""

    def __init__(self, real: npt.DTypeLike = np.float64) -> None:
        self.real: np.dtype[Any] = np.dtype(real)
        self.notes: list[Note] = []
        self._once: dict[tuple[object, ...], Any] = {}

    def once(self, function: Callable[[Conversion, Any, Any], Result], estimator: Any, x: Rows) -> Result:
        """`function(self, estimator, x)`: written the first time, and read by whoever asks for it again."""
        values = tuple(part.value for part in x.values) if isinstance(x, Columns) else (x.value,)
        key = (function, id(estimator), values)
        if key not in self._once:
            self._once[key] = function(self, estimator, x)
        result: Result = self._once[key]
        return result

    def call(self, method: str, estimator: Any, x: Rows) -> Var:
        """What `estimator.method(x)` gives, by its rule; ConvertError if there is none."""
        rule = find_rule(estimator, method)
        if rule is None:
            raise ConvertError(f"there is no rule for {type(estimator).__name__}.{method}", hint=REGISTER)
        known = len(self._once)
        result = self.once(rule, estimator, x)
        if isinstance(x, Var) and len(self._once) > known:
            self.notes.append(Note(result.name, estimator, method, x.name))
        return result

    def can(self, method: str, estimator: Any) -> bool:
        """Whether an estimator has a method with a rule."""
        return hasattr(estimator, method) and find_rule(estimator, method) is not None

    def transform(self, estimator: Any, x: Rows) -> Var:
        return self.call("transform", estimator, x)

    def predict(self, estimator: Any, x: Rows) -> Var:
        return self.call("predict", estimator, x)

    def predict_proba(self, estimator: Any, x: Rows) -> Var:
        return self.call("predict_proba", estimator, x)

    def decision_function(self, estimator: Any, x: Rows) -> Var:
        return self.call("decision_function", estimator, x)

    def array(self, values: Any) -> Array:
        """Numbers as a constant of the type that is computed in."""
        dense = values.toarray() if hasattr(values, "toarray") else values
        return np.ascontiguousarray(np.asarray(dense), dtype=self.real)

    def number(self, value: float | np.floating[Any]) -> Var:
        """One number as such a constant."""
        return Var(as_value(np.array(value, self.real)))

    def matrix(self, x: Rows) -> Var:
        """Rows of numbers as one matrix of the type that is computed in."""
        if isinstance(x, Var):
            return self.cast(x, self.real)
        parts = [self.cast(value, self.real) for value in x.values]
        return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=1)

    def cast(self, x: Var, dtype: npt.DTypeLike) -> Var:
        """`x` with elements of `dtype`."""
        wanted = DType.of(dtype)
        return x if x.dtype is wanted else op.Cast(x, to=int(wanted))

    def column(self, x: Rows, place: int) -> Var:
        """One column of any type: shape [batch, 1]."""
        if isinstance(x, Columns):
            return x.values[place]
        if self.width(x) == 1:
            return x
        return op.Slice(x, [place], [place + 1], [1])

    def select(self, x: Rows, places: Sequence[int]) -> Rows:
        """Some columns, in the order of `places`."""
        if isinstance(x, Columns):
            return Columns(tuple(x.names[place] for place in places), tuple(x.values[place] for place in places))
        chosen = list(places)
        if chosen == list(range(self.width(x))):
            return x
        return op.Gather(x, np.array(chosen, np.int64), axis=1)

    def width(self, x: Rows) -> int:
        """How many columns there are; ConvertError where it is statically unknown."""
        if isinstance(x, Columns):
            return len(x.values)
        sizes = shape_of(x.value)
        if sizes is None or len(sizes) < 2 or not isinstance(sizes[1], int):
            raise ConvertError(f"how many columns '{x.name}' has is not known")
        return sizes[1]

    def rows(self, x: Rows) -> Var:
        """How many rows there are: int64 of shape [1]."""
        first = x.values[0] if isinstance(x, Columns) else x
        return op.Shape(first, start=0, end=1)

    def filled(self, x: Rows, row: Array) -> Var:
        """`row` once for each row of `x`."""
        values = np.atleast_1d(row)
        sizes = np.array([values.shape[-1]], np.int64) if values.ndim else np.array([1], np.int64)
        return op.Expand(values.reshape(1, -1), op.Concat(self.rows(x), sizes, axis=0))


REGISTER = "ingot.convert.sklearn.register(Kind, method=rule) adds one"


def inside(notes: Sequence[Note], feeds: Mapping[str, Any]) -> dict[str, Array]:
    """The values of the original by the names they have in the model, as far as its own methods return them."""
    known: dict[str, Any] = dict(feeds)
    for note in sorted(notes, key=lambda note: note.source not in feeds):
        method: Callable[..., Any] | None = getattr(note.estimator, note.method, None)
        if method is None or note.source not in known or note.name in known:
            continue
        known[note.name] = two_axes(method(known[note.source]), note.method, known[note.source])
    return {name: value for name, value in known.items() if name not in feeds}


def two_axes(value: Any, method: str, x: Any) -> Array:
    """What a method of scikit-learn gives for `x`, as rules give it: dense, and numbers with two axes."""
    dense = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    if dense.ndim == 1 and (method != "predict" or dense.dtype.kind == "f"):
        return dense.reshape(x.shape[0] if hasattr(x, "shape") else len(x), -1)
    return dense
