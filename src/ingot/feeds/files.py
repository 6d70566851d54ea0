"""Inputs of a run, from files: numpy arrays, ONNX test data, JSON, images, sounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import InputError, nearest
from ingot.feeds.sound import SOUNDS, read_sound
from ingot.format.values import decode_value
from ingot.ir import SparseTensor, Tensor, TensorType, Value
from ingot.ir.types import Type

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm")

_MOST_UNPACKED = 4 << 30
"""Bytes of a compressed array, at most: a small file may have any number of zeros."""

_NUMPY, _ZIP = b"\x93NUMPY", b"PK"


def read_feed(value: Value, path: Path, rate: int | None = None) -> Any:
    """What a file holds for an input; InputError if it is of no known kind, or does not make what the input takes.

    A sound is resampled to so many samples a second, if `rate` is given.
    """
    suffix = path.suffix.lower()
    if suffix in SOUNDS:
        return read_sound(value, path, rate)
    if suffix in IMAGES:
        from ingot.feeds.pictures import read_image  # needs Pillow

        return read_image(value, path)
    match suffix:
        case ".npy" | ".npz":
            return _fitting(value, _array(value, path), path)
        case ".pb":
            return _plain(decode_value(path.read_bytes(), _typed(value)))
        case ".json":
            return _from_json(value, path)
    kinds = ", ".join((".npy", ".npz", ".pb", ".json", *SOUNDS, *IMAGES))
    raise InputError(f"'{path}' is no kind of file that inputs are read from", hint=f"these are: {kinds}")


def _array(value: Value, path: Path) -> np.ndarray[Any, Any]:
    """The array of a file of numpy's, of several the one that is named as the input."""
    with path.open("rb") as file:
        known = file.read(len(_NUMPY)).startswith((_NUMPY, _ZIP))
        file.seek(0)
        try:
            content = np.load(file, allow_pickle=False)
            return content if isinstance(content, np.ndarray) else np.asarray(_member(value, path, content))
        except InputError:
            raise
        except Exception as error:  # numpy and zipfile raise whatever a broken file leads them to
            reason = str(error) or type(error).__name__
            reason = reason if known else "its first bytes are those of another kind of file"
            raise InputError(f"'{path}' holds no array: {reason}") from None


def _member(value: Value, path: Path, members: Any) -> Any:
    """The array of an .npz file that is named as the input, or the only one."""
    names = list(members.keys())
    if value.name not in names and len(names) != 1:
        hint = nearest(value.name, names) or f"it has {', '.join(names)}"
        raise InputError(f"'{path}' has no array '{value.name}'", hint=hint)
    name = value.name if value.name in names else names[0]
    for entry in members.zip.infolist():
        if entry.filename in (name, f"{name}.npy") and entry.compress_type and entry.file_size > _MOST_UNPACKED:
            raise InputError(f"'{path}' has {entry.file_size:,} bytes in {entry.compress_size:,}: too many to unpack")
    return members[name]


def _from_json(value: Value, path: Path) -> Any:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"'{path}' is not JSON: {error}") from None
    if isinstance(content, dict) and (value.name in content or len(content) == 1):
        content = content.get(value.name, next(iter(content.values())))
    type_ = value.type
    if not isinstance(type_, TensorType) or not type_.dtype:
        return content
    try:
        return np.asarray(content, type_.dtype.numpy)
    except (OverflowError, TypeError, ValueError):
        raise InputError(f"'{path}' makes no {type_} for input '{value.name}'") from None


def _fitting(value: Value, array: np.ndarray[Any, Any], path: Path) -> np.ndarray[Any, Any]:
    """The array in the element type of the input, where it only has to be made narrower or wider."""
    type_ = value.type
    if not isinstance(type_, TensorType) or not type_.dtype or array.dtype.kind in "OUST":
        return array
    wanted = type_.dtype.numpy
    if array.dtype.kind == "V" and array.dtype.itemsize == wanted.itemsize:
        return array.view(wanted)  # bfloat16 and the like, which .npy files do not know
    if array.dtype != wanted and not np.can_cast(array.dtype, wanted, "same_kind"):
        actual = f"{DType.of(array.dtype)}{list(array.shape)}"
        raise InputError(f"input '{value.name}' is {type_}, '{path}' holds {actual}")
    return array.astype(wanted, copy=False)


def _typed(value: Value) -> Type:
    if value.type is None:
        raise InputError(f"the model does not say the type of input '{value.name}', which a .pb file needs")
    return value.type


def _plain(item: Any) -> Any:
    """Arrays for tensors, however deep."""
    match item:
        case Tensor():
            return item.numpy()
        case SparseTensor():
            return item.dense().numpy()
        case list():
            return [_plain(part) for part in item]
        case dict():
            return {key: _plain(part) for key, part in item.items()}
    return item
