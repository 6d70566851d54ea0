"""Which exception of onnxruntime each failure becomes, and what it says."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

import ingot.compat.onnxruntime as ort
from compat.samples import X, one_node, tensor
from ingot.compat.onnxruntime.capi import onnxruntime_pybind11_state as state

NUMBERS = {
    "Fail": 1,
    "InvalidArgument": 2,
    "NoSuchFile": 3,
    "NoModel": 4,
    "EngineError": 5,
    "RuntimeException": 6,
    "InvalidProtobuf": 7,
    "ModelLoaded": 8,
    "NotImplemented": 9,
    "InvalidGraph": 10,
    "EPFail": 11,
    "ModelLoadCanceled": 12,
    "ModelRequiresCompilation": 13,
    "NotFound": 14,
    "DeviceReset": 15,
}


@pytest.mark.parametrize(("name", "number"), NUMBERS.items())
def test_exceptions_have_the_names_and_numbers_of_onnxruntime(name: str, number: int) -> None:
    kind = getattr(state, name)
    error = kind("what is wrong")
    assert kind.__name__ == name
    assert not isinstance(error, RuntimeError | ValueError)
    assert str(error).startswith(f"[ONNXRuntimeError] : {number} : ")
    assert str(error).endswith(" : what is wrong")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_file_that_is_not_there_is_no_such_file() -> None:
    with pytest.raises(state.NoSuchFile, match=r"Load model from nowhere\.onnx failed:File doesn't exist"):
        ort.InferenceSession("nowhere.onnx")


def test_what_is_no_model_is_an_invalid_protobuf(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"garbage")
    for source in (b"garbage", tmp_path / "m.onnx", tmp_path):
        with pytest.raises(state.InvalidProtobuf):
            ort.InferenceSession(source)
    with pytest.raises(state.InvalidArgument, match="No graph was found"):
        ort.InferenceSession(b"")


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({"x": np.zeros((3, 3), np.float32)}, "Got invalid dimensions for input: x .*\n index: 1 Got: 3 Expected: 2"),
        ({"x": np.zeros(3, np.float32)}, "Invalid rank for input: x Got: 1 Expected: 2"),
        ({"x": np.zeros((3, 2))}, r"Unexpected input data type. Actual: \(tensor\(double\)\) , expected: \(tensor\(fl"),
        ({"x": np.zeros((3, 2), np.float32), "q": X}, "Invalid input name: q"),
    ],
)
def test_what_does_not_fit_is_said_in_the_words_of_onnxruntime_and_in_ours(
    feeds: dict[str, np.ndarray[Any, Any]], words: str
) -> None:
    session = ort.InferenceSession(one_node("Relu", [tensor("x", ["n", 2])], tensor("y", ["n", 2])))
    with pytest.raises(state.InvalidArgument, match=f"(?s){words}.*(input 'x' is float32|no input 'q')"):
        session.run(None, feeds)


def test_what_makes_no_array_is_a_runtime_error() -> None:
    session = ort.InferenceSession(one_node("Relu", [tensor("x", ["n", 2])], tensor("y", ["n", 2])))
    with pytest.raises(RuntimeError, match="Unable to handle object of type <class 'object'>"):
        session.run(None, {"x": object()})


def test_a_level_of_logging_that_there_is_not_is_a_runtime_error() -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 9
    with pytest.raises(RuntimeError, match="Invalid session log severity level: 9"):
        ort.InferenceSession(one_node("Relu", [tensor("x", [2])], tensor("y", [2])), options)


@pytest.mark.parametrize(("op_type", "domain"), [("Nope", ""), ("Nope", "my")])
def test_an_unknown_operator_is_an_invalid_graph(op_type: str, domain: str) -> None:
    with pytest.raises(state.InvalidGraph):
        ort.InferenceSession(one_node(op_type, [tensor("x", [1])], tensor("y", [1]), domain))


def test_shapes_that_cannot_be_multiplied_fail_when_the_session_is_made_or_run() -> None:
    def squared(shape: list[int | str | None]) -> bytes:
        return one_node("Mul", [tensor("x", shape)], tensor("y", None)).replace(b"Mul", b"Det")

    with pytest.raises(state.Fail):
        ort.InferenceSession(squared([2, 3]))
    session = ort.InferenceSession(squared(["a", "b"]))
    with pytest.raises(state.Fail, match=r"Det(.|\n)*float32\[2, 3\]"):
        session.run(None, {"x": X})


def test_the_message_of_ingot_is_kept_in_full() -> None:
    session = ort.InferenceSession(one_node("Relu", [tensor("x", [2])], tensor("y", [2])))
    with pytest.raises(state.InvalidArgument, match=r"convert it: x\.astype\('float32'\)") as caught:
        session.run(None, {"x": np.zeros(2)})
    assert caught.value.__cause__ is not None


def test_an_unexpected_failure_in_a_run_is_a_runtime_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    session = ort.InferenceSession(one_node("Relu", [tensor("x", [2])], tensor("y", [2], TensorProto.FLOAT)))
    monkeypatch.setattr(session._engine, "run", lambda *_, **__: 1 // 0)
    with pytest.raises(state.RuntimeException, match="ZeroDivisionError"):
        session.run(None, {"x": np.zeros(2, np.float32)})


def test_a_run_that_takes_too_much_memory_is_a_runtime_exception() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("ingot.memory_limit", str(X.nbytes - 1))
    session = ort.InferenceSession(one_node("Relu", [tensor("x", [2, 3])], tensor("y", [2, 3])), options)
    with pytest.raises(state.RuntimeException, match=f"RUNTIME_EXCEPTION : the .* the limit is {X.nbytes - 1}"):
        session.run(None, {"x": X})
    options.add_session_config_entry("ingot.memory_limit", "much")
    with pytest.raises(state.InvalidArgument, match="is a number of bytes, not 'much'"):
        ort.InferenceSession(one_node("Relu", [tensor("x", [2, 3])], tensor("y", [2, 3])), options)


@pytest.mark.parametrize(
    ("operator", "domain", "dtype"),
    [
        ("QLinearMatMul", "com.microsoft", TensorProto.FLOAT),
        ("Add", "", TensorProto.BOOL),
        ("Sine", "", TensorProto.FLOAT),
    ],
)
def test_a_model_is_refused_in_the_words_of_onnxruntime(operator: str, domain: str, dtype: int) -> None:
    inputs = [tensor("a", [2], dtype), tensor("b", [2], dtype)]
    data = one_node(operator, inputs, tensor("y", [2], dtype), domain)
    with pytest.raises(Exception, match="ONNXRuntimeError") as theirs:
        onnxruntime.InferenceSession(data)
    with pytest.raises(state.InvalidGraph) as ours:
        ort.InferenceSession(data)
    words = re.search(r"Type '.*operator \(\w+\)|\S+ is not a registered.*|No Op registered for \w+", str(theirs.value))
    assert words is not None
    assert words[0] in str(ours.value)
