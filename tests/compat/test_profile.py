"""Profiles: a Chrome trace of the nodes a session ran."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu, model, tensor


def profiled(data: bytes, folder: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "p")
    return ort.InferenceSession(data, options)


def test_the_profile_has_an_event_for_every_node_of_every_run(tmp_path: Path) -> None:
    before = time.time_ns()
    session = profiled(add_relu(), tmp_path)
    assert before <= session.get_profiling_start_time_ns() <= time.time_ns()
    for _ in range(2):
        session.run(None, {"x": X})
    path = session.end_profiling()
    assert Path(path).parent == tmp_path
    assert Path(path).name.startswith("p_")
    events = json.loads(Path(path).read_text())
    nodes = [event for event in events if event["cat"] == "Node"]
    assert [event["name"] for event in nodes] == ["add_kernel_time", "relu_kernel_time"] * 2
    first = nodes[0]
    assert first["args"] == {
        "op_name": "Add",
        "provider": "CPUExecutionProvider",
        "input_type_shape": [{"float": [2, 3]}, {"float": [3]}],
        "output_type_shape": [{"float": [2, 3]}],
    }
    assert first["ph"] == "X"
    assert first["dur"] >= 0
    assert {"model_loading_array", "session_initialization", "model_run"} <= {event["name"] for event in events}
    assert session.end_profiling() == ""
    session.run(None, {"x": X})


def test_nodes_of_subgraphs_are_in_it(tmp_path: Path) -> None:
    def branch(op_type: str) -> object:
        return helper.make_graph([helper.make_node(op_type, ["x"], ["b"], op_type)], "b", [], [tensor("b", None)])

    node = helper.make_node("If", ["c"], ["y"], "if", then_branch=branch("Relu"), else_branch=branch("Abs"))
    session = profiled(
        model([node], [tensor("c", [], TensorProto.BOOL), tensor("x", [2])], [tensor("y", None)]), tmp_path
    )
    session.run(None, {"c": np.array(True), "x": np.zeros(2, np.float32)})
    events = json.loads(Path(session.end_profiling()).read_text())
    assert [event["args"]["op_name"] for event in events if event["cat"] == "Node"] == ["Relu", "If"]


def test_a_session_that_goes_writes_its_profile(tmp_path: Path) -> None:
    session = profiled(add_relu(), tmp_path)
    del session
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 1


def test_without_profiling_there_is_none() -> None:
    session = ort.InferenceSession(add_relu())
    assert session.end_profiling() == ""
    assert session.get_profiling_start_time_ns() == 0
