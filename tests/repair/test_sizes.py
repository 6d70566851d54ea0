"""Sizes that a model declares and that a run does not have: a run compiles again, and the reference is never asked.

Warnings are errors here, and a run that the reference takes over warns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto

import ingot
from ingot.errors import InputError
from repair.untidy import BOOL, INT64, floats, graph, info, ints, model, node, truths

onnxruntime.set_default_logger_severity(4)


def rows(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _sum(a: Any, b: Any, op: str = "Add", **attributes: Any) -> ModelProto:
    return model(
        [node(op, "a b", "s", **attributes), node("Exp", "s", "y")],
        [info("a", (a, 4)), info("b", (b, 4))],
        [info("y", ("n", 4))],
    )


def _exponentials(declared: Any, inside: Any = None) -> ModelProto:
    return model(
        [node("Exp", "a", "e"), node("MatMul", "e w", "y")],
        [info("a", ("n", 4))],
        [info("y", declared)],
        constants=[floats("w", np.eye(4))],
        infos=[] if inside is None else [info("e", inside)],
    )


def _reshaped(declared: Any, inside: Any = None) -> ModelProto:
    return model(
        [node("Exp", "a", "e"), node("Reshape", "e s", "r"), node("Neg", "r", "y")],
        [info("a", ("n", 4)), info("s", ("k",), INT64)],
        [info("y", declared)],
        infos=[] if inside is None else [info("r", inside)],
    )


def _positive(declared: Any) -> ModelProto:
    return model(
        [node("Greater", "a zero", "g"), node("NonZero", "g", "p"), node("Cast", "p", "y", to=1)],
        [info("a", ("n", 4))],
        [info("y", declared)],
        constants=[floats("zero", 0)],
    )


def _loop(op: str, inputs: str = "s a", state: Any = (1, 4), **attributes: Any) -> ModelProto:
    """A body that declares its state to be one row, or something else, whatever it is."""
    body = graph(
        [node("Identity", "c", "co"), node(op, inputs, "so", **attributes)],
        [info("i", (), INT64), info("c", (), BOOL), info("s", state)],
        [info("co", (), BOOL), info("so", state)],
    )
    return model(
        [node("Loop", "count going a", "y", body=body)],
        [info("a", ("n", 4)), info("count", (), INT64)],
        [info("y", (1, 4))],
        constants=[truths("going", True)],
    )


def _spectra() -> ModelProto:
    return model(
        [node("Reshape", "a s", "signal"), node("STFT", "signal step window", "y")],
        [info("a", ("n", 16)), info("s", ("k",), INT64)],
        [info("y", ("b", "frames", 5, 2))],
        constants=[ints("step", 4), floats("window", np.hanning(8))],
    )


def _scattered() -> ModelProto:
    return model(
        [node("ScatterND", "a at put", "s"), node("Exp", "s", "y")],
        [info("a", ("n", 4)), info("at", ("n", 2, 2), INT64), info("put", ("n", 2))],
        [info("y", ("n", 4))],
    )


def _at(count: int) -> dict[str, Any]:
    return {"a": rows(count, 4), "at": np.zeros((count, 2, 2), np.int64), "put": np.ones((count, 2), np.float32)}


CASES: dict[str, tuple[ModelProto, list[dict[str, Any]]]] = {
    "one name for two sizes of inputs": (
        _sum("n", "n", "Concat", axis=0),
        [{"a": rows(3, 4), "b": rows(3, 4)}, {"a": rows(3, 4), "b": rows(2, 4)}],
    ),
    "one name for two sizes of inputs that broadcast": (
        _sum("n", "n"),
        [{"a": rows(3, 4), "b": rows(1, 4)}, {"a": rows(1, 4), "b": rows(5, 4)}],
    ),
    "a formula of inputs that does not hold": (
        _sum("2*n", "n", "Concat", axis=0),
        [{"a": rows(6, 4), "b": rows(3, 4)}, {"a": rows(5, 4), "b": rows(4, 4)}],
    ),
    "names that are no formulas": (
        _sum("batch size (", "1/0", "Concat", axis=0),
        [{"a": rows(6, 4), "b": rows(3, 4)}],
    ),
    "an output declared as a number": (_exponentials((1, 4)), [{"a": rows(n, 4)} for n in (1, 5, 2)]),
    "a value declared as a number": (_exponentials(("n", 4), (8, 4)), [{"a": rows(n, 4)} for n in (8, 5, 2)]),
    "a rank that only a run tells": (
        _reshaped(("p", "q")),
        [{"a": rows(6, 4), "s": np.array(shape)} for shape in ((3, 8), (3, 4, 2), (24,))],
    ),
    "a rank inside that only a run tells": (
        _reshaped(("p",), ("p", 8)),
        [{"a": rows(6, 4), "s": np.array(shape)} for shape in ((3, 8), (4, 6), (3, 4, 2))],
    ),
    "a size that depends on what elements are, as a number": (_positive((2, 5)), [{"a": rows(n, 4)} for n in (6, 9)]),
    "a size that depends on what elements are, as a formula": (_positive((2, "n*n")), [{"a": rows(6, 4)}]),
    "the sizes of a body": (_loop("Add"), [{"a": rows(n, 4), "count": np.array(3)} for n in (1, 4, 6)]),
    "the rank of a body": (
        _loop("Relu", "s", (4,)),
        [{"a": rows(n, 4), "count": np.array(3)} for n in (1, 4, 6)],
    ),
    "a state that grows": (_loop("Concat", axis=0), [{"a": rows(1, 4), "count": np.array(n)} for n in (3, 5)]),
    "a signal whose rank only a run tells": (
        _spectra(),
        [{"a": rows(2, 16), "s": np.array(shape)} for shape in ((2, 16, 1), (2, 16))],
    ),
    "nothing to scatter": (_scattered(), [_at(n) for n in (3, 0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_declared_sizes_that_do_not_hold_cost_a_compilation_and_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    untidy, runs = CASES[name]
    data = untidy.SerializeToString()
    peer = onnxruntime.InferenceSession(data)
    session = ingot.Session(ingot.decode(data), providers=("cpu", "reference"), fallback=False)
    builds = []
    rebuild = session._plans._recompiled

    def counting(*arguments: Any, **named: Any) -> Any:
        builds.append(arguments)
        return rebuild(*arguments, **named)

    monkeypatch.setattr(session._plans, "_recompiled", counting)
    for feeds in runs * 2:
        before = len(builds)
        for _ in range(2):
            got, wanted = session.run(None, feeds)[0], peer.run(None, feeds)[0]
            assert got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
            assert len(builds) <= before + 2
            before = len(builds)
    assert len(builds) <= 2 * len(runs)


def test_a_number_that_is_declared_for_an_open_size_is_not_compiled_for() -> None:
    session = ingot.Session(ingot.from_onnx(_exponentials((1, 4))), providers=("cpu", "reference"), fallback=False)
    for n in (1, 5, 2):
        assert session.run(None, {"a": rows(n, 4)})[0].shape == (n, 4)
    assert not session._plans.variants.has_compiled


def test_scattering_into_nothing_is_still_an_error() -> None:
    session = ingot.Session(
        ingot.from_onnx(
            model(
                [node("ScatterND", "a at put", "y")],
                [info("a", ("n", 4)), info("at", ("k", 2), INT64), info("put", ("k",))],
                [info("y", ("n", 4))],
            )
        )
    )
    feeds = {"a": rows(0, 4), "at": np.zeros((2, 2), np.int64), "put": np.ones(2, np.float32)}
    with pytest.raises(InputError, match="index"):
        session.run(None, feeds)
    assert session.run(None, feeds | {"at": feeds["at"][:0], "put": feeds["put"][:0]})[0].shape == (0, 4)


def test_a_strict_session_holds_inputs_to_their_names() -> None:
    session = ingot.Session(ingot.from_onnx(_sum("n", "n", "Concat", axis=0)), strict=True)
    with pytest.raises(InputError, match="size 'n' is 3 in input 'a' and 2 in input 'b'"):
        session.run(None, {"a": rows(3, 4), "b": rows(2, 4)})


def test_a_size_of_an_input_that_is_a_number_holds() -> None:
    session = ingot.Session(ingot.from_onnx(_exponentials(("n", 4))))
    with pytest.raises(InputError, match=r"'a' is float32\[n, 4\], got float32\[2, 5\]"):
        session.run(None, {"a": rows(2, 5)})
