"""LoRA adapters: their files, and runs that take their weights."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu
from ingot.compat.onnxruntime.adapter_file import Adapter, decode, encode
from ingot.compat.onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from ingot.dtypes import Array

PARAMETERS: dict[str, Array] = {
    "w": np.array([10, 20, 30], np.float32),
    "longer name": np.arange(4, dtype=np.float16).reshape(2, 2, 1),
    "empty": np.zeros((0, 2), np.int64),
    "b": np.array([1.5], ml_dtypes.bfloat16),
}


def written(path: Path) -> Path:
    adapter = ort.AdapterFormat()
    adapter.set_adapter_version(3)
    adapter.set_model_version(-1)
    adapter.set_parameters({name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in PARAMETERS.items()})
    adapter.export_adapter(path)
    return path


def test_an_adapter_is_read_as_it_was_written(tmp_path: Path) -> None:
    adapter = ort.AdapterFormat.read_adapter(written(tmp_path / "a.onnx_adapter"))
    versions = (adapter.get_format_version(), adapter.get_adapter_version(), adapter.get_model_version())
    assert versions == (1, 3, -1)
    parameters = adapter.get_parameters()
    assert list(parameters) == list(PARAMETERS)
    for name, array in PARAMETERS.items():
        np.testing.assert_array_equal(parameters[name].numpy(), array)
        assert parameters[name].numpy().dtype == array.dtype


def test_an_adapter_that_was_read_is_changed_and_written_again(tmp_path: Path) -> None:
    adapter = ort.AdapterFormat.read_adapter(written(tmp_path / "a"))
    adapter.set_parameters({"v": ort.OrtValue.ortvalue_from_numpy(np.ones(1, np.float32))})
    adapter.export_adapter(tmp_path / "b")
    again = ort.AdapterFormat(ort.AdapterFormat.read_adapter(tmp_path / "b"))
    assert list(again.get_parameters()) == ["v"]
    assert again.get_adapter_version() == 3


def test_onnxruntime_reads_and_writes_the_same_files(tmp_path: Path) -> None:
    real = pytest.importorskip("onnxruntime")
    adapter = real.AdapterFormat.read_adapter(str(written(tmp_path / "a")))
    assert (adapter.get_adapter_version(), adapter.get_model_version()) == (3, -1)
    found = adapter.get_parameters()
    assert {name: value.shape() for name, value in found.items()} == {n: list(a.shape) for n, a in PARAMETERS.items()}
    np.testing.assert_array_equal(found["w"].numpy(), PARAMETERS["w"])
    adapter.export_adapter(str(tmp_path / "b"))
    ours = ort.AdapterFormat.read_adapter(tmp_path / "b").get_parameters()
    assert set(ours) == set(PARAMETERS)
    np.testing.assert_array_equal(ours["longer name"].numpy(), PARAMETERS["longer name"])


def test_strings_are_refused_and_leave_no_file(tmp_path: Path) -> None:
    adapter = ort.AdapterFormat()
    adapter.set_parameters({"s": ort.OrtValue(np.array(["a"], object))})
    with pytest.raises(RuntimeError, match="'s' is of type STRING"):
        adapter.export_adapter(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_what_is_no_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot be read"):
        ort.AdapterFormat.read_adapter(tmp_path / "none")
    with pytest.raises(RuntimeError, match="does not appear to be a valid lora parameter format"):
        decode(b"something else entirely")
    whole = encode(Adapter(PARAMETERS))
    rng = np.random.default_rng(0)
    for _ in range(500):
        damaged = bytearray(whole[: rng.integers(8, len(whole))])
        damaged[rng.integers(0, len(damaged))] = rng.integers(0, 256)
        try:
            decode(bytes(damaged))
        except RuntimeError:
            continue


def test_a_run_takes_the_weights_of_its_adapters(tmp_path: Path) -> None:
    adapter = ort.AdapterFormat()
    adapter.set_parameters({"w": ort.OrtValue.ortvalue_from_numpy(PARAMETERS["w"])})
    adapter.export_adapter(tmp_path / "a")
    lora = ort.LoraAdapter()
    lora.Load(tmp_path / "a")
    options = ort.RunOptions()
    options.add_active_adapter(lora)
    session = ort.InferenceSession(add_relu())
    expected = np.maximum(X + PARAMETERS["w"], 0)
    np.testing.assert_array_equal(session.run(None, {"x": X}, options)[0], expected)
    np.testing.assert_array_equal(session.run(["z"], {"x": X, "w": np.zeros(3, np.float32)}, options)[0], expected)
    values = {"x": ort.OrtValue.ortvalue_from_numpy(X)}
    np.testing.assert_array_equal(session.run_with_ort_values(None, values, options)[0].numpy(), expected)
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], np.maximum(X + np.array([1, 2, 3], np.float32), 0))


def test_an_adapter_for_another_model_is_refused(tmp_path: Path) -> None:
    lora = ort.LoraAdapter()
    lora.Load(written(tmp_path / "a"))
    options = ort.RunOptions()
    options.add_active_adapter(lora)
    with pytest.raises(InvalidArgument, match="Invalid input name: longer name"):
        ort.InferenceSession(add_relu()).run(None, {"x": X}, options)
    with pytest.raises(TypeError, match="LoraAdapter, not a str"):
        options.add_active_adapter("a")  # type: ignore[arg-type]
