"""StringNormalizer: words without those to be left out, in upper or lower case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.text.distinct import texts_of
from ingot.ops.typesets import STRING, types

Text: TypeAlias = Annotated[Array, types("", STRING)]

_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


@operator("StringNormalizer", since=10)
def string_normalizer(
    x: Text,
    /,
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str | None = None,
    stopwords: Sequence[str] | None = None,
) -> Text:
    """The elements of a `[C]` or `[1, C]` tensor that are not `stopwords`, in the case asked for.

    Where none is left, one empty string is. Case follows Unicode, whatever the `locale`.
    """
    result: Array = bind(
        case_change_action=case_change_action, is_case_sensitive=is_case_sensitive, locale=locale, stopwords=stopwords
    )(x)
    return result


@string_normalizer.bind
def bind(
    *,
    case_change_action: str,
    is_case_sensitive: int,
    locale: str | None,
    stopwords: Sequence[str] | None,
) -> Callable[[Array], Array]:
    change = None if case_change_action == "NONE" else _case(case_change_action)
    stops = frozenset(stopwords or () if is_case_sensitive else map(str.lower, stopwords or ()))

    def normalize(x: Array) -> Array:
        _require_shape(x.shape)
        remaining = texts_of(x)
        if stops and is_case_sensitive:
            remaining = [word for word in remaining if word not in stops]
        elif stops:
            remaining = [word for word in remaining if word.lower() not in stops]
        changed = (remaining if change is None else list(map(change, remaining))) or [""]
        words = np.fromiter(changed, np.object_, len(changed))
        return words if x.ndim == 1 else words.reshape(1, -1)

    return normalize


@string_normalizer.infer
def infer(x: Fact, /, *, case_change_action: str, stopwords: Sequence[str] | None, **_: object) -> Inferred:
    _case(case_change_action)
    if x.shape is None:
        return TensorType(DType.STRING)
    _require_shape(x.shape)
    count = x.shape[-1] if not stopwords and isinstance(x.shape[-1], int) else None
    return TensorType(DType.STRING, (*x.shape[:-1], max(count, 1) if isinstance(count, int) else None))


def _require_shape(shape: Sequence[object]) -> None:
    if len(shape) not in (1, 2) or (len(shape) == 2 and isinstance(shape[0], int) and shape[0] != 1):
        raise ShapeError(f"the shape is {[*shape]}, expected [C] or [1, C]")


def _case(action: str) -> Callable[[str], str]:
    if action not in _CASES:
        raise CheckError(f"case_change_action is '{action}'", hint=f"one of {', '.join(_CASES)}")
    return _CASES[action]
