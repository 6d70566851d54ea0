"""Arrays for people: statistics, a histogram, and a picture of at most some thousand points."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ingot.dtypes import Array

_BINS = 48
_MOST_ELEMENTS = 1 << 23
"""Elements that a histogram is made of: of a larger array, those at equal distances."""

_STRETCH = 1 << 20

_SIDE = 160
"""Points of a picture in each direction, at most."""

_MOST_TILES = 64
_INVALID = 255

Json = dict[str, Any]


def described(array: Array) -> Json:
    """Facts of an array as pairs of texts, a histogram and a picture; strings have neither of the two."""
    facts = [
        ["shape", " × ".join(map(str, array.shape)) or "scalar"],
        ["type", str(array.dtype)],
        ["elements", f"{array.size:,}"],
    ]
    if array.dtype.kind in "OUS" or not array.size:
        shown = [str(element) for element in array.reshape(-1)[:8].tolist()]
        return {"facts": [*facts, ["first", ", ".join(shown)]] if shown else facts, "histogram": None, "picture": None}
    flat, is_sample = sampled(array)
    statistics = _statistics(array)
    if is_sample:
        statistics.append(["histogram", f"of {flat.size:,} elements at equal distances"])
    counts, low, high = _histogram(flat[np.isfinite(flat)])
    return {
        "facts": facts + statistics,
        "histogram": counts,
        "low": _number(low),
        "high": _number(high),
        "picture": picture(array),
    }


def sampled(array: Array) -> tuple[npt.NDArray[np.float64], bool]:
    """The elements of an array as float64, of a large one only some at equal distances; and whether it is large."""
    flat = array.reshape(-1)
    step = max(1, -(-flat.size // _MOST_ELEMENTS))
    chosen = np.abs(flat[::step]) if flat.dtype.kind == "c" else flat[::step]
    return chosen.astype(np.float64), step > 1


def stretches(array: Array) -> Iterator[npt.NDArray[np.float64]]:
    """All elements of an array as float64, some of them at a time: a large one need not fit into memory twice."""
    flat = array.reshape(-1)
    for start in range(0, flat.size, _STRETCH):
        part = flat[start : start + _STRETCH]
        yield (np.abs(part) if flat.dtype.kind == "c" else part).astype(np.float64)


def extent(array: Array) -> tuple[float, float, int]:
    """The least and the greatest finite element, and the number of elements that are not finite."""
    if array.dtype.kind in "OUS" or not array.size:
        return math.nan, math.nan, 0
    low, high, invalid = math.inf, -math.inf, 0
    for part in stretches(array):
        finite = part[np.isfinite(part)]
        invalid += part.size - finite.size
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    return (low, high, invalid) if low <= high else (math.nan, math.nan, invalid)


def picture(array: Array) -> Json | None:
    """A picture of an array of two axes or more; None if it has fewer, or one of two is short.

    The last two axes are rows and columns, and those before become tiles. Of filters, rows are what they are applied to
    if they are of one point.
    """
    squeezed = array.reshape([size for size in array.shape if size != 1] or [1])
    if squeezed.ndim < 2 or squeezed.dtype.kind in "OUS" or not squeezed.size:
        return None
    height, width = squeezed.shape[-2:]
    tiles = squeezed.reshape(-1, height, width)
    if height * width <= 4 and len(tiles) > 4:
        tiles = squeezed.reshape(1, squeezed.shape[0], -1)
    count = len(tiles)
    tiles = tiles[:_MOST_TILES]
    columns = max(1, min(len(tiles), round(math.sqrt(len(tiles) * tiles.shape[1] / tiles.shape[2])) or 1))
    side = max(4, (_SIDE if len(tiles) == 1 else 2 * _SIDE) // columns)
    reduced = [_reduced(tile, side) for tile in tiles]
    rows = -(-len(reduced) // columns)
    high, wide = reduced[0].shape
    gap = 1 if len(reduced) > 1 else 0
    sheet = np.full((rows * (high + gap) - gap, columns * (wide + gap) - gap), np.nan)
    edges = np.full(sheet.shape, True)
    for number, tile in enumerate(reduced):
        y, x = (number // columns) * (high + gap), (number % columns) * (wide + gap)
        sheet[y : y + high, x : x + wide] = tile
        edges[y : y + high, x : x + wide] = False
    content, is_signed = _bytes(sheet, edges)
    shown = f"{len(reduced)} of {count:,} tiles of " if count > 1 else ""
    scaled = "" if (high, wide) == tiles.shape[1:] else ", scaled down"
    return {
        "width": sheet.shape[1],
        "height": sheet.shape[0],
        "bytes": base64.b64encode(content.tobytes()).decode(),
        "signed": is_signed,
        "note": f"{shown}{tiles.shape[1]} × {tiles.shape[2]}{scaled}",
    }


def tiles_of(array: Array) -> int:
    """The number of pictures that an array is made of; 0 if it has none."""
    sizes = [size for size in array.shape if size != 1]
    if len(sizes) < 2 or array.dtype.kind in "OUS" or not array.size:
        return 0
    return math.prod(sizes[:-2])


def _reduced(tile: Array, side: int) -> npt.NDArray[np.float64]:
    """A tile with at most so many rows and columns: means of what falls together."""
    if tile.dtype.kind == "c":
        tile = np.abs(tile)
    high, wide = (max(1, -(-size // side)) for size in tile.shape)
    if high == wide == 1:
        return tile.astype(np.float64)
    tall, broad = tile.shape[0] // high * high, tile.shape[1] // wide * wide
    if tile.size > 4 * _MOST_ELEMENTS:
        return tile[::high, ::wide].astype(np.float64)
    blocks = tile[:tall, :broad].astype(np.float64).reshape(tall // high, high, broad // wide, wide)
    means: npt.NDArray[np.float64] = blocks.mean(axis=(1, 3))
    return means


def _bytes(sheet: npt.NDArray[np.float64], edges: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.uint8], bool]:
    """Elements as bytes up to 254, with 255 for what is not finite; and whether zero is in the middle."""
    finite = np.isfinite(sheet)
    values = sheet[finite]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    is_signed = low < 0 < high
    if is_signed:
        high = max(-low, high)
        low = -high
    span = (high - low) or 1.0
    scaled = np.where(finite, (np.where(finite, sheet, low) - low) / span * 254, _INVALID)
    scaled[edges] = 127 if is_signed else 0
    return scaled.astype(np.uint8), is_signed


def _statistics(array: Array) -> list[list[str]]:
    """Facts of all elements. Means and deviations of parts become those of the whole as Chan and others do it."""
    low, high, invalid = extent(array)
    count = zeros = nans = 0
    mean = squares = 0.0
    for part in stretches(array):
        finite = part[np.isfinite(part)]
        zeros += part.size - int(np.count_nonzero(part))
        nans += int(np.isnan(part).sum())
        if finite.size:
            with np.errstate(over="ignore", invalid="ignore"):
                own, variance = float(finite.mean()), float(finite.var())
            apart, whole = own - mean, count + finite.size
            squares += variance * finite.size + apart * apart * count * finite.size / whole
            mean += apart * finite.size / whole
            count = whole
    rows = []
    if count:
        rows += [["minimum", _number(low)], ["maximum", _number(high)]]
        rows += [["mean", _number(mean)], ["deviation", _number(math.sqrt(squares / count))]]
        rows.append(["zeros", f"{100 * zeros / array.size:.3g} %"])
    rows += [["NaN", f"{nans:,}"]] if nans else []
    rows += [["infinities", f"{invalid - nans:,}"]] if invalid > nans else []
    return rows


def _histogram(finite: npt.NDArray[np.float64]) -> tuple[list[int], float, float]:
    if not finite.size:
        return [], 0.0, 0.0
    low, high = float(finite.min()), float(finite.max())
    if not low < high or not math.isfinite(high - low):
        return [finite.size], low, high
    counts, _ = np.histogram(finite, _BINS, (low, high))
    return counts.tolist(), low, high


def _number(value: float) -> str:
    return f"{value:.5g}"
