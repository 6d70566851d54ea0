"""Inputs for a model that nothing is known of but its declared inputs: attempts, until onnxruntime runs one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Feeds = dict[str, Any]

_DTYPES = {"float": "float32", "double": "float64"}
_LENGTHS = (32, 100, 512, 16000, 16, 257, 1, 80, 64, 5)
"""Sizes of an open axis of a sequence, in the order in which they are tried."""
_PICTURES = ((224, 224), (48, 320), (320, 320), (640, 640), (64, 160), (256, 256), (112, 112), (512, 512))
_WORDS = np.array(["the", "quick", "brown", "fox", "a", "1"], object)
_BATCH = re.compile(r"^(n|b|bs|batch.*|.*batch(_size)?|unk__0|none)$", re.IGNORECASE)
_STATE = re.compile(r"state|hidden|cell|(^|_)[hc]n?\d*$", re.IGNORECASE)
"""Names of states of recurrent networks: layers, batch, units."""


@dataclass(frozen=True, slots=True)
class Input:
    """A declared input: a size is a number, a name, or None."""

    name: str
    dtype: np.dtype[Any]
    shape: Sequence[int | str | None]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What open axes and integers are, unless their names say more."""

    length: int
    picture: tuple[int, int]
    tokens: int
    past: int


def attempts(inputs: Sequence[Input]) -> Iterator[Feeds]:
    """Feeds from the likeliest to the least: with longer and shorter sequences, pictures of other sizes, few tokens."""
    pictures = _PICTURES if any(_is_picture(value) for value in inputs) else _PICTURES[:1]
    lengths = _LENGTHS if any(_is_open(value) for value in inputs) else _LENGTHS[:1]
    pasts = (16, 0) if any("past" in value.name for value in inputs) else (0,)
    tokens = (30, 2) if any(value.dtype.kind in "iu" for value in inputs) else (2,)
    for past in pasts:
        for limit in tokens:
            for picture in pictures:
                for length in lengths:
                    attempt = Attempt(length, picture, limit, past)
                    yield {value.name: _array(value, attempt) for value in inputs}


def declared(session: Any) -> list[Input]:
    """The inputs of a session of onnxruntime's; ValueError if one is no tensor."""
    found = []
    for value in session.get_inputs():
        matched = re.fullmatch(r"tensor\((\w+)\)", value.type)
        if matched is None:
            raise ValueError(f"input {value.name} is a {value.type}")
        name = matched[1]
        dtype = np.dtype(object) if name == "string" else np.dtype(_DTYPES.get(name, name))
        found.append(Input(value.name, dtype, value.shape))
    return found


def _is_open(value: Input) -> bool:
    return any(not isinstance(size, int) for size in value.shape[1:])


def _is_picture(value: Input) -> bool:
    return len(value.shape) == 4 and value.dtype.kind in "fu" and _is_open(value) and "past" not in value.name


def _sizes(value: Input, attempt: Attempt) -> list[int]:
    """Declared sizes; a batch of one; height and width where a picture has them; else the length of a sequence."""
    shape = [size if isinstance(size, int) and size > 0 else None for size in value.shape]
    if len(shape) == 1 and shape[0] is None and not _is_sequence(value.name):
        shape[0] = 1
    extent = re.search(r"height|width|^[hw]$", str(value.shape[0]).lower()) if shape else None
    if shape and shape[0] is None and ((len(shape) > 1 and not extent) or _BATCH.match(str(value.shape[0]))):
        shape[0] = 1
    if len(shape) == 3 and shape[0] and shape[2] and (_STATE.search(value.name) or _BATCH.match(str(value.shape[1]))):
        shape[1] = shape[1] or 1
    if _is_picture(value):
        last = shape[3] in (1, 3, 4)
        if not last and shape[1] is None:
            shape[1] = 3
        for axis, size in zip((1, 2) if last else (2, 3), attempt.picture, strict=True):
            shape[axis] = shape[axis] or size
        shape[3] = shape[3] or 3
    filled = []
    for label, fixed in zip(value.shape, shape, strict=True):
        name = str(label).lower()
        past = attempt.past + (attempt.length if "+" in name else 0)
        filled.append(fixed if fixed is not None else past if "past" in name else attempt.length)
    return filled


def _is_sequence(name: str) -> bool:
    return re.search(r"ids|tokens|mask|audio|wave|samples|^input|^x$", name.lower()) is not None


def _array(value: Input, attempt: Attempt) -> Any:
    """Deterministic: the seed is the name."""
    rng = np.random.default_rng(list(value.name.encode()))
    shape, name = _sizes(value, attempt), value.name.lower()
    match value.dtype.kind:
        case "O":
            return rng.choice(_WORDS, shape)
        case "b":
            return np.ones(shape, bool)
        case "i" | "u":
            return _integers(name, shape, attempt, rng).astype(value.dtype)
    if re.search(r"(^|_)(sr|sample_?rate)$", name):
        return np.full(shape, 16000, value.dtype)
    if "scale" in name and np.prod(shape, dtype=int) <= 3:
        return np.full(shape, 0.7, value.dtype)
    if "mask" in name:
        return np.ones(shape, value.dtype)
    numbers = rng.standard_normal(shape)
    if len(shape) == 4 and min(shape[2:]) > 7:
        y, x = np.mgrid[: shape[-2], : shape[-1]]
        numbers = np.sin(x / 7) * np.cos(y / 11) + numbers / 10
    return numbers.astype(value.dtype)


def _integers(name: str, shape: Sequence[int], attempt: Attempt, rng: np.random.Generator) -> Any:
    if re.search(r"(^|_)(sr|sample_?rate)$", name):
        return np.full(shape, 16000)
    if "mask" in name:
        return np.ones(shape, int)
    if re.search(r"type_id|segment|speaker|sid$|lang", name):
        return np.zeros(shape, int)
    if re.search(r"len", name):
        return np.full(shape, attempt.length)
    if "position" in name and shape:
        return np.broadcast_to(np.arange(shape[-1]), shape)
    if len(shape) == 4 or "image" in name:
        return rng.integers(0, 256, shape)
    return rng.integers(1, attempt.tokens, shape)


def nudged(feeds: Mapping[str, Any], part: float) -> Feeds:
    """Each float a little larger or smaller, by a part of itself; the rest as it is."""
    signs = np.random.default_rng(0)
    return {
        name: np.asarray(x * (1 + part * signs.choice([-1.0, 1.0], x.shape)), x.dtype) if x.dtype.kind == "f" else x
        for name, x in feeds.items()
    }
