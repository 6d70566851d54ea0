"""Custom operators: from a Python file; machine code is refused with an example that works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import ingot.compat.onnxruntime as ort
from ingot.compat.onnxruntime.custom_ops import EXAMPLE
from ingot.compat.onnxruntime.errors import Fail, Unsupported

X = np.array([[1, -2], [3, 0.5]], np.float32)


def cubes() -> bytes:
    node = helper.make_node("Cube", ["x"], ["y"], domain="org.example", scale=2.0)
    value = [helper.make_tensor_value_info(name, 1, ["n", 2]) for name in "xy"]
    graph = helper.make_graph([node], "g", value[:1], value[1:])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("org.example", 1)]
    data: bytes = helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    return data


def test_the_example_of_the_message_is_a_file_that_works(tmp_path: Path) -> None:
    (tmp_path / "libcube.so").write_bytes(b"\x7fELF")
    options = ort.SessionOptions()
    with pytest.raises(Unsupported, match="write its operators in a Python file") as refused:
        options.register_custom_ops_library(str(tmp_path / "libcube.so"))
    assert EXAMPLE in str(refused.value)
    assert len(EXAMPLE.splitlines()) == 10
    (tmp_path / "cube.py").write_text(EXAMPLE)
    options.register_custom_ops_library(str(tmp_path / "cube.py"))
    np.testing.assert_array_equal(ort.InferenceSession(cubes(), options).run(None, {"x": X})[0], 2 * X**3)


def test_a_file_that_is_not_there_or_has_no_operator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Fail, match="Failed to load library"):
        ort.SessionOptions().register_custom_ops_library(str(tmp_path / "none.so"))
    (tmp_path / "empty.py").write_text("a = 1\n")
    with pytest.raises(Fail, match="defines no operator"):
        ort.SessionOptions().register_custom_ops_library(tmp_path / "empty.py")
