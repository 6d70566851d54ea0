"""Operators that move elements, in primitives and as machine code: sizes with names, indices from the back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.dtypes import Array, DType
from ingot.prim.tensor import Gather
from ingot.prim.walk import reachable
from lower.agreement import agree, lowered, refusal
from lower.machine import runs

FAR = 2**63 - 1
FLOATS = {"float": np.float32, "double": np.float64, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
INTEGERS = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
EDGES = [
    *(0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 127.0, 128.0, -129.0, 255.5, 256.0, 300.7, -300.7, 32768.0, -32769.0, 65520.0),
    *(2.0**24 + 1, 2.0**31, -(2.0**31) - 1, 2.0**32, 2.0**32 + 5, 2.0**63, -(2.0**63), 1.5 * 2.0**63, 2.0**64),
    *(-(2.0**65), 1e30, -1e30, 1e-40, np.nan, np.inf, -np.inf),
]
"""Where casts to integers wrap around, stop, or have nothing to give."""


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return (np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)


@pytest.mark.parametrize("target", [*INTEGERS, "bool"])
@pytest.mark.parametrize("source", FLOATS)
def test_floats_cast_to_integers_wrap_and_stop_as_the_reference_does(source: str, target: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array(EDGES).astype(FLOATS[source])
    to = int(DType[target.upper()])
    runs(f"g ({source}[N] x) => ({target}[N] y) {{ y = Cast <to = {to}> (x) }}", {"x": x})


@pytest.mark.parametrize("target", [*INTEGERS, "bool", *FLOATS])
@pytest.mark.parametrize("source", ["int32", "uint32", "int64", "uint64"])
def test_integers_cast_are_rounded_once_and_keep_their_low_bits(source: str, target: str) -> None:
    limits = np.iinfo(source)
    wide = [257 * 2**k + d for k in range(8, 55) for d in (-1, 0, 1)]  # beside ties of a number of 8 bits
    some = [*wide, *(-number for number in wide), 0, limits.min, limits.max]
    x = np.array([number for number in some if limits.min <= number <= limits.max], source)
    named = {"float": DType.FLOAT32, "double": DType.FLOAT64}.get(target) or DType[target.upper()]
    graph = f"g ({source}[N] x) => ({target}[N] y) {{ y = Cast <to = {int(named)}> (x) }}"
    agree(graph, 0, x=x)
    runs(graph, {"x": x}, rtol=0)


def test_a_cast_that_would_be_rounded_twice_is_refused() -> None:
    assert "float64 to bfloat16" in refusal("g (double[N] x) => (bfloat16[N] y) { y = Cast <to = 16> (x) }")


def test_types_that_primitives_do_not_have_are_refused() -> None:
    assert "string" in refusal("g (string[N] x) => (string[N] y) { y = Identity (x) }")


@pytest.mark.parametrize("size", [0, 3])
def test_sizes_with_names_are_held_by_tensors(size: int) -> None:
    graph = """g (float[N, 4, M] x) => (int64[3] y, int64 z, int64[1] w, int64[0] v)
        { y = Shape (x) z = Size (x) w = Shape <start = -1> (x) v = Shape <start = 2, end = 1> (x) }"""
    agree(graph, x=numbers(size, 4, 2))
    runs(graph, {"x": numbers(size, 4, 2)}, {"x": numbers(1, 4, size)})


def test_the_shape_of_strings_is_left_to_who_has_them() -> None:
    assert "string" in refusal("g (string[N, 2] x) => (int64[2] y) { y = Shape (x) }")


@pytest.mark.parametrize("dtype", FLOATS)
def test_reshapes_and_transposes_of_sizes_with_names_agree(dtype: str) -> None:
    graph = f"""g ({dtype}[N, 1, M, 3] x)
        => ({dtype}[A, 3] y, {dtype}[N, B] z, {dtype}[3, M, 1, N] t, {dtype}[N, M, 3] s)
        <int64[2] shape = {{0, -1}}, int64[1] axis = {{1}}> {{
        y = Flatten <axis = -1> (x) z = Reshape (x, shape) t = Transpose (x) s = Squeeze (x, axis) }}"""
    agree(graph, x=numbers(2, 1, 4, 3, dtype=FLOATS[dtype]))
    runs(graph, {"x": numbers(2, 1, 4, 3, dtype=FLOATS[dtype])}, {"x": numbers(5, 1, 1, 3, dtype=FLOATS[dtype])})


def test_an_axis_that_may_have_more_elements_is_taken_out_if_it_has_one() -> None:
    agree("g (float[N, M] x) => (float[M] y) <int64[1] a = {0}> { y = Squeeze (x, a) }", x=numbers(1, 3))


def test_a_tensor_is_repeated_to_sizes_of_another() -> None:
    graph = """g (float[N, 1] x, float[M] z) => (float[3, N, M] y) <int64[1] k = {3}>
        { m = Shape (z) n = Shape <end = 1> (x) s = Concat <axis = 0> (k, n, m) y = Expand (x, s) }"""
    agree(graph, x=numbers(2, 1), z=numbers(4))
    agree(graph, x=numbers(0, 1), z=numbers(4))


def test_sizes_that_only_a_run_can_tell_to_fit_are_made_sure_of() -> None:
    expand = "g (float[5] x, float[M] z) => (float[5] y) { s = Shape (z) y = Expand (x, s) }"
    runs(expand, *({"x": numbers(5), "z": numbers(count)} for count in (5, 1, 7)))
    concat = "g (float[N, 2] x, float[3, 2] z) => (float[3, 4] y) { y = Concat <axis = 1> (x, z) }"
    runs(concat, *({"x": numbers(count, 2), "z": numbers(3, 2)} for count in (3, 2)))


def test_lengths_that_only_a_run_can_tell_to_add_up_are_guarded() -> None:
    lengths = "<int64[2] s = {2, 5}> { y, z = Split <axis = 0> (x, s) }"
    _, program = lowered(f"g (float[N] x) => (float[2] y, float[5] z) {lengths}")
    assert not program.calls
    assert ("N", "7") in [(str(guard.left), str(guard.right)) for guard in program.guards]


@pytest.mark.parametrize("size", [0, 1, 4, 7, 9])
def test_parts_of_a_size_with_a_name_are_its_slices(size: int) -> None:
    graph = "{ p, q, r = Split <num_outputs = 3, axis = 0> (x) y = Concat <axis = 0> (r, p, q) }"
    agree(f"g (float[N, 2] x) => (float[B, 2] q, float[C, 2] r, float[D, 2] y) {graph}", x=numbers(size, 2))


SLICES = [(1, FAR, 1), (-3, FAR, 1), (0, -1, 1), (-1, -FAR - 1, -1), (5, 1, -2), (1, 7, 3), (9, -9, -1), (2, 1, 1)]


@pytest.mark.parametrize(("start", "end", "step"), SLICES)
def test_slices_of_a_size_with_a_name_agree(start: int, end: int, step: int) -> None:
    held = f"<int64[1] a = {{{start}}}, int64[1] b = {{{end}}}, int64[1] c = {{0}}, int64[1] s = {{{step}}}>"
    graph = f"g (float16[N, 2] x) => (float16[M, 2] y) {held} {{ y = Slice (x, a, b, c, s) }}"
    for size in (0, 1, 6, 13):
        agree(graph, x=numbers(size, 2, dtype=np.float16))
    runs(graph, *({"x": numbers(size, 2, dtype=np.float16)} for size in (0, 1, 6, 13)))


def test_a_slice_begins_where_another_tensor_ends() -> None:
    graph = """g (float[P, 4] past, float[S, 4] x) => (float[T, 4] y, float[U, 4] z)
        <int64[1] zero = {0}, int64[1] far = {99}>
        { c = Concat <axis = 0> (past, x) n = Shape <end = 1> (past)
          y = Slice (c, n, far, zero) z = Slice (c, zero, n, zero) }"""
    agree(graph, past=numbers(3, 4), x=numbers(2, 4))
    runs(graph, {"past": numbers(0, 4), "x": numbers(2, 4)}, {"past": numbers(3, 4), "x": numbers(2, 4)})


def test_slices_that_a_run_places_agree() -> None:
    graph = "g (float[N] x, int64[1] a, int64[1] b) => (float[M] y) { y = Slice (x, a, b) }"
    for first, last in [(0, 2), (-2, 9), (2, 1)]:
        agree(graph, x=numbers(3), a=[first], b=[last])


def test_slices_picked_by_index_agree_and_bad_indices_are_errors() -> None:
    graph = "{ y = Gather (x, i) z = Gather <axis = -1> (x, i) }"
    graph = f"g (float16[N, 4] x, int64[S] i) => (float16[S, 4] y, float16[N, S] z) {graph}"
    x = numbers(5, 4, dtype=np.float16)
    agree(graph, x=x, i=np.array([0, -1, 3]))
    cases: list[list[int]] = [[0, -1, 3], [], [4], [-5]]  # the last two are outside one of the axes
    runs(graph, *({"x": x, "i": np.array(indices, np.int64)} for indices in cases), {"x": x[:0], "i": np.array([0])})


def test_known_indices_agree_and_those_outside_are_errors() -> None:
    graph = """g (float[N, 4] x) => (float[4] y, float[4] z, float[N] w, float[N, 2] v, float[N, 2, 2] u)
        <int64 a = {0}, int64 b = {-1}, int32 c = {2}, int32[2] d = {3, 1}, int64[2, 2] e = {0, 1, 0, 3}>
        { y = Gather (x, a) z = Gather (x, b) w = Gather <axis = 1> (x, c) v = Gather <axis = 1> (x, d)
          u = Gather <axis = 1> (x, e) }"""
    agree(graph, x=numbers(5, 4))
    runs(graph, {"x": numbers(1, 4)}, {"x": numbers(0, 4)})


def test_elements_picked_by_index_agree_and_bad_indices_are_errors() -> None:
    graph = "{ y = GatherElements <axis = -1> (x, i) }"
    graph = f"g (float[N, 4] x, int64[S, 2] i) => (float[S, 2] y) {graph}"
    agree(graph, x=numbers(5, 4), i=np.array([[0, -1], [3, 3], [-4, 2]]))
    runs(
        graph,
        *({"x": numbers(size, 4), "i": np.array([[0, -1], [3, last]])} for size, last in ((2, 0), (2, 4), (1, 0))),
    )


@pytest.mark.parametrize("batch_dims", [0, 1])
def test_coordinates_agree_and_bad_ones_are_errors(batch_dims: int) -> None:
    shape = "N, S, 3" if batch_dims else "N, S, 4, 3"
    graph = f"g (float[N, 4, 3] x, int64[N, S, 1] i) => (float[{shape}] y)"
    graph = f"{graph} {{ y = GatherND <batch_dims = {batch_dims}> (x, i) }}"
    good = np.array([[[0], [-1]], [[1], [-2]]])
    agree(graph, x=numbers(2, 4, 3), i=good)
    runs(graph, {"x": numbers(2, 4, 3), "i": good}, {"x": numbers(2, 4, 3), "i": good * 5})


def test_coordinates_of_no_axes_pick_everything() -> None:
    graph = "g (float[N, 4] x, int64[S, 0] i) => (float[S, N, 4] y) { y = GatherND (x, i) }"
    agree(graph, x=numbers(2, 4), i=np.zeros((3, 0), np.int64))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "bool"])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scattered_elements_agree_where_indices_meet(reduction: str, dtype: str) -> None:
    x, updates = numbers(5, 3).astype(dtype), numbers(4, 3)[::-1].astype(dtype)
    named = {"float32": "float"}.get(dtype, dtype)
    given = f"{named}[N, 3] x, int64[S, 3] i, {named}[S, 3] u"
    graph = f'g ({given}) => ({named}[N, 3] y) {{ y = ScatterElements <reduction = "{reduction}"> (x, i, u) }}'
    good = np.array([[0, 1, 2], [1, 1, -1], [1, -1, -5], [1, 0, 0]])
    agree(graph, x=x, i=good, u=updates)
    runs(graph, {"x": x, "i": good, "u": updates}, {"x": x[:3], "i": good, "u": updates})
    graph = graph.replace("Elements", "ND").replace("int64[S, 3]", "int64[S, 1]")
    rows = good[:, 1:2]
    agree(graph, x=x, i=rows, u=updates)
    runs(graph, {"x": x, "i": rows, "u": updates}, {"x": x[:1], "i": rows, "u": updates})


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_entries_are_written_into_a_cache_where_they_fit(mode: str) -> None:
    graph = f'{{ y = TensorScatter <mode = "{mode}"> (c, u, w) }}'
    graph = f"g (float[B, M, 2] c, float[B, S, 2] u, int64[B] w) => (float[B, M, 2] y) {graph}"
    cache, new = numbers(2, 5, 2), numbers(2, 2, 2)
    agree(graph, c=cache, u=new, w=np.array([0, 3]))
    places = ([0, 3], [4, 0], [-1, 0], [9, -9])
    runs(
        graph, *({"c": cache, "u": new, "w": np.array(at)} for at in places), {"c": cache[:, :1], "u": new, "w": [0, 0]}
    )


def test_tiles_of_sizes_with_names_agree() -> None:
    graph = """g (float[N, 1, 3] x, float[M] z) => (float[A, B, 6] y) <int64[1] two = {2}>
        { m = Shape (z) s = Concat <axis = 0> (m, m, two) y = Tile (x, s) }"""
    for size in (0, 1, 3):
        agree(graph, x=numbers(2, 1, 3), z=numbers(size))
    runs(graph, *({"x": numbers(2, 1, 3), "z": numbers(size)} for size in (0, 1, 3)))


@pytest.mark.parametrize("repeats", [(3, 2, 2), (1, 4, 3), (5, 1, 7), (2, 3, 1), (0, 2, 2)])
def test_short_rows_are_tiled_once_and_copied_in_long_ones(repeats: tuple[int, ...]) -> None:
    x, times = numbers(3, 60, 5), ",".join(map(str, repeats))
    agree(f"g (float[3, 60, 5] x) => (float[A, B, C] y) <int64[3] s = {{{times}}}> {{ y = Tile (x, s) }}", x=x)
    runs(f"g (float[3, 60, 5] x) => (float[A, B, C] y) <int64[3] s = {{{times}}}> {{ y = Tile (x, s) }}", {"x": x})
    runs("g (float[3, 60, 5] x, int64[3] s) => (float[A, B, C] y) { y = Tile (x, s) }", {"x": x, "s": repeats})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pads_of_sizes_with_names_agree(mode: str) -> None:
    graph = f'<int64[6] p = {{2, -1, 1, 0, 2, 5}}> {{ y = Pad <mode = "{mode}"> (x, p) }}'
    graph = f"g (float[N, 4, M] x) => (float[A, 5, B] y) {graph}"
    for shape in ((3, 4, 2), (1, 4, 1), (5, 4, 3)):
        agree(graph, x=numbers(*shape))
    shapes = ((3, 4, 2), (1, 4, 1), (2, 4, 0))  # of no elements, there is none to repeat
    runs(graph, *({"x": numbers(*shape)} for shape in shapes))


def test_a_computed_number_is_put_around_a_tensor() -> None:
    graph = "<int64[4] p = {2, -1, 1, 2}> { y = Pad (x, p, v) }"
    graph = f"g (float[N, 4] x, float v) => (float[A, 5] y) {graph}"
    agree(graph, x=numbers(3, 4), v=np.float32(np.nan))
    runs(graph, {"x": numbers(0, 4), "v": np.float32(3)}, {"x": numbers(3, 4), "v": np.float32(np.nan)})


@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_beside_any_diagonal_agree(upper: int) -> None:
    graph = f"g (float[B, N, M] x, int64 k) => (float[B, N, M] y) {{ y = Trilu <upper = {upper}> (x, k) }}"
    for k in (1, -2, -(2**63), FAR):
        agree(graph, x=numbers(2, 4, 3), k=np.int64(k))


ONE_HOT = {
    "int64": [0, -1, 3, 4, -4, -5, 2**62, -(2**63)],
    "uint64": [0, 3, 4, 2**64 - 1],
    "float": [0, -1, 2.7, -0.5, np.nan, np.inf, -1e30],
    "float16": [3.9, np.nan, -4],
}


@pytest.mark.parametrize("dtype", ONE_HOT)
def test_indices_of_any_type_are_on_in_one_place_or_none(dtype: str) -> None:
    graph = "<int64 d = {4}> { y = OneHot (x, d, v) z = OneHot <axis = 0> (x, d, v) }"
    graph = f"g ({dtype}[N] x, float[2] v) => (float[N, 4] y, float[4, N] z) {graph}"
    x = np.array(ONE_HOT[dtype], {"float": np.float32}.get(dtype, dtype))
    agree(graph, x=x, v=numbers(2))
    runs(graph, {"x": x, "v": numbers(2)})


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_squares_of_pixels_agree(mode: str) -> None:
    how = f'<blocksize = 2, mode = "{mode}">'
    graph = f"{{ y = DepthToSpace {how} (x) z = SpaceToDepth {how} (y) }}"
    graph = f"g (float[N, 8, H, W] x) => (float[N, 2, A, B] y, float[N, 8, H, W] z) {graph}"
    agree(graph, x=numbers(2, 8, 3, 2))
    runs(graph, {"x": numbers(1, 8, 1, 5)})


@pytest.mark.parametrize("time", [0, 1])
def test_sequences_are_reversed_and_lengths_that_do_not_fit_are_errors(time: int) -> None:
    shape = "B, T" if time else "T, B"
    graph = f"{{ y = ReverseSequence <batch_axis = {1 - time}, time_axis = {time}> (x, n) }}"
    graph = f"g (float[{shape}, 2] x, int64[B] n) => (float[{shape}, 2] y) {graph}"
    x = numbers(3, 5, 2) if time else numbers(5, 3, 2)
    agree(graph, x=x, n=np.array([0, 5, 3]))
    runs(graph, *({"x": x, "n": np.array(lengths)} for lengths in ([0, 5, 3], [0, 6, 3], [1, -1, 2])))


@pytest.mark.parametrize(("source", "target", "to"), [("int8", "uint8", 2), ("uint8", "bool", 9), ("bool", "uint8", 2)])
def test_bits_of_integers_are_read_as_those_of_others(source: str, target: str, to: int) -> None:
    x = np.array([0, 1, 2, 127]).astype(source)
    agree(f"g ({source}[N] x) => ({target}[N] y) {{ y = BitCast <to = {to}> (x) }}", x=x)


def test_bits_of_floats_agree() -> None:
    agree("g (float[N] x) => (int32[N] y) { y = BitCast <to = 6> (x) }", x=numbers(5))


def test_the_stated_size_of_a_slice_is_no_promise() -> None:
    text = "g (float[N] x, int64[1] e) => (float[5] y) <int64[1] s = {0}> { y = Slice (x, s, e) }"
    _, program = lowered(text)
    assert not program.calls
    assert [(str(guard.left), str(guard.right)) for guard in program.guards] == [("read_0", "5")]


@pytest.mark.parametrize(
    "indices",
    [
        "int64[3, 4] i = {0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5}",
        "int64[4, 1, 2] i = {1, 4, 2, 5, 3, 6, 4, 7}",
        "int32[2, 3] i = {-8, -6, -4, -5, -3, -1}",
    ],
)
def test_picking_at_known_places_that_grow_along_two_axes_is_a_view(indices: str) -> None:
    graph = f"g (float[N, 8, 3] x) => (float[a, b, c, d, e] y) <{indices}> {{ y = Gather <axis = 1> (x, i) }}"
    graph = graph if "1, 2]" in indices else graph.replace("a, b, c, d, e", "a, b, c, d")
    _, program = lowered(graph)
    result = next(value for name, value in program.values.items() if name.name == "y")
    assert not any(isinstance(tensor, Gather) for tensor in reachable(result))
    agree(graph, 0, x=numbers(2, 8, 3))
    runs(graph, {"x": numbers(2, 8, 3)}, {"x": numbers(1, 8, 3)}, rtol=0)


@pytest.mark.parametrize(
    "indices",
    [
        "int64[2, 3] i = {0, 1, 2, 1, 2, 4}",
        "int64[2, 3] i = {0, 0, 0, 1, 1, 1}",
        "int64[2, 3] i = {5, 4, 3, 6, 5, 4}",
        "int64[2, 2] i = {6, 7, 7, 8}",
    ],
)
def test_known_places_of_no_view_are_picked_one_by_one(indices: str) -> None:
    graph = f"g (float[N, 9] x) => (float[a, b, c] y) <{indices}> {{ y = Gather <axis = 1> (x, i) }}"
    agree(graph, 0, x=numbers(2, 9))
    runs(graph, {"x": numbers(2, 9)}, rtol=0)
