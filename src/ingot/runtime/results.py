"""Results of a run: contiguous arrays that no one but the caller references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ingot.dtypes import Array


def owned(results: Sequence[Any], feeds: Iterable[Any]) -> list[Any]:
    """The results, with a copy of every array that is read-only or shares memory with a feed or an earlier result."""
    seen = [array for feed in feeds for array in _arrays(feed)]
    copies = []
    for result in results:
        own = _owned(result, seen)
        seen.extend(_arrays(own))
        copies.append(own)
    return copies


def _owned(result: Any, seen: list[Array]) -> Any:
    match result:
        case list():
            return [_owned(item, seen) for item in result]
        case np.ndarray() | np.generic():
            array = np.asarray(result, order="C")
            shared = not array.flags.writeable or any(np.may_share_memory(array, other) for other in seen)
            return array.copy() if shared else array
        case _:
            return result


def _arrays(value: Any) -> Iterable[Array]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _arrays(item)
