"""A third provider is a package and a line in a table: nothing of the session or the compiler is touched."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot import InputError, Session
from ingot.providers import PROVIDERS, named
from providers.counting import Counting
from providers.interpreting import Interpreting

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
MIXED = f"""{HEAD} g (float[n, 4] x) => (float[n, 3] y) <float[4, 3] w = {{1,2,3,4,5,6,7,8,9,10,11,12}}> {{
    t = MatMul (x, w)
    s = Softmax (t)
    g = Gemm <transB = 1> (s, s)
    k = Det (g)
    y = Add (s, k)
}}"""


def floats(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.fixture
def third(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROVIDERS, "counting", "providers.counting:Counting")
    monkeypatch.setitem(PROVIDERS, "interpreting", "providers.interpreting:Interpreting")


@pytest.mark.usefixtures("third")
def test_an_evaluator_takes_the_nodes_that_it_does_not_refuse() -> None:
    x = {"x": floats(2, 4)}
    session = Session(ingot.parse_model(MIXED), providers=("counting", "reference"))
    expected = Session(ingot.parse_model(MIXED), providers=("reference",)).run(None, x)
    np.testing.assert_array_equal(session.run(None, x)[0], expected[0])
    counting = named("counting")
    assert isinstance(counting, Counting)
    assert counting.computed == ["y"]
    assert session.providers == ("counting", "reference")


@pytest.mark.usefixtures("third")
@pytest.mark.parametrize("rows", [1, 3])
def test_a_compiler_schedules_compiles_and_runs_kernels(rows: int) -> None:
    x = {"x": floats(rows, 4)}
    session = Session(ingot.parse_model(MIXED), providers=("interpreting", "counting", "reference"), fallback=False)
    expected = Session(ingot.parse_model(MIXED), providers=("reference",)).run(None, x)
    for _ in range(2):  # the second takes the fast path where there is one
        np.testing.assert_allclose(session.run(None, x)[0], expected[0], rtol=1e-6)
    interpreting = named("interpreting")
    assert isinstance(interpreting, Interpreting)
    assert interpreting.ran
    compiled = session.compiled
    assert compiled is not None
    assert [call.node.op_type for call in compiled.program.calls.values()] == ["Det"]


def test_a_provider_may_be_given_as_it_is() -> None:
    counting = Counting()
    session = Session(ingot.parse_model(MIXED), providers=(counting, "reference"))
    session.run(None, {"x": floats(2, 4)})
    assert counting.computed == ["y"]


def test_a_provider_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match="there is no provider 'tpu'") as error:
        Session(ingot.parse_model(MIXED), providers=("tpu",))
    assert "cpu, cuda, reference" in str(error.value)
