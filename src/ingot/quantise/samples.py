"""Calibration data in any form, as checked feeds: each error names its sample."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.feeds.dataset import Dataset, batches
from ingot.ir.value import Value
from ingot.runtime.feeds import checked_feeds


class Samples:
    """Feeds, one after the other, as often as they are asked for.

    Data that can be read only once is written to a temporary folder as it is first read, and read from there again.
    """

    def __init__(self, data: Any, inputs: Sequence[Value]) -> None:
        """Samples of a path, a reader with `get_next`, arrays whose rows are samples, or an iterable of feeds.

        A feed is a mapping by the names of inputs, an array for a model of one input, or one array for each input.
        InputError if it is nothing of that kind.
        """
        self._inputs = [value for value in inputs if value.constant is None]
        self._defaults = frozenset(value.name for value in inputs if value.constant is not None)
        self._all = inputs
        self._source = _source(data, self._inputs)
        self._once = iter(self._source) is self._source
        self._folder: TemporaryDirectory[str] | None = None
        self._stored = 0
        self.count: int | None = len(self._source) if hasattr(self._source, "__len__") else None

    def __iter__(self) -> Iterator[dict[str, Array]]:
        """Checked feeds; InputError with the number of a sample that does not fit, or where there is none."""
        if self._once and self._folder is None:
            self._folder = TemporaryDirectory(prefix="ingot-")
        if self._folder is not None:
            yield from self._reread(self._folder.name)
        count = self._stored
        for number, feed in enumerate(self._source, self._stored):  # what is read once goes on where it was left
            feeds = self._checked(number, feed)
            if self._folder is not None:
                Path(self._folder.name, str(number)).write_bytes(pickle.dumps(feeds))
                self._stored = number + 1
            yield feeds
            count = number + 1
        if not count:
            raise InputError("there is no calibration data", hint="give at least one sample; a hundred are usual")
        self.count = count

    def __enter__(self) -> Samples:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was written."""
        if self._folder is not None:
            self._folder.cleanup()

    def first(self, most: int) -> list[dict[str, Array]]:
        """The first samples."""
        return [feeds for _, feeds in zip(range(most), self, strict=False)]

    def _reread(self, folder: str) -> Iterator[dict[str, Array]]:
        for number in range(self._stored):
            yield pickle.loads(Path(folder, str(number)).read_bytes())

    def _checked(self, number: int, feed: Any) -> dict[str, Array]:
        try:
            feeds: dict[str, Array] = checked_feeds(self._all, self._by_name(feed), self._defaults)
        except InputError as error:
            raise InputError(f"sample {number}: {error.message}", where=error.where, hint=error.hint) from None
        values: Mapping[str, object] = feeds  # sequences and maps are no arrays
        arrays: dict[str, Array] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        if arrays and not any(array.size for array in arrays.values()):  # a cache alone may be empty
            name, array = next(iter(arrays.items()))
            raise InputError(f"sample {number}: input '{name}' is empty, {DType.of(array.dtype)}{list(array.shape)}")
        for name, array in arrays.items():
            problem = _problem(array)
            if problem is not None:
                raise InputError(f"sample {number}: input '{name}' {problem}")
        return feeds

    def _by_name(self, feed: Any) -> Mapping[str, Any]:
        if isinstance(feed, Mapping):
            return feed
        names = [value.name for value in self._inputs]
        if isinstance(feed, tuple | list) and len(feed) == len(names):
            return dict(zip(names, feed, strict=True))
        if len(names) == 1:
            return {names[0]: feed}
        raise InputError(f"the model takes {', '.join(names)}, got a {type(feed).__name__}", hint="give a dict by name")


def _problem(array: Array) -> str | None:
    """Why an array is no data to measure on."""
    if not DType.of(array.dtype).is_float:
        return None
    finite = np.isfinite(array.astype(np.float32) if array.dtype.kind == "V" else array)
    if finite.all():
        return None
    row = np.argwhere(~finite)[0][0] if array.ndim and len(array) > 1 else None
    kind = "NaN" if np.isnan(array[~finite].astype(np.float32)).any() else "infinity"
    return f"holds {kind}" + (f", first in row {row}" if row is not None else "")


def _source(data: Any, inputs: Sequence[Value]) -> Any:
    """An iterable of feeds."""
    if isinstance(data, str | Path):
        return Dataset(Path(data), inputs)
    if hasattr(data, "get_next"):
        return iter(data.get_next, None)
    if isinstance(data, Mapping):
        return list(batches(data, inputs))
    if isinstance(data, np.ndarray):
        if len(inputs) != 1:
            raise InputError(f"the data is one array, the model has {len(inputs)} inputs", hint="give a dict by name")
        return list(batches({inputs[0].name: data}, inputs))
    if isinstance(data, Iterable):
        return data
    raise InputError(f"a {type(data).__name__} is no calibration data", hint="give an iterable of feeds, or a path")
