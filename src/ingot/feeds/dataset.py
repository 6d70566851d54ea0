"""Many feeds from files: a folder with a file for each, or one file whose rows are cut into batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.feeds.files import IMAGES, read_feed
from ingot.ir import TensorType, Value

SUFFIXES = (".npy", ".npz", *IMAGES)
ROWS = 32
"""Rows of a batch, where a model takes any number."""


class Dataset:
    """The feeds of a file or folder: sized, iterable any number of times, and read one by one."""

    def __init__(self, path: Path, inputs: Sequence[Value]) -> None:
        """InputError if `path` is neither, or a folder without a file that feeds are read from."""
        self._path = path
        self._inputs = inputs
        self.files = sorted(file for file in path.iterdir() if _is_feed(file)) if path.is_dir() else [path]
        if not path.exists():
            raise InputError(f"'{path}' is not there")
        if not self.files:
            raise InputError(f"'{path}' has no file to read inputs from", hint=f"these are: {', '.join(SUFFIXES)}")

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        for file in self.files:
            feeds = {value.name: np.asarray(read_feed(value, file)) for value in self._inputs_of(file)}
            yield from [feeds] if self._path.is_dir() else batches(feeds, self._inputs)

    def _inputs_of(self, file: Path) -> Sequence[Value]:
        if file.suffix.lower() != ".npz" and len(self._inputs) != 1:
            names = ", ".join(value.name for value in self._inputs)
            raise InputError(
                f"'{file}' holds one array, the model has {len(self._inputs)} inputs", hint=f"an .npz file has {names}"
            )
        return self._inputs


def batches(feeds: Mapping[str, Any], inputs: Sequence[Value]) -> Iterator[Mapping[str, Array]]:
    """Feeds cut along their first axis into what the model takes at once; whole where the inputs have no such axis.

    A number of rows that the model declares is a batch, and a rest that does not fill one is left out.
    """
    arrays = {name: np.asarray(array) for name, array in feeds.items()}
    declared = {value.name: value.type for value in inputs}
    sizes = {dim for name in arrays for dim in _first_axis(declared.get(name))}
    counts = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
    if len(sizes) != 1 or len(counts) != 1:
        yield arrays
        return
    [size], [count] = sizes, counts
    rows = size if isinstance(size, int) and size > 0 else ROWS
    if count <= rows:
        yield arrays
        return
    last = count - rows + 1 if isinstance(size, int) else count
    for start in range(0, last, rows):
        yield {name: array[start : start + rows] for name, array in arrays.items()}


def _first_axis(type_: object) -> list[Any]:
    """The first dim of a tensor type, as a list; [None] where it is not known or there is none."""
    if isinstance(type_, TensorType) and type_.shape:
        return [type_.shape[0] if isinstance(type_.shape[0], int) else "open"]
    return [None]


def _is_feed(file: Path) -> bool:
    return file.is_file() and file.suffix.lower() in SUFFIXES
