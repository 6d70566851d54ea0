"""Operators that move elements, said in older versions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, parser

import ingot
from ingot.versions.convert import convert_versions
from ops.tensor.older import converted, floats, older, refusal

X = floats(3, 4)


def attributes(graph: str, to: int) -> dict[str, Any]:
    """The attributes of the one node that a graph becomes."""
    (node,) = converted(graph, to).graph
    return {name: attribute.value for name, attribute in node.attributes.items()}


# positions that were attributes


def test_axes_in_the_model_become_attributes() -> None:
    graph = "g (float[a,b] x) => (float[a,1,b] y) <int64[1] axes = {1}> { y = Unsqueeze(x, axes) }"
    assert attributes(graph, 12) == {"axes": (1,)}
    assert not converted(graph, 12).graph.initializers
    back = "g (float[a,b] x) => (float[a,b,1] y) <int64[1] axes = {-1}> { y = Unsqueeze(x, axes) }"
    assert attributes(back, 11) == {"axes": (-1,)}
    assert attributes(back, 10) == {"axes": (2,)}
    assert older("g (float[a,1] x) => (float[a] y) <int64[1] axes = {1}> { y = Squeeze(x, axes) }", 1, {"x": X[:, :1]})


def test_axes_that_are_computed_cannot_become_attributes() -> None:
    graph = "g (float[a,b] x, int64[1] axes) => (float[a,1,b] y) { y = Unsqueeze(x, axes) }"
    assert "'axes' is computed while the model runs" in refusal(graph, 12)


def test_the_shape_of_a_reshape_becomes_an_attribute() -> None:
    graph = "g (float[a,b] x) => (float[c,2] y) <int64[2] s = {-1,2}> { y = Reshape(x, s) }"
    assert older(graph, 4, {"x": X}) == ["Reshape"]
    assert attributes(graph, 4)["shape"] == (-1, 2)


def test_an_axis_without_default_is_said() -> None:
    assert older("g (float[a,b] x) => (float[c,b] y) { y = Concat<axis=0>(x, x) }", 1, {"x": X}) == ["Concat"]


@pytest.mark.parametrize("to", [12, 10, 1])
def test_lengths_of_a_split(to: int) -> None:
    graph = "g (float[a,4] x) => (float[a,1] y, float[a,3] z) <int64[2] n = {1,3}> { y, z = Split<axis=1>(x, n) }"
    assert older(graph, to, {"x": X}) == ["Split"]


def test_lengths_that_are_computed_are_positions_of_slices() -> None:
    graph = "g (float[a,4] x, int64[2] n) => (float[a,b] y, float[a,c] z) { y, z = Split<axis=-1>(x, n) }"
    feeds = [{"x": X, "n": np.array(n)} for n in ((1, 3), (0, 4))]
    assert older(graph, 12, *feeds).count("Slice") == 2
    older(graph, 9, *feeds)


def test_parts_in_a_number_are_equal_where_they_can_be() -> None:
    even = "g (float[6] x) => (float[2] p, float[2] q, float[2] r) { p, q, r = Split<num_outputs=3>(x) }"
    uneven = "g (float[7] x) => (float[3] p, float[3] q, float[1] r) { p, q, r = Split<num_outputs=3>(x) }"
    assert attributes(even, 2) == {"axis": 0}
    assert older(uneven, 2, {"x": floats(7)}) == ["Split"]
    unknown = "g (float[n] x) => (float[a] p, float[b] q, float[c] r) { p, q, r = Split<num_outputs=3>(x) }"
    for to in (17, 10):
        older(unknown, to, *({"x": floats(n)} for n in (7, 6, 2, 1, 0)))


@pytest.mark.parametrize(("start", "end", "step"), [(0, 2**63 - 1, 2), (-1, -(2**63), -1), (-2, -5, -2), (5, 0, -2)])
def test_slices_with_steps_are_gathered(start: int, end: int, step: int) -> None:
    given = f"<int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{-1}}, int64[1] p = {{{step}}}>"
    known = f"g (float[2,6] x) => (float[2,c] y) {given} {{ y = Slice(x, s, e, a, p) }}"
    assert older(known, 9, {"x": floats(2, 6)}) == ["Gather"]
    unknown = f"g (float[a,b] x) => (float[a,c] y) {given} {{ y = Slice(x, s, e, a, p) }}"
    said = older(unknown, 9, *({"x": floats(2, n)} for n in (7, 6, 2, 1, 0)))
    assert said[0] == "Slice"
    assert said[-1] == "Gather"


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_slices_at_computed_positions_are_gathered(step: int) -> None:
    given = f"<int32[1] t = {{-1}}, int32[1] p = {{{step}}}>"
    graph = f"g (float[a,b] x, int32[1] s, int32[1] e) => (float[a,c] y) {given} {{ y = Slice(x, s, e, t, p) }}"
    edges = [(0, 5), (5, 0), (-2, -9), (-9, 9), (9, -9), (1, -1), (-1, 1), (3, 3), (2**31 - 1, -(2**31))]
    feeds = [
        {"x": floats(2, n), "s": np.array([s], np.int32), "e": np.array([e], np.int32)}
        for s, e in edges
        for n in (6, 1)
    ]
    assert older(graph, 9, *feeds)[-1] == "Gather"


def test_slices_without_steps_stay_slices() -> None:
    given = "<int64[2] s = {1,-2}, int64[2] e = {2147483647,-1}>"
    assert older(f"g (float[a,b] x) => (float[c,d] y) {given} {{ y = Slice(x, s, e) }}", 1, {"x": X}) == ["Slice"]


def test_part_of_a_shape_is_a_slice_of_it() -> None:
    assert older("g (float[a,b] x) => (int64[1] y) { y = Shape<start=-1>(x) }", 14, {"x": X}) == ["Shape", "Slice"]


# Pad


def test_axes_of_a_pad_are_all_axes() -> None:
    held = "g (float[a,b] x) => (float[a,c] y) <int64[2] p = {1,2}, int64[1] t = {-1}> { y = Pad(x, p, , t) }"
    assert older(held, 17, {"x": X}) == ["Pad"]
    assert attributes(held, 10) == {"pads": (0, 1, 0, 2), "mode": "constant", "value": 0.0}
    assert attributes(held, 1)["paddings"] == (0, 1, 0, 2)
    feed = {"x": X, "p": np.array([1, 2]), "t": np.array([-1])}
    pads = "g (float[a,b] x, int64[2] p) => (float[a,c] y) <int64[1] t = {-1}> { y = Pad(x, p, , t) }"
    assert older(pads, 17, {"x": X, "p": feed["p"]}) == ["Concat", "Gather", "Pad"]
    both = "g (float[a,b] x, int64[2] p, int64[1] t) => (float[a,c] y) { y = Pad(x, p, , t) }"
    assert "ScatterElements" in older(both, 17, feed)


@pytest.mark.parametrize("pads", ["1,2", "-1,2", "5,-2", "0,0"])
def test_a_pad_that_wraps_is_gathered(pads: str) -> None:
    given = f'<int64[2] p = {{{pads}}}, int64[1] t = {{1}}> {{ y = Pad<mode="wrap">(x, p, , t) }}'
    for sizes in ("3,4", "a,b"):
        said = older(f"g (float[{sizes}] x) => (float[c,d] y) {given}", 18, {"x": X})
        assert said[-1] == ("Identity" if pads == "0,0" else "Gather")


def test_a_pad_that_wraps_by_what_is_computed_is_gathered() -> None:
    every = 'g (float[a,b] x, int64[4] p) => (float[c,d] y) { y = Pad<mode="wrap">(x, p) }'
    feeds = [{"x": X, "p": np.array(p)} for p in ((1, 2, 0, 5), (-1, 2, 1, -1), (0, 0, 0, 0))]
    assert older(every, 18, *feeds)[-1] == "Gather"
    one = 'g (float[a,b] x, int64[2] p) => (float[a,d] y) <int64[1] t = {-1}> { y = Pad<mode="wrap">(x, p, , t) }'
    older(one, 18, {"x": X, "p": np.array([3, 9])})


def test_a_pad_of_another_type_goes_through_one_that_holds_it() -> None:
    graph = "g (bool[a] x) => (bool[b] y) <int64[2] p = {1,0}, bool f = {1}> { y = Pad(x, p, f) }"
    assert older(graph, 12, {"x": np.array([False, True])}) == ["Cast", "Pad", "Cast"]
    older(graph, 10, {"x": np.array([False, True])})
    small = "g (int16[a] x) => (int16[b] y) <int64[2] p = {1,0}> { y = Pad(x, p) }"
    assert older(small, 10, {"x": np.array([1, 2], np.int16)}) == ["Cast", "Pad", "Cast"]


def test_what_no_attribute_holds_is_joined_on() -> None:
    feed = {"x": np.array([[1, 2], [3, 4]])}
    wide = "g (int64[a,b] x) => (int64[c,b] y) <int64[4] p = {1,0,2,0}> { y = Pad(x, p) }"
    assert older(wide, 10, feed).count("Concat") == 3  # two shapes, and the tensor itself
    inexact = "g (double[a] x) => (double[b] y) <int64[2] p = {1,0}, double f = {0.1}> { y = Pad(x, p, f) }"
    assert "Pad" not in older(inexact, 10, {"x": np.ones(2)})
    given = "g (float[a,b] x, int64[4] p, float f) => (float[c,d] y) { y = Pad(x, p, f) }"
    pads = [(1, 2, 0, 3), (-1, 0, 2, -2), (0, 0, 0, 0), (-3, 0, 0, 0)]
    feeds = [{"x": X, "p": np.array(p), "f": np.float32(7)} for p in pads]
    for to in (10, 9):
        older(given, to, *feeds)


def test_reflections_of_what_no_attribute_holds_are_refused() -> None:
    graph = 'g (float[a] x, int64[2] p) => (float[b] y) { y = Pad<mode="reflect">(x, p) }'
    assert "'p' is computed while the model runs" in refusal(graph, 10)
    wide = 'g (int64[a] x) => (int64[b] y) <int64[2] p = {1,0}> { y = Pad<mode="edge">(x, p) }'
    assert "int64" in refusal(wide, 10)


# Reshape


@pytest.mark.parametrize("shape", [(0, 3), (3, 0, 2)])
def test_a_reshape_to_nothing_needs_no_zero_of_its_own(shape: tuple[int, ...]) -> None:
    sizes = ",".join(map(str, shape))
    graph = f"g (float[a,b] x) => (float[{sizes}] y) <int64[{len(shape)}] s = {{{sizes}}}>"
    assert older(graph + " { y = Reshape<allowzero=1>(x, s) }", 13, {"x": floats(7, 0)}) == ["Expand"]


def test_a_reshape_to_what_is_computed_asks_for_zeros() -> None:
    graph = "g (float[a,b] x, int64[3] s) => (float[c,d,e] y) { y = Reshape<allowzero=1>(x, s) }"
    feeds = [{"x": floats(*x), "s": np.array(s)} for x, s in (((2, 6), (3, -1, 2)), ((2, 0), (3, 0, 2)))]
    assert older(graph, 13, *feeds) == ["ReduceProd", "Equal", "If"]


def test_a_reshape_that_keeps_what_may_be_zero_stays() -> None:
    graph = """g (float[n,6] x) => (float[n,2,3] y) <int64[2] k = {2,3}> {
        n = Shape<end=1>(x)
        s = Concat<axis=0>(n, k)
        z = Reshape<allowzero=1>(x, s)
        y = Neg(z)
    }"""
    assert older(graph, 13, {"x": floats(2, 6)}, {"x": floats(0, 6)})[-2:] == ["Reshape", "Neg"]


# casts


def test_attributes_of_a_cast_that_say_nothing_are_left_out() -> None:
    graph = 'g (float[a] x) => (int64[a] y) { y = Cast<to=7, saturate=0, round_mode="down">(x) }'
    assert attributes(graph, 23) == {"to": 7}
    assert attributes(graph, 5) == {"to": "INT64"}


def test_an_element_type_that_came_later_is_named() -> None:
    assert "float8e4m3fn came with version 19" in refusal(
        "g (float[a] x) => (float8e4m3fn[a] y) {y = Cast<to=17>(x)}", 18
    )
    assert "bfloat16 came with version 13" in refusal("g (float[a] x) => (bfloat16[a] y) { y = Cast<to=16>(x) }", 12)


def test_cast_like_is_a_cast() -> None:
    graph = "g (float[a] x, int32[b] t) => (int32[a] y) { y = CastLike(x, t) }"
    assert attributes(graph, 14) == {"to": 6}


def test_bits_of_integers_are_cast_and_those_of_floats_are_not() -> None:
    assert older(
        "g (int8[a] x) => (uint8[a] y) { y = BitCast<to=2>(x) }", 25, {"x": np.arange(-3, 3, dtype=np.int8)}
    ) == ["Cast"]
    assert "bits of float" in refusal("g (float[a] x) => (int32[a] y) { y = BitCast<to=6>(x) }", 25)


@pytest.mark.parametrize(
    ("op_type", "given", "cast"),
    [
        ("Compress<axis=0>", "x, c", "Compress"),
        ("ReverseSequence", "x, n", "ReverseSequence"),
        ("Trilu", "x", "Where"),
    ],
)
def test_bfloat16_goes_through_float32(op_type: str, given: str, cast: str) -> None:
    graph = f"g (bfloat16[2,2] x, bool[2] c, int64[2] n) => (bfloat16[a,2] y) {{ y = {op_type}({given}) }}"
    x = floats(2, 2).astype(ml_dtypes.bfloat16)
    feed = {"x": x, "c": np.array([True, False]), "n": np.array([1, 2])}
    said = older(graph, 13 if cast == "Where" else 27, feed)
    assert said[-3:] == ["Cast", cast, "Cast"]


# picking and putting in


@pytest.mark.parametrize("to", [10, 9])
def test_elements_are_gathered_from_a_row(to: int) -> None:
    graph = "g (float[a,b,c] x, int64[d,e,h] i) => (float[d,e,h] y) { y = GatherElements<axis=1>(x, i) }"
    feeds = [((2, 3, 4), (2, 5, 4)), ((2, 3, 4), (1, 2, 3)), ((2, 3, 4), (2, 0, 4))]
    rng = np.random.default_rng(0)
    older(graph, to, *({"x": floats(*x), "i": rng.integers(-3, 3, i)} for x, i in feeds))
    known = "g (float[2,2] x) => (float[2,2] y) <int64[2,2] i = {0,0,1,0}> { y = GatherElements<axis=1>(x, i) }"
    assert older(known, to, {"x": floats(2, 2)}) == ["Add", "Reshape", "Gather"]


@pytest.mark.parametrize("sizes", [("a", "b", "c"), (4, 2, 3)])
def test_slices_are_gathered_by_flat_places(sizes: tuple[Any, ...]) -> None:
    shape = ",".join(map(str, sizes))
    graph = f"g (float[{shape}] x, int64[n,2] i) => (float[n,c] y) {{ y = GatherND(x, i) }}"
    empty = {"x": floats(4, 2, 3), "i": np.zeros((0, 2), np.int64)}
    older(graph, 9, {"x": floats(4, 2, 3), "i": np.array([[-1, 0], [3, -2]])}, empty)


def test_common_axes_become_coordinates() -> None:
    graph = "g (float[a,b,c] x, int64[a,n,1] i) => (float[a,n,c] y) { y = GatherND<batch_dims=1>(x, i) }"
    feed = {"x": floats(2, 3, 4), "i": np.array([[[0], [-1]], [[2], [1]]])}
    assert older(graph, 11, feed)[-1] == "GatherND"
    older(graph, 10, feed)


def test_scatters_are_scatter() -> None:
    graph = "g (float[a,b] x, int32[c,d] i, float[c,d] u) => (float[a,b] y) { y = ScatterElements<axis=-1>(x, i, u) }"
    feed = {"x": X, "i": np.array([[0, -1], [2, 1]], np.int32), "u": floats(2, 2)}
    assert older(graph, 10, feed)[-1] == "Scatter"
    assert "Scatter" in refusal(graph, 8)
    rows = "g (float[a,b,c] x, int64[n,2] i, float[n,c] u) => (float[a,b,c] y) { y = ScatterND(x, i, u) }"
    older(rows, 10, {"x": floats(4, 2, 3), "i": np.array([[0, 1], [-1, -2]]), "u": floats(2, 3)})


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_updates_that_meet_are_combined_in_a_loop(reduction: str, dtype: Any) -> None:
    element = "float" if dtype is np.float32 else "float16"
    to = 15 if reduction in ("add", "mul") else 17
    rng = np.random.default_rng(1)
    graph = f"""g ({element}[a,b] x, int64[c,d] i, {element}[c,d] u) => ({element}[a,b] y) {{
        y = ScatterElements<axis=1, reduction="{reduction}">(x, i, u)
    }}"""
    feeds = [
        {"x": X.astype(dtype), "i": rng.integers(-4, 4, shape), "u": floats(*shape).astype(dtype)}
        for shape in ((3, 7), (2, 0))
    ]
    assert "Loop" in older(graph, to, *feeds)
    older(graph, 10, *feeds)
    rows = f"""g ({element}[a,b] x, int64[n,m,1] i, {element}[n,m,b] u) => ({element}[a,b] y) {{
        y = ScatterND<reduction="{reduction}">(x, i, u)
    }}"""
    feeds = [
        {"x": X.astype(dtype), "i": rng.integers(-3, 3, (*n, 1)), "u": floats(*n, 4).astype(dtype)}
        for n in ((4, 2), (0, 2))
    ]
    assert "Loop" in older(rows, to, *feeds)
    older(rows, 10, *feeds)


def test_a_reduction_that_was_there_stays() -> None:
    graph = 'g (float[a] x, int64[b] i, float[b] u) => (float[a] y) { y = ScatterElements<reduction="add">(x, i, u) }'
    assert [node.op_type for node in converted(graph, 16).graph] == ["ScatterElements"]


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_a_cache_is_written_by_scattering(mode: str) -> None:
    graph = f"""g (float[b,h,m,d] p, float[b,h,l,d] u, int64[b] w) => (float[b,h,m,d] y) {{
        y = TensorScatter<mode="{mode}">(p, u, w)
    }}"""
    feed = {"p": floats(2, 3, 5, 2), "u": floats(2, 3, 2, 2), "w": np.array([1, 4 if mode == "circular" else 3])}
    assert older(graph, 23, feed)[-1] == "ScatterElements"


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("rest", [(), (2,), (0,), (2, 2)])
def test_sequences_are_reversed_by_rows(batch: int, rest: tuple[int, ...]) -> None:
    others = "".join(f",r{index}" for index in range(len(rest)))
    graph = f"""g (float[a,b{others}] x, int64[{"ab"[batch]}] n) => (float[a,b{others}] y) {{
        y = ReverseSequence<batch_axis={batch}, time_axis={1 - batch}>(x, n)
    }}"""
    lengths = np.array([0, 3, 2]) if batch == 0 else np.array([0, 3, 2, 1])
    older(graph, 9, {"x": floats(3, 4, *rest), "n": lengths})


# others


@pytest.mark.parametrize("upper", [0, 1])
def test_a_triangle_is_chosen_by_places(upper: int) -> None:
    graph = f"g (float[a,b,c] x, int64 k) => (float[a,b,c] y) {{ y = Trilu<upper={upper}>(x, k) }}"
    feeds = [{"x": floats(2, 4, 3), "k": np.array(k)} for k in (0, 1, -2, 2**63 - 1, -(2**63))]
    assert older(graph, 13, *feeds)[-1] == "Where"
    older(graph, 9, *feeds)
    mask = f"g (bool[a,b] x) => (bool[a,b] y) {{ y = Trilu<upper={upper}>(x) }}"
    assert older(mask, 13, {"x": np.ones((3, 4), bool)})[-1] == "And"


def test_what_expands_is_repeated() -> None:
    graph = "g (float[a,b] x, int64[1] s) => (float[a,c] y) { y = Expand(x, s) }"
    feeds = [((1, 1), [3]), ((5, 3), [3]), ((5, 3), [1]), ((0, 1), [2]), ((2, 1), [0])]
    assert older(graph, 7, *({"x": floats(*x), "s": np.array(s)} for x, s in feeds))[-1] == "Tile"


def test_repeats_go_axis_by_axis() -> None:
    graph = "g (int32[a,b] x) => (int32[c,d] y) <int64[2] r = {2,3}> { y = Tile(x, r) }"
    feed = {"x": np.arange(6, dtype=np.int32).reshape(2, 3)}
    assert older(graph, 5, feed) == ["Cast", "Tile", "Tile", "Cast"]
    many = "g (float16[1] x) => (float16[b] y) <int64[1] r = {2049}> { y = Tile(x, r) }"
    assert "2049" in refusal(many, 5)


def test_one_of_two_values_is_gathered() -> None:
    graph = "g (int64[a,b] i, float[2] v) => (float[a,4,b] y) <int64 d = {4}> { y = OneHot<axis=1>(i, d, v) }"
    feed = {"i": np.array([[0, -1, 3], [5, -4, -5]]), "v": np.array([-0.0, np.inf], np.float32)}
    assert older(graph, 8, feed)[-1] == "Gather"


@pytest.mark.parametrize(("op_type", "to", "channels"), [("DepthToSpace", 10, 8), ("SpaceToDepth", 27, 3)])
def test_the_other_order_of_channels_is_gathered(op_type: str, to: int, channels: int) -> None:
    graph = 'g (float[n,{0},h,w] x) => (float[n,a,b,c] y) {{ y = {1}<blocksize=2, mode="CRD">(x) }}'
    assert "Gather" in older(graph.format(channels, op_type), to, {"x": floats(2, channels, 4, 2)})
    assert "channels" in refusal(graph.format("c", op_type), to)


def test_a_matrix_of_integers_is_reshaped() -> None:
    graph = "g (int64[n,3,4] x) => (int64[n,12] y) { y = Flatten(x) }"
    assert older(graph, 8, {"x": np.arange(24).reshape(2, 3, 4)}) == ["Reshape"]


def test_an_identity_of_a_sequence_is_what_it_is_of() -> None:
    graph = """g (float[n] x) => (float[n] y) {
        s = SplitToSequence(x)
        t = Identity(s)
        y = ConcatFromSequence<axis=0>(t)
    }"""
    assert older(graph, 13, {"x": floats(3)}) == ["SplitToSequence", "ConcatFromSequence"]


def test_a_function_has_its_constants_in_nodes() -> None:
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["" : 18, "f": 1]>
        g (float[a,b] x) => (float[a,1,b] y) { y = f.h(x) }
        <domain: "f", opset_import: ["": 18]> h (x) => (y) { k = Constant<value_ints=[1]>() y = Unsqueeze(x, k) }""")
    model = ingot.from_onnx(proto)
    convert_versions(model, {"": 8})
    (function,) = model.functions.values()
    assert [node.op_type for node in function.graph] == ["Unsqueeze"]
    assert ingot.Session(ingot.to_onnx(model)).run(None, {"x": X})[0].shape == (3, 1, 4)


def test_element_types_are_taken_from_declarations() -> None:
    node = helper.make_node("CastLike", ["x", "t"], ["y"])
    x, t = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xt")
    graph = helper.make_graph([node], "g", [x, t], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = ingot.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    convert_versions(model, {"": 14})
    assert [node.op_type for node in model.graph] == ["Cast"]
