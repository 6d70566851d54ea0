"""Attention in one nest is what its operators are one after another, wherever blocks end and whatever is masked."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.loops.ir import Attention, Kernel
from ingot.schedule.attention import BLOCK
from lower.guarded import fenced

PLAIN = """
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  s = MatMul (q, kt)
  p = Softmax (s)
  y = MatMul (p, v)
"""

MASKED = """
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  s = MatMul (q, kt)
  factor = Constant <value_float = 0.3> ()
  scaled = Mul (s, factor)
  masked = Add (scaled, mask)
  p = Softmax (masked)
  y = MatMul (p, v)
"""

WITHOUT_NANS = MASKED.replace("p = Softmax (masked)", "shares = Softmax (masked)") .replace(
    "y = MatMul", "wrong = IsNaN (shares)\n  zero = Constant <value_float = 0.0> ()\n"
    "  p = Where (wrong, zero, shares)\n  y = MatMul"
)  # fmt: skip

BESIDE = PLAIN.replace(
    "y = MatMul (p, v)", "r = MatMul (p, v)\n  b = Sigmoid (r)\n  y = Transpose <perm = [0, 2, 1, 3]> (b)"
)


def session(body: str, threads: int = 1, kind: str = "float", inputs: str = "") -> ingot.Session:
    sides = f"{kind}[b, h, m, d] q, {kind}[b, h, t, d] k, {kind}[b, h, t, w] v"
    mask = f", {kind}[b, 1, m, t] mask" if "mask)" in body else ""
    head = f'<ir_version: 13, opset_import: ["" : 25]> g ({inputs or sides + mask}) => ({kind}[b, h, m, w] y)'
    model = ingot.parse_model(f"{head} {{{body}}}")
    return ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)


def nests(made: ingot.Session) -> int:
    """How many nests of attention there are."""
    assert made.compiled is not None
    kernels = [step for step in made.compiled.scheduled.steps if isinstance(step, Kernel)]
    return sum(isinstance(nest, Attention) for kernel in kernels for nest in kernel.nests)


def feeds(
    b: int, h: int, m: int, t: int, d: int, w: int, dtype: str = "float32", masked: bool = False
) -> dict[str, Array]:
    random = np.random.default_rng(m * 1000 + t)
    shapes = {"q": (b, h, m, d), "k": (b, h, t, d), "v": (b, h, t, w)} | ({"mask": (b, 1, m, t)} if masked else {})
    return {name: random.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def check(made: ingot.Session, given: dict[str, Array], close: float = 2e-6) -> Array:
    """What a session gives; AssertionError unless it is one nest, and gives what the reference does."""
    assert nests(made) == 1
    result = np.asarray(made.run(["y"], given)[0])
    (expected,) = ingot.Session(made.model, providers=("reference",)).run(["y"], given)
    np.testing.assert_allclose(result, expected, rtol=50 * close, atol=close)
    return result


@pytest.mark.parametrize("rows", [1, 5, 12, 13, 17, 40])
@pytest.mark.parametrize("keys", [1, 15, 32, 49, BLOCK, BLOCK + 1, 2 * BLOCK + 33])
def test_any_number_of_queries_and_keys(rows: int, keys: int) -> None:
    check(session(PLAIN), feeds(2, 2, rows, keys, 20, 33))


@pytest.mark.parametrize("depth", [1, 15, 16, 64, 70])
@pytest.mark.parametrize("columns", [1, 16, 17, 40, 64, 128])
def test_any_size_of_heads(depth: int, columns: int) -> None:
    check(session(PLAIN), feeds(1, 3, 14, 50, depth, columns), 5e-6)


@pytest.mark.parametrize("sizes", [(1, 3, 40, 50), (3, 1, 40, 50), (1, 1, 40, 50)])
@pytest.mark.parametrize("body", [PLAIN, MASKED])
def test_axes_of_size_one_that_the_model_states(sizes: tuple[int, int, int, int], body: str) -> None:
    b, h, m, t = sizes
    mask = f", float[{b}, 1, {m}, {t}] mask" if body is MASKED else ""
    sides = f"float[{b}, {h}, {m}, 16] q, float[{b}, {h}, {t}, 16] k, float[{b}, {h}, {t}, 24] v{mask}"
    check(session(body, inputs=sides), feeds(b, h, m, t, 16, 24, masked=body is MASKED))


@pytest.mark.parametrize("sizes", [(0, 2, 3, 4, 5, 6), (1, 2, 0, 4, 5, 6), (1, 2, 3, 4, 0, 6), (1, 2, 3, 4, 5, 0)])
def test_empty_sizes(sizes: tuple[int, int, int, int, int, int]) -> None:
    check(session(PLAIN), feeds(*sizes))


def test_no_keys_read_zeros() -> None:
    result = check(session(PLAIN), feeds(1, 2, 7, 0, 5, 6))
    assert not result.any()


def test_float64() -> None:
    check(session(PLAIN, kind="double"), feeds(2, 2, 21, 500, 24, 40, "float64"), 1e-14)


def test_what_is_made_of_scores_and_of_the_result_is_in_the_nest() -> None:
    made = session(MASKED)
    assert made.compiled is not None
    assert len([step for step in made.compiled.scheduled.steps if isinstance(step, Kernel)]) == 1
    check(made, feeds(2, 3, 19, 450, 16, 24, masked=True))
    check(session(BESIDE), feeds(2, 3, 19, 45, 16, 24))


def odd_masks(given: dict[str, Array]) -> dict[str, Array]:
    """Rows that see nothing, only what is past the first block, nothing there, an infinity, and a NaN."""
    mask = given["mask"]
    mask[0, 0, 0] = -np.inf
    mask[0, 0, 1, :BLOCK] = -np.inf
    mask[0, 0, 2, BLOCK:] = -np.inf
    mask[0, 0, 3, 7] = np.inf
    mask[0, 0, 4, BLOCK + 3] = np.inf
    mask[0, 0, 5, BLOCK - 1] = np.nan
    mask[0, 0, 6, :BLOCK] = np.finfo(np.float32).min
    return given


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_row_without_a_key_is_nan_as_a_softmax_of_minus_infinities_is() -> None:
    result = check(session(MASKED), odd_masks(feeds(1, 2, 14, BLOCK + 30, 16, 24, masked=True)))
    assert np.isnan(result[0, :, [0, 3, 4, 5]]).all()
    assert np.isfinite(result[0, :, [1, 2, 6, 7]]).all()


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_row_without_a_key_reads_zeros_where_nans_are_replaced() -> None:
    result = check(session(WITHOUT_NANS), odd_masks(feeds(1, 2, 14, BLOCK + 30, 16, 24, masked=True)))
    assert not result[0, :, [0, 3, 4, 5]].any()


GROUPED = "float[b, 4, m, 16] q, float[b, 2, t, 16] k, float[b, 2, t, 24] v, bool[m, t] mask"


@pytest.mark.parametrize(
    "how", ["", "is_causal = 1", "softcap = 3.0, scale = 0.7", "is_causal = 1, left_window_size = 9"]
)
def test_the_operator_attention_with_heads_that_share_keys(how: str) -> None:
    made = session(f"y = Attention <{how}> (q, k, v, mask)" if how else "y = Attention (q, k, v, mask)", inputs=GROUPED)
    random = np.random.default_rng(0)
    given = feeds(2, 2, 30, 410, 16, 24) | {"q": random.standard_normal((2, 4, 30, 16)).astype(np.float32)}
    mask = random.random((30, 410)) < 0.7
    mask[3] = False
    check(made, given | {"mask": mask})


def test_scores_that_something_else_reads_are_stored() -> None:
    text = PLAIN + "  other = ReduceMax (s)\n  y2 = Add (y, other)"
    assert nests(session(text.replace("y = MatMul", "y1 = MatMul").replace("(y,", "(y1,").replace("y2 =", "y ="))) == 0


def test_scores_summed_in_another_type_are_stored() -> None:
    sides = "double[b, h, m, d] q, double[b, h, t, d] k, float[b, h, t, w] v"
    made = session(PLAIN.replace("p = Softmax (s)", "c = Cast <to = 1> (s)\n  p = Softmax (c)"), inputs=sides)
    assert nests(made) == 0
    given = feeds(1, 2, 7, 9, 5, 6)
    given |= {name: given[name].astype(np.float64) for name in "qk"}
    (expected,) = ingot.Session(made.model, providers=("reference",)).run(None, given)
    np.testing.assert_allclose(made.run(None, given)[0], expected, rtol=1e-5, atol=1e-6)


def test_few_queries_are_not_worth_packing_keys() -> None:
    few = "float[b, h, 2, d] q, float[b, h, t, d] k, float[b, h, t, w] v"
    assert nests(session(PLAIN, inputs=few)) == 0


def test_more_threads_give_the_bits_of_one() -> None:
    given = feeds(2, 3, 100, 500, 32, 48, masked=True)
    one, two, three = (session(MASKED, threads).run(None, given)[0] for threads in (1, 2, 3))
    assert one.tobytes() == two.tobytes() == three.tobytes()


@pytest.mark.parametrize("front", [False, True])
def test_nothing_outside_of_buffers_is_touched(front: bool) -> None:
    for sizes in ((2, 2, 17, 50, 20, 33), (1, 3, 5, BLOCK + 7, 16, 16), (1, 1, 40, 17, 1, 1)):
        with fenced(front) as fences:
            made = session(MASKED, threads=2)
            given = feeds(*sizes, masked=True)
            made.run(None, {name: fences.holding(array) for name, array in given.items()})
