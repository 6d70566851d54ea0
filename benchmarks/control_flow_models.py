"""Small models of control flow, as text: loops that end by a condition, that grow, decode or suppress; branches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Case:
    """A model in ONNX's textual syntax, with the feeds that it is run on, each under a name."""

    name: str
    text: str
    feeds: Mapping[str, Mapping[str, Any]]


HEAD = '<ir_version: 9, opset_import: ["" : 18]> '


def cases() -> list[Case]:
    """All of them; the feeds are the same in every call."""
    return [*_while(), *_growing(), *_decoding(), *_suppressing(), *_branching(), *_sequences(), *_scanning()]


def _case(name: str, text: str, **feeds: Mapping[str, Any]) -> Case:
    arrays = {key: {given: np.asarray(value) for given, value in own.items()} for key, own in feeds.items()}
    return Case(name, HEAD + text, {key.replace("_", " "): own for key, own in arrays.items()})


def _floats(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _number(count: int) -> Any:
    return np.int64(count).reshape(())


def _while() -> list[Case]:
    return [
        _case(
            "while: halve until small",
            """g (float[n] x, float least) => (y) <int64 m = {9223372036854775807}, bool go = {1}, float half = {0.5}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (d, t) {
                    t = Mul (s, half)
                    e = ReduceMax <keepdims = 0> (t)
                    d = Greater (e, least)
                }>
            }""",
            size_1={"x": np.full(1, 1e6, np.float32), "least": np.float32(1e-3)},
            size_10000={"x": np.full(10_000, 1e6, np.float32), "least": np.float32(1e-3)},
        ),
        _case(
            "while: no trip count, power iteration",
            """g (float[n, n] a, float[n, 1] x, int64 m) => (y, k) <bool go = {1}, int64 zero = {0}, int64 one = {1}> {
                y, k = Loop (, go, x, zero) <body = b (int64 i, bool c, float[n, 1] s, int64 j) => (d, t, l) {
                    p = MatMul (a, s)
                    q = ReduceL2 <keepdims = 1> (p)
                    t = Div (p, q)
                    l = Add (j, one)
                    d = Less (l, m)
                }>
            }""",
            size_8_trips_100={"a": _floats(8, 8), "x": _floats(8, 1), "m": _number(100)},
            size_128_trips_100={"a": _floats(128, 128), "x": _floats(128, 1), "m": _number(100)},
        ),
        _case(
            "while: rows collected until a condition",
            """g (float[n] x, float least) => (y, r)
                    <int64 m = {9223372036854775807}, bool go = {1}, float half = {0.5}> {
                y, r = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (d, t, u) {
                    t = Mul (s, half)
                    u = Tanh (t)
                    e = ReduceMax <keepdims = 0> (t)
                    d = Greater (e, least)
                }>
            }""",
            size_4={"x": np.full(4, 1e6, np.float32), "least": np.float32(1e-3)},
            size_1000={"x": np.full(1_000, 1e6, np.float32), "least": np.float32(1e-3)},
        ),
        _case(
            "counted: 100,000 trips of an Add",
            """g (float[n] x, int64 m) => (y) <float one = {1}> {
                y = Loop (m, , x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
                    c2 = Identity (c)
                    t = Add (s, one)
                }>
            }""",
            size_1={"x": np.zeros(1, np.float32), "m": _number(100_000)},
        ),
        _case(
            "nested: an inner loop whose count is computed",
            """g (float[n] x, int64 m) => (y) <bool go = {1}, float small = {0.01}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
                    c2 = Identity (c)
                    t = Loop (i, c, s) <body = b2 (int64 j, bool e, float[n] u) => (e2, v) {
                        e2 = Identity (e)
                        w = Mul (u, small)
                        v = Add (w, u)
                    }>
                }>
            }""",
            size_16_trips_20={"x": _floats(16), "m": _number(20)},
        ),
        _case(
            "while: a state that shrinks",
            """g (float[n] x) => (y) <int64 m = {9223372036854775807}, bool go = {1}, int64[1] one = {1},
                    int64[1] end = {9223372036854775807}, int64 least = {1}, float zero = {0}> {
                e, y = Loop (m, go, x, zero) <body = b (int64 i, bool c, float[k] s, float a) => (d, t, z) {
                    t = Slice (s, one, end)
                    u = ReduceMax <keepdims = 0> (s)
                    z = Add (a, u)
                    w = Size (t)
                    d = Greater (w, least)
                }>
            }""",
            size_100={"x": _floats(100)},
        ),
    ]


def _growing() -> list[Case]:
    return [
        _case(
            "growing: a body of one Concat",
            """g (float[k] x, float[p] piece, int64 m) => (y) <bool go = {1}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
                    c2 = Identity (c)
                    t = Concat <axis = 0> (s, piece)
                }>
            }""",
            trips_10={"x": _floats(1), "piece": _floats(4), "m": _number(10)},
            trips_1000={"x": _floats(1), "piece": _floats(4), "m": _number(1_000)},
        ),
        _case(
            "growing: appended until a condition",
            """g (float x, float least) => (y) <int64 m = {9223372036854775807}, bool go = {1}, float most = {0.9},
                    float[0] none = {}, int64[1] front = {0}> {
                f, y = Loop (m, go, x, none) <body = b (int64 i, bool c, float s, float[n] a) => (d, t, z) {
                    t = Mul (s, most)
                    u = Unsqueeze (t, front)
                    z = Concat <axis = 0> (a, u)
                    d = Greater (t, least)
                }>
            }""",
            trips_66={"x": np.float32(1), "least": np.float32(1e-3)},
        ),
        _case(
            "growing: put to the front",
            """g (float[k, 4] x, int64 m) => (y) <bool go = {1}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, float[n, 4] s) => (c2, t) {
                    c2 = Identity (c)
                    j = Cast <to = 1> (i)
                    four = Constant <value = int64[2] {1, 4}> ()
                    p = Expand (j, four)
                    t = Concat <axis = 0> (p, s)
                }>
            }""",
            trips_100={"x": _floats(1, 4), "m": _number(100)},
        ),
        _case(
            "growing: the sum of all so far",
            """g (float[k] x, int64 m) => (y) <bool go = {1}, float tenth = {0.1}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
                    c2 = Identity (c)
                    p = ReduceMean <keepdims = 1> (s)
                    q = Add (p, tenth)
                    t = Concat <axis = 0> (s, q)
                }>
            }""",
            trips_10={"x": _floats(2), "m": _number(10)},
            trips_300={"x": _floats(2), "m": _number(300)},
        ),
        _case(
            "growing: the last two read",
            """g (float[k] x, int64 m) => (y) <bool go = {1}, int64[1] two = {-2}, int64[1] end = {9223372036854775807},
                    float half = {0.5}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
                    c2 = Identity (c)
                    p = Slice (s, two, end)
                    q = ReduceSum <keepdims = 1> (p)
                    r = Mul (q, half)
                    t = Concat <axis = 0> (s, r)
                }>
            }""",
            trips_100={"x": _floats(2), "m": _number(100)},
        ),
        _case(
            "growing: a computed number of rows",
            """g (int64[k] x, int64 m) => (y) <bool go = {1}, int64 zero = {0}, int64 one = {1}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, int64[n] s) => (c2, t) {
                    c2 = Identity (c)
                    p = Range (zero, i, one)
                    t = Concat <axis = 0> (s, p)
                }>
            }""",
            trips_30={"x": np.zeros(0, np.int64), "m": _number(30)},
        ),
        _case(
            "growing: doubled",
            """g (float[k] x, int64 m) => (y) <bool go = {1}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, float[n] s) => (c2, t) {
                    c2 = Identity (c)
                    t = Concat <axis = 0> (s, s)
                }>
            }""",
            trips_12={"x": _floats(3), "m": _number(12)},
        ),
    ]


def _decoding() -> list[Case]:
    random = np.random.default_rng(5)

    def network(vocabulary: int, width: int) -> dict[str, Any]:
        return {
            "e": random.normal(size=(vocabulary, width)).astype(np.float32),
            "w": random.normal(size=(width, width)).astype(np.float32) / width**0.5,
            "o": random.normal(size=(width, vocabulary)).astype(np.float32),
        }

    def greedy(vocabulary: int, width: int, trips: int) -> dict[str, Any]:
        return {"x": np.array([1]), "m": _number(trips), **network(vocabulary, width)}

    def attending(vocabulary: int, width: int, trips: int) -> dict[str, Any]:
        return {"x": np.array([[1]]), "m": _number(trips), **network(vocabulary, width)}

    return [
        _case(
            "decoding: all tokens averaged, until a token or a count",
            """g (int64[k] x, int64 m, float[v, h] e, float[h, h] w, float[h, v] o) => (y)
                    <bool go = {1}, int64 last = {-1}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, int64[n] s) => (d, t) {
                    p = Gather <axis = 0> (e, s)
                    zero = Constant <value = int64[1] {0}> ()
                    q = ReduceMean <keepdims = 1> (p, zero)
                    r = MatMul (q, w)
                    u = Tanh (r)
                    l = MatMul (u, o)
                    a = ArgMax <axis = 1, keepdims = 0> (l)
                    t = Concat <axis = 0> (s, a)
                    f = Equal (a, last)
                    f0 = Squeeze (f)
                    d = Not (f0)
                }>
            }""",
            small_trips_10=greedy(50, 16, 10),
            large_trips_50=greedy(500, 64, 50),
        ),
        _case(
            "decoding: attention over all tokens so far",
            """g (int64[1, k] x, int64 m, float[v, h] e, float[h, h] w, float[h, v] o) => (y)
                    <bool go = {1}, int64 last = {-1},
                    int64 end = {-1}, int64[1] one = {1}> {
                y = Loop (m, go, x) <body = b (int64 i, bool c, int64[1, n] s) => (d, t) {
                    p = Gather <axis = 0> (e, s)
                    q = MatMul (p, w)
                    pt = Transpose <perm = [0, 2, 1]> (p)
                    z = MatMul (q, pt)
                    z2 = Softmax <axis = 2> (z)
                    u = MatMul (z2, p)
                    u1 = Gather <axis = 1> (u, end)
                    l = MatMul (u1, o)
                    a = ArgMax <axis = 1, keepdims = 1> (l)
                    t = Concat <axis = 1> (s, a)
                    f = Equal (a, last)
                    f0 = Squeeze (f)
                    d = Not (f0)
                }>
            }""",
            small_trips_10=attending(50, 16, 10),
            large_trips_50=attending(500, 64, 50),
        ),
        _case(
            "decoding: a cache of keys that grows",
            """g (int64[1, 1] x, int64 m, float[v, h] e, float[h, h] w, float[h, v] o, float[1, k, h] keys) => (y, r, z)
                    <bool go = {1}> {
                y, r, z = Loop (m, go, x, keys)
                    <body = b (int64 i, bool c, int64[1, 1] s, float[1, n, h] past) => (c2, a, present, a2) {
                    c2 = Identity (c)
                    p = Gather <axis = 0> (e, s)
                    q = MatMul (p, w)
                    present = Concat <axis = 1> (past, p)
                    kt = Transpose <perm = [0, 2, 1]> (present)
                    u = MatMul (q, kt)
                    u1 = Softmax <axis = 2> (u)
                    u2 = MatMul (u1, present)
                    l = MatMul (u2, o)
                    a3 = ArgMax <axis = 2, keepdims = 0> (l)
                    a = Identity (a3)
                    a2 = Identity (a3)
                }>
            }""",
            small_trips_10={**attending(50, 16, 10), "keys": _floats(1, 1, 16)},
            large_trips_50={**attending(500, 64, 50), "keys": _floats(1, 1, 64)},
        ),
        _case(
            "decoding: beams that are reordered and grow",
            """g (int64[b, 1] x, int64 m, float[v, h] e, float[h, v] o) => (y)
                    <bool go = {1}, int64[1] one = {1}, int64 end = {-1}> {
                y = Loop (m, go, x) <body = bo (int64 i, bool c, int64[b, n] s) => (c2, t) {
                    c2 = Identity (c)
                    last = Gather <axis = 1> (s, end)
                    p = Gather <axis = 0> (e, last)
                    l = MatMul (p, o)
                    best = ReduceMax <keepdims = 0> (l, one)
                    a = ArgMax <axis = 1, keepdims = 1> (l)
                    four = Constant <value = int64[1] {4}> ()
                    sorted, order = TopK <axis = 0> (best, four)
                    s2 = Gather <axis = 0> (s, order)
                    a2 = Gather <axis = 0> (a, order)
                    t = Concat <axis = 1> (s2, a2)
                }>
            }""",
            trips_20={
                "x": np.array([[1], [2], [3], [4]]),
                "m": _number(20),
                "e": _floats(50, 16),
                "o": _floats(16, 50),
            },
        ),
    ]


_OVERLAP = """
    box = Gather <axis = 0> (boxes, best)
    zero = Constant <value = int64 {0}> ()
    x1 = Gather <axis = 1> (boxes, zero)
    one = Constant <value = int64 {1}> ()
    y1 = Gather <axis = 1> (boxes, one)
    two = Constant <value = int64 {2}> ()
    x2 = Gather <axis = 1> (boxes, two)
    three = Constant <value = int64 {3}> ()
    y2 = Gather <axis = 1> (boxes, three)
    bx1 = Gather <axis = 1> (box, zero)
    by1 = Gather <axis = 1> (box, one)
    bx2 = Gather <axis = 1> (box, two)
    by2 = Gather <axis = 1> (box, three)
    left = Max (x1, bx1)
    top = Max (y1, by1)
    right = Min (x2, bx2)
    bottom = Min (y2, by2)
    nothing = Constant <value = float {0}> ()
    w0 = Sub (right, left)
    h0 = Sub (bottom, top)
    w1 = Max (w0, nothing)
    h1 = Max (h0, nothing)
    both = Mul (w1, h1)
    wa = Sub (x2, x1)
    ha = Sub (y2, y1)
    area = Mul (wa, ha)
    wb = Sub (bx2, bx1)
    hb = Sub (by2, by1)
    barea = Mul (wb, hb)
    all = Add (area, barea)
    union = Sub (all, both)
    share = Div (both, union)
    most = Constant <value = float {0.3}> ()
    over = Greater (share, most)
"""


def _suppressing() -> list[Case]:
    def boxes(count: int) -> dict[str, Any]:
        random = np.random.default_rng(count)
        corner, size = random.uniform(0, 100, (count, 2)), random.uniform(5, 20, (count, 2))
        both = np.concatenate([corner, corner + size], axis=1).astype(np.float32)
        return {"boxes": both, "scores": random.uniform(0.01, 1, count).astype(np.float32)}

    return [
        _case(
            "suppression: scores of fixed size, picks appended",
            """g (float[n, 4] boxes, float[n] scores) => (picks) <int64 m = {9223372036854775807}, bool go = {1},
                    int64[0] none = {}, float gone = {0}> {
                left_over, picks = Loop (m, go, scores, none)
                    <body = b (int64 i, bool c, float[n] s, int64[k] p) => (d, t, q) {
                    best = ArgMax <axis = 0, keepdims = 1> (s)
                    q = Concat <axis = 0> (p, best)"""
            + _OVERLAP
            + """
                    t = Where (over, gone, s)
                    u = ReduceMax <keepdims = 0> (t)
                    d = Greater (u, gone)
                }>
            }""",
            boxes_50=boxes(50),
            boxes_500=boxes(500),
        ),
        _case(
            "suppression: picks as rows of a loop that a condition ends",
            """g (float[n, 4] boxes, float[n] scores) => (picks) <int64 m = {9223372036854775807}, bool go = {1},
                    float gone = {0}> {
                left_over, picks = Loop (m, go, scores) <body = b (int64 i, bool c, float[n] s) => (d, t, q) {
                    best = ArgMax <axis = 0, keepdims = 1> (s)
                    q = Squeeze (best)"""
            + _OVERLAP
            + """
                    t = Where (over, gone, s)
                    u = ReduceMax <keepdims = 0> (t)
                    d = Greater (u, gone)
                }>
            }""",
            boxes_50=boxes(50),
            boxes_500=boxes(500),
        ),
        _case(
            "suppression: a mask of fixed size",
            """g (float[n, 4] boxes, float[n] scores) => (mask) <int64 m = {9223372036854775807}, bool go = {1},
                    float gone = {0}, bool yes = {1}> {
                shape = Shape (scores)
                empty = ConstantOfShape <value = bool[1] {0}> (shape)
                left_over, mask = Loop (m, go, scores, empty)
                    <body = b (int64 i, bool c, float[n] s, bool[n] p) => (d, t, q) {
                    best = ArgMax <axis = 0, keepdims = 1> (s)
                    yes1 = Constant <value = bool[1] {1}> ()
                    q = ScatterElements <axis = 0> (p, best, yes1)"""
            + _OVERLAP
            + """
                    t = Where (over, gone, s)
                    u = ReduceMax <keepdims = 0> (t)
                    d = Greater (u, gone)
                }>
            }""",
            boxes_50=boxes(50),
            boxes_500=boxes(500),
        ),
        _case(
            "suppression: boxes that are left, compressed",
            """g (float[n, 4] b0, float[n] s0) => (picks) <int64 m = {9223372036854775807}, bool go = {1},
                    float[0] none = {}, int64 least = {0}> {
                b1, s1, picks = Loop (m, go, b0, s0, none)
                    <body = b (int64 i, bool c, float[k, 4] boxes, float[k] s, float[j] p) => (d, r, t, q) {
                    best = ArgMax <axis = 0, keepdims = 1> (s)
                    score = Gather <axis = 0> (s, best)
                    q = Concat <axis = 0> (p, score)"""
            + _OVERLAP
            + """
                    left_over = Not (over)
                    r = Compress <axis = 0> (boxes, left_over)
                    t = Compress <axis = 0> (s, left_over)
                    u = Size (t)
                    d = Greater (u, least)
                }>
            }""",
            boxes_50={"b0": boxes(50)["boxes"], "s0": boxes(50)["scores"]},
            boxes_500={"b0": boxes(500)["boxes"], "s0": boxes(500)["scores"]},
        ),
    ]


def _branching() -> list[Case]:
    sizes = {"small": 8, "large": 10_000}
    both = {f"{name}_{c}": {"x": _floats(2, size), "c": np.bool_(c)} for name, size in sizes.items() for c in (0, 1)}
    two = {f"{c}{d}": {"x": _floats(2, 64), "c": np.bool_(c), "d": np.bool_(d)} for c in (0, 1) for d in (0, 1)}
    return [
        _case(
            "If: branches of one size",
            """g (float[2, n] x, bool c) => (y) {
                y = If (c) <then_branch = a () => (u) { u = Exp (x) }, else_branch = e () => (v) { v = Neg (x) }>
            }""",
            **both,
        ),
        _case(
            "If: branches of different sizes",
            """g (float[2, n] x, bool c) => (z) {
                y = If (c) <
                    then_branch = a () => (u) { u = Concat <axis = 1> (x, x) },
                    else_branch = e () => (v) { v = Neg (x) }
                >
                z = Relu (y)
            }""",
            **both,
        ),
        _case(
            "If: branches of different ranks",
            """g (float[2, n] x, bool c) => (z) <int64[1] zero = {0}> {
                y = If (c) <
                    then_branch = a () => (u) { u = ReduceSum <keepdims = 0> (x, zero) },
                    else_branch = e () => (v) { v = Neg (x) }
                >
                z = Relu (y)
            }""",
            **both,
        ),
        _case(
            "If: nested, of different sizes",
            """g (float[2, n] x, bool c, bool d) => (z) <int64[1] zero = {0}> {
                y = If (c) <
                    then_branch = a () => (u) {
                        u = If (d) <
                            then_branch = f () => (p) { p = Concat <axis = 1> (x, x) },
                            else_branch = h () => (q) { q = Exp (x) }
                        >
                    },
                    else_branch = e () => (v) {
                        v = If (d) <
                            then_branch = f2 () => (p2) { p2 = Concat <axis = 0> (x, x) },
                            else_branch = h2 () => (q2) { q2 = Neg (x) }
                        >
                    }
                >
                z = Relu (y)
            }""",
            **two,
        ),
        _case(
            "If: nested, of one size, in a loop",
            """g (float[2, n] x, bool c, bool d, int64 m) => (z) <bool go = {1}, int64 three = {3}, int64 one = {1}> {
                z = Loop (m, go, x) <body = b (int64 i, bool w, float[2, n] s) => (w2, t) {
                    w2 = Identity (w)
                    r = Mod (i, three)
                    k = Equal (r, one)
                    t = If (k) <
                        then_branch = a () => (u) {
                            u = If (d) <
                                then_branch = f () => (p) { p = Neg (s) },
                                else_branch = h () => (q) { q = Tanh (s) }
                            >
                        },
                        else_branch = e () => (v) { v = Add (s, x) }
                    >
                }>
            }""",
            **{key: {**feeds, "m": _number(50)} for key, feeds in two.items()},
        ),
        _case(
            "If: appended to or not, in a loop",
            """g (float[n] x, int64 m) => (z) <bool go = {1}, int64 zero = {0}, int64 one = {1}, float[0] none = {}> {
                z = Loop (m, go, none) <body = b (int64 i, bool w, float[k] s) => (w2, t) {
                    w2 = Identity (w)
                    e = Gather <axis = 0> (x, i)
                    positive = Constant <value = float {0}> ()
                    k2 = Greater (e, positive)
                    t = If (k2) <
                        then_branch = a () => (u) {
                            front = Constant <value = int64[1] {0}> ()
                            p = Unsqueeze (e, front)
                            u = Concat <axis = 0> (s, p)
                        },
                        else_branch = e2 () => (v) { v = Identity (s) }
                    >
                }>
            }""",
            trips_100={"x": _floats(100), "m": _number(100)},
        ),
    ]


def _sequences() -> list[Case]:
    return [
        _case(
            "sequence: inserted in a loop, joined after it",
            """g (float[n] x, int64 m) => (y) <bool go = {1}> {
                none = SequenceEmpty <dtype = 1> ()
                l = Loop (m, go, none) <body = b (int64 i, bool w, seq(float[n]) s) => (w2, t) {
                    w2 = Identity (w)
                    j = Cast <to = 1> (i)
                    p = Mul (x, j)
                    t = SequenceInsert (s, p)
                }>
                y = ConcatFromSequence <axis = 0, new_axis = 1> (l)
            }""",
            size_4_trips_10={"x": _floats(4), "m": _number(10)},
            size_64_trips_300={"x": _floats(64), "m": _number(300)},
        ),
        _case(
            "sequence: split, each element read in a loop",
            """g (float[k, n] x) => (y) <bool go = {1}, int64 one = {1}> {
                l = SplitToSequence <axis = 0, keepdims = 0> (x)
                m = SequenceLength (l)
                zero = Constant <value = int64 {0}> ()
                first = SequenceAt (l, zero)
                y = Loop (m, go, first) <body = b (int64 i, bool w, float[n] s) => (w2, t) {
                    w2 = Identity (w)
                    e = SequenceAt (l, i)
                    u = Add (e, s)
                    t = Tanh (u)
                }>
            }""",
            size_4_trips_10={"x": _floats(10, 4)},
            size_64_trips_300={"x": _floats(300, 64)},
        ),
        _case(
            "sequence: split, mapped, joined",
            """g (float[k, n] x) => (y) {
                l = SplitToSequence <axis = 0> (x)
                r = SequenceMap (l) <body = b (float[1, n] s) => (float[1, n] t) {
                    u = Exp (s)
                    t = Neg (u)
                }>
                y = ConcatFromSequence <axis = 0> (r)
            }""",
            size_4_trips_10={"x": _floats(10, 4)},
        ),
        _case(
            "sequence: constructed and joined without a loop",
            """g (float[n] x) => (y) {
                e = Exp (x)
                f = Neg (x)
                l = SequenceConstruct (x, e, f)
                one = Constant <value = int64 {1}> ()
                p = SequenceAt (l, one)
                q = ConcatFromSequence <axis = 0> (l)
                y = Concat <axis = 0> (q, p)
            }""",
            size_8={"x": _floats(8)},
        ),
        _case(
            "sequence: one of two, by If",
            """g (float[n] x, bool c) => (y) {
                l = If (c) <
                    then_branch = a () => (u) { u = SequenceConstruct (x, x) },
                    else_branch = e () => (v) { w = Neg (x) v = SequenceConstruct (w) }
                >
                y = ConcatFromSequence <axis = 0> (l)
            }""",
            then={"x": _floats(8), "c": np.bool_(1)},
            otherwise={"x": _floats(8), "c": np.bool_(0)},
        ),
        _case(
            "optional: given or not, by If",
            """g (float[n] x, bool c) => (y) {
                o = Optional (x)
                h = OptionalHasElement (o)
                k = And (h, c)
                y = If (k) <
                    then_branch = a () => (u) { w = OptionalGetElement (o) u = Exp (w) },
                    else_branch = e () => (v) { v = Neg (x) }
                >
            }""",
            then={"x": _floats(8), "c": np.bool_(1)},
        ),
    ]


def _scanning() -> list[Case]:
    return [
        _case(
            "Scan: a running mean with an If in it",
            """g (float[n] x, float[k, n] rows) => (y, z) <float half = {0.5}, float limit = {0}> {
                y, z = Scan <num_scan_inputs = 1, body = b (float[n] s, float[n] r) => (t, o) {
                    a = Add (s, r)
                    t = Mul (a, half)
                    e = ReduceSum <keepdims = 0> (t)
                    c = Greater (e, limit)
                    o = If (c) <then_branch = f () => (u) { u = Neg (t) }, else_branch = h () => (v) { v = Exp (t) }>
                }> (x, rows)
            }""",
            size_16_trips_100={"x": _floats(16), "rows": _floats(100, 16)},
        ),
        _case(
            "Scan: positions of what is not zero, in every row",
            """g (float[k, n] rows) => (y, z) <int64 zero = {0}> {
                y, z = Scan <num_scan_inputs = 1, body = b (int64 s, float[n] r) => (t, o) {
                    p = NonZero (r)
                    q = Size (p)
                    t = Add (s, q)
                    o = Identity (t)
                }> (zero, rows)
            }""",
            size_16_trips_100={"rows": np.maximum(_floats(100, 16), 0)},
        ),
    ]
