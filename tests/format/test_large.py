"""Files past protobuf's 2 GiB: read whole, and left to external data when written."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot import DType, Graph, Model, Node, Tensor, TensorType, UnsupportedError, Value
from ingot.format.encode import encode_parts

HUGE = 600_000_000  # elements: 2.4 GB of float32, which nobody touches


def huge_model() -> Model:
    x = Value("x", TensorType(DType.FLOAT32, (1,)))
    graph = Graph([x], name="huge")
    before = graph.add_initializer("before", np.arange(5, dtype=np.float32))
    huge = graph.add_initializer("huge", np.zeros(HUGE, np.float32))
    after = graph.add_initializer("after", np.arange(7, dtype=np.float32))
    graph.outputs.append(graph.append(Node("Sum", [x, before, huge, after], ["y"])).output)
    return Model(graph, 20)


def write_with_holes(path: Path) -> None:
    """The file as it would be, zeros left as holes that take no disk."""
    with open(path, "wb") as file:
        for part in encode_parts(huge_model()).parts:
            if len(part) > 1 << 30:
                file.seek(len(part), 1)
            else:
                file.write(part)


@pytest.mark.skipif(sys.maxsize < 1 << 32, reason="a 32-bit process cannot map the file")
@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system with sparse files")
def test_a_file_of_more_than_two_gigabytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.onnx"
    write_with_holes(path)
    assert path.stat().st_size > 1 << 31
    model = ingot.load(path)
    constants = {name: value.constant for name, value in model.graph.initializers.items()}
    assert all(isinstance(constant, Tensor) for constant in constants.values())
    before, huge, after = constants.values()
    assert isinstance(before, Tensor)
    assert isinstance(huge, Tensor)
    assert isinstance(after, Tensor)
    assert before.tolist() == [0, 1, 2, 3, 4]
    assert after.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert huge.shape == (HUGE,)
    assert huge.numpy()[-1] == 0
    assert [node.op_type for node in model.graph] == ["Sum"]


def test_bytes_of_more_than_two_gigabytes_are_refused_with_the_way_out() -> None:
    with pytest.raises(UnsupportedError, match=r"2,400,\d+,\d+ bytes.*\n  hint: save it to a file"):
        ingot.encode(huge_model())
