"""The file of weights beside a program: arrays by key, which numpy alone reads.

A key is the name of an initialiser. `@` and a number stand for what has no name that a file could bear: a constant
inside of a node, a name with control characters. `|bfloat16` at the end says that the array holds the bits of such
elements, which numpy has no type for, and `|string` that it holds texts, as JSON.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.tensor import Tensor
from ingot.source.literals import is_of_numpy

STRINGS = "|string"


class Weights:
    """The arrays of one program, in the order in which they were put in."""

    def __init__(self) -> None:
        self._arrays: dict[str, Tensor] = {}
        self._keys: dict[int, str] = {}
        self._anonymous = 0

    def key(self, tensor: Tensor, name: str | None = None) -> str:
        """The key under which a program finds a tensor; under its name, if that is given and a key can be so."""
        known = self._keys.get(id(tensor))
        if known is not None:
            return known
        if name is None or not is_key(name) or name in self._arrays:
            name = f"@{self._anonymous}"
            self._anonymous += 1
        self._arrays[name] = tensor
        self._keys[id(tensor)] = name
        return name

    def list_key(self, values: tuple[object, ...]) -> str:
        """The key of a long list of numbers or texts."""
        if isinstance(values[0], str):
            tensor = Tensor(np.array(values, np.object_))
        else:
            tensor = Tensor(np.array(values, np.int64 if isinstance(values[0], int) else np.float32))
        return self.key(tensor)

    def has(self, tensor: Tensor) -> bool:
        return id(tensor) in self._keys

    @property
    def names(self) -> list[str]:
        return list(self._arrays)

    def __bool__(self) -> bool:
        return bool(self._arrays)

    @property
    def has_strings(self) -> bool:
        return any(tensor.dtype is DType.STRING for tensor in self._arrays.values())

    @property
    def has_foreign(self) -> bool:
        """Whether there are elements of a type that numpy has not."""
        return any(
            tensor.dtype is not DType.STRING and not is_of_numpy(tensor.dtype) for tensor in self._arrays.values()
        )

    def stored(self) -> dict[str, Array]:
        """The arrays as the file holds them, by the names of its entries."""
        return dict(_entry(key, tensor) for key, tensor in self._arrays.items())

    def arrays(self) -> dict[str, Array]:
        """The arrays as a program sees them, once it has read the file."""
        return {key: tensor.numpy() for key, tensor in self._arrays.items()}

    def write(self, path: Path) -> None:
        """Write the file, a plain `.npz` without compression."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
            for name, array in self.stored().items():
                with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def is_key(name: str) -> bool:
    """Whether the file may have an entry of that name, which numpy finds again."""
    return (
        0 < len(name) <= 200
        and name.isascii()
        and name.isprintable()
        and not name.startswith("@")
        and not name.endswith(".npy")
        and not set(name) & set('|\\"')
        and ".." not in name
    )


def _entry(key: str, tensor: Tensor) -> tuple[str, Array]:
    if tensor.dtype is DType.STRING:
        texts = np.array([item.decode() for item in tensor.strings()], np.object_).reshape(tensor.shape)
        return key + STRINGS, np.frombuffer(json.dumps(texts.tolist()).encode(), np.uint8)
    array = tensor.numpy()
    if is_of_numpy(tensor.dtype):
        return key, array
    return f"{key}|{tensor.dtype.numpy.name}", array.view(f"u{array.itemsize}")
