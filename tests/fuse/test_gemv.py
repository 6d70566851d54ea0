"""Products of one row or one column are sums over what they read, where it is, and what the reference gives."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.loops.ir import Contraction, Kernel
from lower.guarded import fenced

BY_KEYS = (
    "float[b, 1, d] q, float[b, n, d] k, float[b, 1, n] r",
    "kt = Transpose <perm = [0, 2, 1]> (k) s = MatMul (q, kt)",
)
BY_VALUES = "float[b, 1, d] q, float[b, d, n] k, float[b, 1, n] r", "s = MatMul (q, k)"
BY_A_COLUMN = "float[b, n, d] k, float[b, d, 1] q, float[b, n, 1] r", "s = MatMul (k, q)"


def session(inputs: str, body: str, threads: int = 1, kind: str = "float") -> ingot.Session:
    head = '<ir_version: 13, opset_import: ["" : 25]> g'
    text = f"{head} ({inputs}) => (float[b, i, j] y) {{ {body} a = Add (s, r) y = Tanh (a) }}"
    model = ingot.parse_model(text.replace("float[", f"{kind}["))
    return ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)


def feeds(case: tuple[str, str], b: int, n: int, d: int, dtype: str = "float32") -> dict[str, Array]:
    """What a case takes: the sizes are those its text names."""
    random, sizes = np.random.default_rng(0), {"b": b, "n": n, "d": d, "1": 1}
    named = re.findall(r"\[(\w), (\w), (\w)\] (\w)", case[0])
    return {name: random.standard_normal([sizes[each] for each in shape]).astype(dtype) for *shape, name in named}


def products(made: ingot.Session) -> int:
    assert made.compiled is not None
    kernels = [step for step in made.compiled.scheduled.steps if isinstance(step, Kernel)]
    assert len(kernels) == 1
    return sum(isinstance(nest, Contraction) for kernel in kernels for nest in kernel.nests)


@pytest.mark.parametrize("case", [BY_KEYS, BY_VALUES, BY_A_COLUMN], ids=["keys", "values", "a column"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 33, 64), (3, 16, 5), (1, 200, 130), (0, 4, 4), (2, 0, 4), (2, 4, 0)])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_thin_product_is_a_sum_with_what_follows_in_it(
    case: tuple[str, str], sizes: tuple[int, int, int], kind: str
) -> None:
    made = session(*case, kind=kind)
    assert products(made) == 0
    given = feeds(case, *sizes, dtype="float32" if kind == "float" else "float64")
    (expected,) = ingot.Session(made.model, providers=("reference",)).run(None, given)
    np.testing.assert_allclose(made.run(None, given)[0], expected, rtol=1e-5, atol=1e-5)


def test_a_product_with_weights_is_packed() -> None:
    inputs = "float[b, 1, 3] q, float[b, 1, 2] r"
    weights = "k = Constant <value = float[3, 2] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> () s = MatMul (q, k)"
    assert products(session(inputs, weights)) == 1


def test_a_product_of_many_rows_is_packed() -> None:
    assert products(session("float[b, m, d] q, float[b, d, n] k, float[b, m, n] r", "s = MatMul (q, k)")) == 1


@pytest.mark.parametrize("case", [BY_KEYS, BY_VALUES], ids=["keys", "values"])
def test_more_threads_give_the_bits_of_one(case: tuple[str, str]) -> None:
    given = feeds(case, b=6, n=300, d=200)
    one, two, three = (session(*case, threads).run(None, given)[0] for threads in (1, 2, 3))
    assert one.tobytes() == two.tobytes() == three.tobytes()


@pytest.mark.parametrize("front", [False, True])
@pytest.mark.parametrize("case", [BY_KEYS, BY_VALUES, BY_A_COLUMN], ids=["keys", "values", "a column"])
def test_nothing_outside_of_buffers_is_touched(case: tuple[str, str], front: bool) -> None:
    with fenced(front) as fences:
        made = session(*case, threads=2)
        given = feeds(case, b=2, n=37, d=21)
        made.run(None, {name: fences.holding(array) for name, array in given.items()})
