"""ModelCompiler, and models written by sessions: as they run, with their weights inside or beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu, model, tensor, weight
from ingot.compat.onnxruntime.errors import Fail, InvalidArgument, Unsupported

Z = np.maximum(X + np.array([1, 2, 3], np.float32), 0)


def foldable() -> bytes:
    """`y = x + (w + w)`: what can be computed before."""
    nodes = [helper.make_node("Add", ["w", "w"], ["v"]), helper.make_node("Add", ["x", "v"], ["y"])]
    return model(nodes, [tensor("x", ["n", 3])], [tensor("y", ["n", 3])], [weight()])


def ran(source: Any) -> Any:
    return ort.InferenceSession(source).run(None, {"x": X})[0]


def test_a_model_is_written_to_a_file_to_bytes_and_to_a_stream(tmp_path: Path) -> None:
    source = tmp_path / "m.onnx"
    source.write_bytes(add_relu())
    compiler = ort.ModelCompiler(ort.SessionOptions(), source)
    compiler.compile_to_file()
    np.testing.assert_array_equal(ran(tmp_path / "m_ctx.onnx"), Z)
    compiler.compile_to_file(tmp_path / "n.onnx")
    np.testing.assert_array_equal(ran(tmp_path / "n.onnx"), Z)
    np.testing.assert_array_equal(ran(compiler.compile_to_bytes()), Z)
    written: list[bytes] = []
    compiler.compile_to_stream(written.append)
    np.testing.assert_array_equal(ran(b"".join(written)), Z)
    compiler.set_ep_context_data_write_func(lambda *_: None)
    compiler.clear_ep_context_data_write_func()


def test_passes_run_only_where_a_level_asks_for_them() -> None:
    def nodes(**arguments: Any) -> int:
        data = ort.ModelCompiler(ort.SessionOptions(), foldable(), **arguments).compile_to_bytes()
        np.testing.assert_array_equal(ran(data), X + np.array([2, 4, 6], np.float32))
        return len(onnx.load_from_string(data).graph.node)

    assert nodes() == 2
    assert nodes(graph_optimization_level=ort.GraphOptimizationLevel.ORT_ENABLE_BASIC) == 1


def test_flags_make_errors_of_what_is_done_already_or_not_at_all(tmp_path: Path) -> None:
    flags = ort.OrtCompileApiFlags
    none = ort.ModelCompiler(ort.SessionOptions(), add_relu(), flags=flags.ERROR_IF_NO_NODES_COMPILED)
    with pytest.raises(Fail, match="Unable to compile any nodes"):
        none.compile_to_file(tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
    once = ort.ModelCompiler(ort.SessionOptions(), add_relu(), flags=flags.ERROR_IF_OUTPUT_FILE_EXISTS)
    once.compile_to_file(tmp_path / "m.onnx")
    with pytest.raises(Fail, match="exists already"):
        once.compile_to_file(tmp_path / "m.onnx")


def test_a_file_of_initialisers_is_relative_to_the_model(tmp_path: Path) -> None:
    def compiled(path: str | Path) -> str:
        compiler = ort.ModelCompiler(
            ort.SessionOptions(),
            add_relu(),
            external_initializers_file_path=path,
            external_initializers_size_threshold=4,
        )
        compiler.compile_to_file(folder / "m.onnx")
        np.testing.assert_array_equal(ran(folder / "m.onnx"), Z)
        (initialiser,) = onnx.load(folder / "m.onnx", load_external_data=False).graph.initializer
        return {entry.key: entry.value for entry in initialiser.external_data}["location"]

    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    assert compiled("sub/w.bin") == "sub/w.bin"
    assert (folder / "sub" / "w.bin").stat().st_size == 12
    assert compiled(folder / "sub" / "v.bin") == "sub/v.bin"
    for outside in (tmp_path / "w.bin", "../w.bin", tmp_path / "model" / "sub" / ".." / ".." / "w.bin"):
        with pytest.raises(Fail, match="only lie in the folder of the model"):
            compiled(outside)
    with pytest.raises(Fail, match="there is no folder"):
        compiled("absent/w.bin")
    assert not (tmp_path / "w.bin").exists()


def test_initialisers_go_to_a_file_or_where_a_function_says(tmp_path: Path) -> None:
    compiler = ort.ModelCompiler(
        ort.SessionOptions(),
        add_relu(),
        external_initializers_file_path=tmp_path / "w.bin",
        external_initializers_size_threshold=4,
    )
    compiler.compile_to_file(tmp_path / "m.onnx")
    assert (tmp_path / "w.bin").stat().st_size == 12
    np.testing.assert_array_equal(ran(tmp_path / "m.onnx"), Z)
    with pytest.raises(Unsupported, match="no folder"):
        compiler.compile_to_bytes()
    seen: list[tuple[str, list[int], Any]] = []

    def own(name: str, value: ort.OrtValue, now: Any) -> Any:
        seen.append((name, value.shape(), now))
        (tmp_path / "own.bin").write_bytes(b"abcd" + value.numpy().tobytes())
        return ort.OrtExternalInitializerInfo(str(tmp_path / "own.bin"), 4, 12)

    def same(name: str, value: ort.OrtValue, now: Any) -> Any:
        seen.append((name, value.shape(), now))
        return now

    options = ort.SessionOptions()
    first = ort.ModelCompiler(options, add_relu(), get_initializer_location_func=own)
    first.compile_to_file(tmp_path / "own.onnx")
    again = ort.ModelCompiler(options, str(tmp_path / "own.onnx"), get_initializer_location_func=same)
    again.compile_to_file(tmp_path / "again.onnx")
    (tmp_path / "own.bin").write_bytes(b"abcd" + np.array([10, 20, 30], np.float32).tobytes())
    for name in ("own.onnx", "again.onnx"):
        np.testing.assert_array_equal(ran(tmp_path / name), np.maximum(X + np.array([10, 20, 30], np.float32), 0))
    assert seen[0] == ("w", [3], None)
    assert seen[1][2] == ort.OrtExternalInitializerInfo(str(tmp_path / "own.bin"), 4, 12)
    ort.ModelCompiler(options, str(tmp_path / "own.onnx"), get_initializer_location_func=lambda *_: None)
    wrong = ort.ModelCompiler(
        options, add_relu(), get_initializer_location_func=lambda *_: ort.OrtExternalInitializerInfo("w.bin", 0, 8)
    )
    with pytest.raises(InvalidArgument, match="'w' takes 12 bytes, not 8"):
        wrong.compile_to_file(tmp_path / "wrong.onnx")


def test_arguments_that_make_no_compiler_are_refused(tmp_path: Path) -> None:
    options = ort.SessionOptions()
    for wrong, error in ((b"", ValueError), ("", ValueError), (3, TypeError)):
        with pytest.raises(error):
            ort.ModelCompiler(options, wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="SessionOptions"):
        ort.ModelCompiler(None, add_relu())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="both"):
        ort.ModelCompiler(
            options, add_relu(), external_initializers_file_path="w", get_initializer_location_func=lambda *_: None
        )
    compiler = ort.ModelCompiler(options, add_relu())
    with pytest.raises(TypeError, match="unexpected type"):
        compiler.compile_to_file()
    with pytest.raises(TypeError, match="takes bytes"):
        compiler.compile_to_stream(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cannot"):
        compiler.set_ep_context_data_write_func(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="does not exist"):
        ort.ModelCompiler(options, tmp_path / "none.onnx").compile_to_bytes()

    def fails(_: bytes) -> None:
        raise ValueError("the disk is full")

    with pytest.raises(Fail, match="ValueError: the disk is full"):
        compiler.compile_to_stream(fails)


def test_a_session_writes_its_optimised_model_with_weights_beside_it(tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "m.onnx")
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "w.bin")
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "4")
    ort.InferenceSession(foldable(), options)
    proto = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    assert [node.op_type for node in proto.graph.node] == ["Add"]
    assert proto.graph.initializer[0].data_location == TensorProto.EXTERNAL
    np.testing.assert_array_equal(ran(tmp_path / "m.onnx"), X + np.array([2, 4, 6], np.float32))
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "n.onnx")
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    ort.InferenceSession(str(tmp_path / "m.onnx"), options)
    np.testing.assert_array_equal(ran(tmp_path / "n.onnx"), X + np.array([2, 4, 6], np.float32))
