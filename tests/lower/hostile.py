"""Numbers meant to hurt, given to compiled models in memory with fences: `python tests/lower/hostile.py`.

Indices, sizes, starts, counts and divisors come from inputs, so that only a run sees them. Each run must give what the
reference gives, or an error of ours; one that leaves its buffers or traps ends the process.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import faulthandler
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import ingot
from ingot.dtypes import Array
from ingot.errors import IngotError
from ingot.ir import Model
from ingot.runtime.limits import RunLimits
from ingot.session import Session
from lower.guarded import fenced
from lower.shares import small_shares

LIMITS = RunLimits(memory=1 << 28)

_INDICES = (0, 1, -1, 2, 3, -3, -4, 4, 1 << 31, -(1 << 31), (1 << 31) - 1, 1 << 32, (1 << 63) - 1, -(1 << 63), 1 << 62)
_SIZES = (0, 1, 2, 3, -1, -2, 1 << 31, 1 << 33, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63))

INDEXED = {
    "Gather": "g (float[n, 5] x, int64[k] i) => (y) { y = Gather (x, i) }",
    "Gather along columns": "g (float[5, n] x, int64[k] i) => (y) { y = Gather<axis = 1> (x, i) }",
    "GatherElements": "g (float[n] x, int64[k] i) => (y) { y = GatherElements (x, i) }",
    "GatherND": "g (float[n, 5] x, int64[k] i) => (y) <int64[1] a = {1}> { j = Unsqueeze (i, a) y = GatherND (x, j) }",
    "ScatterElements": """g (float[n] x, int64[k] i) => (y) {
        f = CastLike (i, x) y = ScatterElements (x, i, f) }""",
    "ScatterElements add": """g (float[n] x, int64[k] i) => (y) {
        f = CastLike (i, x) z = Sub (f, f) y = ScatterElements<reduction = "add"> (x, i, z) }""",
    "ScatterND": """g (float[n] x, int64[k] i) => (y) <int64[1] a = {1}> {
        j = Unsqueeze (i, a) f = CastLike (i, x) y = ScatterND (x, j, f) }""",
    "OneHot": "g (float[n] x, int64[k] i) => (y) <int64 d = {3}, float[2] v = {0, 1}> { y = OneHot (i, d, v) }",
    "Gather of a Gather": "g (float[n] x, int64[k] i) => (y) { r = Gather (x, i) e = Exp (r) y = Gather (e, i) }",
    "Gather into a product": """g (float[n, 4] x, int64[k] i) => (y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
        r = Gather (x, i) y = MatMul (r, w) }""",
    "indices that are computed": """g (float[n] x, int64[k] i) => (y) <int64 two = {2}> {
        j = Mul (i, two) l = Add (j, i) y = Gather (x, l) }""",
    "ReverseSequence": """g (float[n, 1] x, int64[k] i) => (y) <int64[1] one = {1}, int64[1] zero = {0}> {
        first = Slice (i, zero, one) y = ReverseSequence<time_axis = 0, batch_axis = 1> (x, first) }""",
}
"""Models of `x` with some elements and indices `i`."""

SHAPED = {
    "Reshape": "g (float[n] x, int64[2] s) => (y) { e = Exp (x) y = Reshape (e, s) }",
    "Expand": "g (float[n] x, int64[2] s) => (y) { e = Exp (x) y = Expand (e, s) }",
    "Expand and reduce": "g (float[n] x, int64[2] s) => (y) { e = Expand (x, s) y = ReduceSum (e) }",
    "Tile": """g (float[n] x, int64[2] s) => (y) <int64[1] z = {0}> {
        u = Unsqueeze (x, z) e = Exp (u) y = Tile (e, s) }""",
    "ConstantOfShape": "g (float[n] x, int64[2] s) => (y) { c = ConstantOfShape (s) y = Exp (c) }",
    "Slice": """g (float[n] x, int64[2] s) => (y) <int64[1] z = {0}, int64[1] o = {1}, int64[1] t = {2}> {
        a = Slice (s, z, o) b = Slice (s, o, t) e = Exp (x) y = Slice (e, a, b) }""",
    "Slice with steps": """g (float[n] x, int64[2] s) => (y) <int64[1] z = {0}, int64[1] o = {1}, int64[1] t = {2}> {
        a = Slice (s, z, o) b = Slice (s, o, t) e = Exp (x) y = Slice (e, z, a, z, b) }""",
    "Pad": "g (float[n] x, int64[2] s) => (y) { e = Exp (x) p = Pad (e, s) y = Neg (p) }",
    "Pad by edges": 'g (float[n] x, int64[2] s) => (y) { e = Exp (x) p = Pad<mode = "edge"> (e, s) y = Neg (p) }',
    "Pad by reflection": """g (float[n] x, int64[2] s) => (y) {
        e = Exp (x) p = Pad<mode = "reflect"> (e, s) y = Neg (p) }""",
    "Range": """g (float[n] x, int64[2] s) => (y) <int64 z = {0}, int64 o = {1}> {
        a = Gather (s, z) b = Gather (s, o) r = Range (a, b, o) y = Neg (r) }""",
    "Range with a step": """g (float[n] x, int64[2] s) => (y) <int64 z = {0}, int64 o = {1}> {
        a = Gather (s, z) b = Gather (s, o) r = Range (z, a, b) y = Neg (r) }""",
    "Resize by sizes": """g (float[n] x, int64[2] s) => (y) <int64[2] u = {1, -1}> {
        e = Exp (x) r = Reshape (e, u) y = Resize<mode = "linear"> (r, , , s) }""",
    "Resize by scales": """g (float[n] x, int64[2] s) => (y) <int64[2] u = {1, -1}> {
        e = Exp (x) r = Reshape (e, u) f = CastLike (s, x) y = Resize<mode = "nearest"> (r, , f) }""",
    "Split": "g (float[n] x, int64[2] s) => (y, z) { e = Exp (x) y, z = Split (e, s) }",
    "Trilu": """g (float[n] x, int64[2] s) => (y) <int64[2] u = {1, -1}, int64 z = {0}> {
        r = Reshape (x, u) k = Gather (s, z) y = Trilu (r, k) }""",
    "TopK": """g (float[n] x, int64[2] s) => (y, z) <int64[1] a = {0}, int64[1] b = {1}> {
        k = Slice (s, a, b) e = Exp (x) y, z = TopK (e, k) }""",
    "CumSum": "g (float[n] x, int64[2] s) => (y) <int64 z = {0}> { a = Gather (s, z) y = CumSum (x, a) }",
    "EyeLike": "g (float[n] x, int64[2] s) => (y) { c = ConstantOfShape (s) e = EyeLike (c) y = Neg (e) }",
}
"""Models of `x` with some elements and two integers `s`."""

SELECTED = """g (float[n, 4] x, int64 m, float t) => (y) <int64[1] z = {0}, int64[2] zz = {0, 1}, int64[1] two = {2}> {
    boxes = Unsqueeze (x, z) sums = ReduceSum<keepdims = 0> (x, one) scores = Unsqueeze (sums, zz)
    chosen = NonMaxSuppression (boxes, scores, m, t) which = Gather<axis = 1> (chosen, two)
    flat = Squeeze (which, one) y = Gather (x, flat) }""".replace("two = {2}", "two = {2}, int64[1] one = {1}")
"""Boxes `x`, of which those that are chosen are gathered."""

DIVIDED = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def cases() -> Iterator[tuple[str, Model, list[dict[str, Array]]]]:
    """Name, model and what it is given."""
    for name, text in INDEXED.items():
        places = [np.full(count, index) for index in _INDICES for count in (1, 33)]
        yield name, _model(text), [{"x": _like(text, size), "i": each} for size in (0, 1, 4) for each in places]
    given = [
        {"x": _like(SELECTED, size), "m": np.asarray(most), "t": np.asarray(least, np.float32)}
        for size in (0, 1, 4)
        for most in _SIZES
        for least in (0, 0.5, np.nan, np.inf)
    ]
    yield "NonMaxSuppression", _model(SELECTED), given
    for name, text in SHAPED.items():
        pairs = [np.asarray([first, second]) for first in _SIZES for second in _SIZES]
        if name == "Expand and reduce":  # nothing is stored: what takes hours is no error
            pairs = [pair for pair in pairs if not 1 << 20 < abs(int(pair[0]) * int(pair[1])) < 1 << 70]
        yield name, _model(text), [{"x": _like(text, size), "s": pair} for pair in pairs for size in (0, 4)]
    for dtype in DIVIDED:
        for op in ("Div", "Mod", "Mod<fmod = 1>", *(['BitShift<direction = "LEFT">'] if dtype[0] == "u" else [])):
            text = f"g ({dtype}[n] x, {dtype}[n] d) => (y) {{ q = {op} (x, d) y = Identity (q) }}"
            range_ = np.iinfo(dtype)
            ends = np.asarray([range_.min, range_.max, 0, 1, range_.max // 2, 64], dtype)
            several = [0, 1, range_.max, range_.min, range_.bits, 7]
            yield f"{op} of {dtype}", _model(text), [{"x": ends, "d": np.full(6, each, dtype)} for each in several]
    for source in ("float", "double", "float16", "bfloat16"):
        for target in range(2, 14):
            if target in (8, 9, 10, 11):
                continue
            odd = np.asarray([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e19, -1e19, 2.0**31, -129.0, 300.0, -0.5])
            kind = ingot.DType[{"float": "FLOAT32", "double": "FLOAT64"}.get(source, source.upper())].numpy
            with np.errstate(all="ignore"):
                floats = odd.astype(kind)
            text = f"g ({source}[n] x) => (y) {{ a = Neg (x) y = Cast<to = {target}> (a) }}"
            yield f"cast of {source} to {target}", _model(text), [{"x": floats}]


def _like(text: str, size: int) -> Array:
    inside = text[text.index("[") + 1 : text.index("]")].split(",")
    shape = [size if each.strip() == "n" else int(each) for each in inside]
    return np.linspace(-1, 1, int(np.prod(shape))).astype(np.float32).reshape(shape)


def _model(text: str) -> Model:
    return ingot.parse_model(f'<ir_version: 13, opset_import: ["" : 28]> {text}')


def check(model: Model, given: list[dict[str, Array]], front: bool) -> Iterator[str]:
    """What is wrong, in words, for each of the feeds that goes wrong."""
    reference = Session(model, providers=("reference",), limits=LIMITS)
    with fenced(front) as fences:
        compiled = Session(model, providers=("cpu", "reference"), threads=2, fallback=False, limits=LIMITS)
        for feeds in given:
            expected = _outcome(reference, feeds)
            found = _outcome(compiled, {name: fences.holding(array) for name, array in feeds.items()})
            said = {name: array.ravel()[:2].tolist() for name, array in feeds.items() if name != "x"}
            where = f"{said}, x {list(feeds['x'].shape)}"
            if isinstance(expected, str) or isinstance(found, str):
                if not (isinstance(expected, str) and isinstance(found, str)):
                    yield f"{where}: {_short(found)} for {_short(expected)}"
                continue
            for one, other in zip(expected, found, strict=True):
                if (one.dtype, one.shape) != (other.dtype, other.shape) or not _close(one, other):
                    yield f"{where}: {_short(other)} for {_short(one)}"


def _short(outcome: Any) -> str:
    return " ".join(str(outcome).split())[:120]


def _close(one: Array, other: Array) -> bool:
    if one.dtype.kind in "biu":
        return bool((one == other).all())
    return bool(np.allclose(one.astype(np.float64), other.astype(np.float64), rtol=1e-5, atol=1e-6, equal_nan=True))


def _outcome(session: Session, feeds: dict[str, Array]) -> list[Array] | str:
    try:
        return session.run(None, feeds)
    except IngotError as error:
        return f"{type(error).__name__}: {error}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one in N of what there is to be given")
    parser.add_argument("--front", action="store_true", help="fences touch the beginning of what they guard")
    arguments = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    runs, wrong = 0, 0
    with small_shares():
        for name, model, given in cases():
            if arguments.only not in name:
                continue
            print(name, flush=True)
            given = given[len(name) % arguments.every :: arguments.every]
            runs += len(given)
            for fault in check(model, given, arguments.front):
                wrong += 1
                print(f"  {fault}", flush=True)
    print(f"{runs:,} runs, {wrong:,} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
