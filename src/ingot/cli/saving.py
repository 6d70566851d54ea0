"""Results of a run, written to files: by the ending of the name, .npy, .npz, .json or .pb."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ingot.cli.models import named
from ingot.errors import InputError
from ingot.format.atomic import publish
from ingot.format.values import encode_value
from ingot.ir import Tensor, TensorType

SUFFIXES = (".npy", ".npz", ".json", ".pb")


def save_result(name: str, value: Any, path: Path) -> None:
    """Write one result; InputError if a file of that kind cannot hold it."""
    match path.suffix:
        case ".npy":
            _write(path, _npy(name, value))
        case ".npz":
            save_results({name: value}, path)
        case ".json":
            _write(path, json.dumps(_json(value)).encode() + b"\n")
        case ".pb":
            array = _array(name, value)
            tensor = Tensor(array, name=name)
            _write(path, encode_value(tensor, TensorType(tensor.dtype, tensor.shape)))
        case _:
            raise InputError(
                f"'{path}' is no kind of file to write a result to", hint=f"end it in {', '.join(SUFFIXES)}"
            )


def refusal(path: Path) -> InputError:
    """The message for a file of unknown kind."""
    return InputError(f"'{path}' is no kind of file to write a result to", hint=f"end it in {', '.join(SUFFIXES)}")


def save_results(values: Mapping[str, Any], path: Path) -> None:
    """Write all results to one .npz or .json file, by their names; a single one to any."""
    if len(values) == 1 and path.suffix not in (".npz", ".json"):
        [(name, value)] = values.items()
        save_result(name, value, path)
        return
    if path.suffix == ".json":
        _write(path, json.dumps({name: _json(value) for name, value in values.items()}).encode() + b"\n")
        return
    if path.suffix != ".npz":
        raise InputError(f"'{path}' cannot hold results by name", hint="end it in .npz or .json, or give NAME=FILE")
    content = io.BytesIO()
    arrays = {name: _storable(_array(name, value)) for name, value in values.items()}
    np.savez(content, allow_pickle=False, **arrays)
    _write(path, content.getvalue())


def _write(path: Path, content: bytes) -> None:
    with named(str(path)):
        publish(path, [], lambda _: [content], durable=False)


def _npy(name: str, value: Any) -> bytes:
    content = io.BytesIO()
    np.save(content, _storable(_array(name, value)), allow_pickle=False)
    return content.getvalue()


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    if not isinstance(value, np.ndarray | np.generic):
        raise InputError(f"'{name}' is no tensor, which only a .json file can hold")
    return np.asarray(value)


def _storable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Strings as numpy's own, which need no pickle."""
    return array.astype(np.str_) if array.dtype == np.object_ else array


def _json(value: Any) -> Any:
    match value:
        case np.ndarray() | np.generic():
            array = np.asarray(value)
            plain = array.dtype.kind in "biufO"
            return (array if plain else array.astype(np.float64)).tolist()
        case list() | tuple():
            return [_json(item) for item in value]
        case dict():
            return {str(key): _json(item) for key, item in value.items()}
    return value
