"""Options that a model brings along, where the environment asks for them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import onnx
import pytest

import ingot.compat.onnxruntime as ort
from compat.samples import add_relu


def configured(text: str) -> bytes:
    proto = onnx.load_from_string(add_relu())
    entry = proto.metadata_props.add()
    entry.key, entry.value = "ort_config", text
    data: bytes = proto.SerializeToString()
    return data


def options(**chosen: Any) -> str:
    return json.dumps({"session_options": chosen})


def test_the_options_of_a_model_take_the_place_of_the_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    data = configured(
        options(intra_op_num_threads=2, execution_mode=1, graph_optimization_level=2, enable_profiling=1, unknown=7)
    )
    own = ort.SessionOptions()
    own.logid = "mine"
    assert ort.InferenceSession(data, own).get_session_options() is own
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    session = ort.InferenceSession(data, own)
    found = session.get_session_options()
    assert (found.intra_op_num_threads, found.inter_op_num_threads, found.logid) == (2, 0, "")
    assert found.execution_mode == ort.ExecutionMode.ORT_PARALLEL
    assert found.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    assert os.path.exists(session.end_profiling())


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"session_options": 3}', options(), options(unknown=1)])
def test_a_model_that_says_nothing_gets_defaults(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    assert ort.InferenceSession(configured(text)).get_session_options().intra_op_num_threads == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no json", "cannot be parsed"),
        (options(intra_op_num_threads="a"), "intra_op_num_threads option in the model file must be an integer"),
        (options(enable_profiling=True), "must be an integer"),
        (options(enable_profiling=7), "Unsupported value for enable_profiling option: 7"),
        (options(execution_mode=7), "Unsupported execution_mode value in ORT config: 7"),
        (options(graph_optimization_level=7), "Unsupported graph_optimization_level value in ORT config: 7"),
    ],
)
def test_options_that_there_are_not_are_runtime_errors(monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    with pytest.raises(RuntimeError, match=reason):
        ort.InferenceSession(configured(text))
