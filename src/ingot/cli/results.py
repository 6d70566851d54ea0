"""What a run gave, in a few lines each: the type, the range, the first elements."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ingot.dtypes import DType

_MOST = 8


@dataclass(frozen=True, slots=True)
class Result:
    """One value that a run gave. The fields are the keys of `ingot run --json`: keep their names."""

    name: str
    type: str
    min: float | None
    mean: float | None
    max: float | None
    nans: int
    first: list[Any]


def summarised(name: str, value: Any) -> Result:
    """The summary of an array; of anything else, what it is and how much it holds."""
    if not isinstance(value, np.ndarray | np.generic):
        count = f"[{len(value)}]" if isinstance(value, list | dict) else ""
        shown = "nothing" if value is None else f"{_kind(value)}{count}"
        return Result(name, shown, None, None, None, 0, [])
    array = np.asarray(value)
    dtype = DType.of(array.dtype)
    first = [_plain(element) for element in array.reshape(-1)[:_MOST].tolist()]
    type_ = f"{dtype}[{', '.join(map(str, array.shape))}]"
    if dtype is DType.STRING or dtype.is_complex or not array.size:
        return Result(name, type_, None, None, None, 0, first)
    numbers = array.astype(np.float64)
    nans = int(np.isnan(numbers).sum())
    known = numbers[~np.isnan(numbers)] if nans else numbers
    if not known.size:
        return Result(name, type_, None, None, None, nans, first)
    with np.errstate(all="ignore"):
        return Result(name, type_, float(known.min()), float(known.mean()), float(known.max()), nans, first)


def lines(result: Result) -> str:
    """A result for people."""
    text = [f"{result.name}: {result.type}"]
    if result.min is not None and result.mean is not None and result.max is not None:
        range_ = f"  min {_number(result.min)}, mean {_number(result.mean)}, max {_number(result.max)}"
        text.append(range_ + (f", {result.nans:,} NaN" if result.nans else ""))
    elif result.nans:
        text.append("  all NaN")
    if result.first:
        more = ", ..." if len(result.first) == _MOST else ""
        text.append("  " + ", ".join(_number(element) for element in result.first) + more)
    return "\n".join(text)


def plain(result: Result) -> dict[str, Any]:
    """A result for programs: what is not finite, which JSON has no number for, is text."""
    fields = asdict(result)
    for name in ("min", "mean", "max"):
        fields[name] = _finite(fields[name])
    return fields | {"first": [_finite(element) for element in result.first]}


def _finite(element: Any) -> Any:
    return str(element) if isinstance(element, float) and not math.isfinite(element) else element


def _kind(value: Any) -> str:
    return {"list": "sequence", "dict": "map"}.get(type(value).__name__, type(value).__name__)


def _number(element: Any) -> str:
    return (
        f"{element:.4g}" if isinstance(element, float) else repr(element) if isinstance(element, str) else str(element)
    )


def _plain(element: Any) -> Any:
    """An element as JSON has it."""
    if isinstance(element, bytes):
        return element.decode("utf-8", "backslashreplace")
    if isinstance(element, bool | int | float | str):
        return element
    return str(element) if isinstance(element, complex) else float(element)
