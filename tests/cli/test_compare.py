"""`ingot compare`: two models or engines on the same inputs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.opening import opener
from click.testing import CliRunner, Result

import ingot
import ingot.compat.onnxruntime
from ingot.builder import Float32, Var, build, op
from ingot.cli.first_difference import differences, quantisation_ties
from ingot.cli.main import main
from ingot.compat.finder import SHADOW
from ingot.convert.source import Tolerance
from ingot.ir.text import parse_model
from ingot.tools.bench.engines import prepared


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name, factor in (("a", 2), ("b", 3)):

        def fn(x: Var, factor: int = factor) -> Var:
            return op.Abs(op.Mul(x, np.float32(factor), name="scaled"), name="y")

        ingot.save(build(fn, inputs={"x": Float32["n", 4]}, opset=17), tmp_path / f"{name}.onnx")
    return tmp_path / "a.onnx", tmp_path / "b.onnx"


def test_a_model_is_equal_to_itself(files: tuple[Path, Path]) -> None:
    result = run(files[0], files[0], "--shape", "n=3")
    assert result.exit_code == 0, result.output
    assert "y: at most 0.0e+00 apart" in result.output


def test_a_model_that_differs_ends_with_1_and_the_first_value_that_does(files: tuple[Path, Path]) -> None:
    result = run(*files, "--bisect", "--shape", "n=3")
    assert result.exit_code == 1
    assert "1 output of 1 differ" in result.output
    assert "the first value that differs is 'scaled', of Mul 'scaled': " in result.stdout


def test_two_engines_agree_on_a_model(files: tuple[Path, Path]) -> None:
    pytest.importorskip("onnxruntime")
    for other in ("reference", "onnxruntime"):
        assert run(files[0], "--engine", "cpu", "--engine", other, "--shape", "n=3").exit_code == 0


def test_two_engines_agree_on_a_model_that_sessions_repair(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 64] x) => (float[a, b, c, d] y)
    <int64 step = {8}, int64 length = {16}> { y = STFT (x, step, , length) }"""
    ingot.save(parse_model(text), tmp_path / "untidy.onnx")  # a signal without its last axis
    result = run(tmp_path / "untidy.onnx", "--engine", "cpu", "--engine", "onnxruntime")
    assert result.exit_code == 0, result.output


def test_one_model_needs_two_engines(files: tuple[Path, Path]) -> None:
    assert run(files[0]).exit_code == 2


HEAD = '<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y, float[n] z)'
WEIGHTS = "<float one = {1.0}, int8 zero = {0}, float ten = {10.0}, float step = {0.001}, float f = {2.0}>"


def quantised(path: Path, *, moved: bool, factor: float = 2.0) -> Path:
    """`x` rounded and times ten, and times a factor; moved by less than a rounding step where it is to round up."""
    before = "v = Add (x, step)" if moved else "v = Identity (x)"
    body = f"{before} q = QuantizeLinear (v, one, zero) d = DequantizeLinear (q, one, zero) y = Mul (d, ten)"
    weights = WEIGHTS.replace("{2.0}", f"{{{factor}}}")
    ingot.save(ingot.parse_model(f"{HEAD} {weights} {{ {body} z = Mul (x, f) }}"), path)
    return path


@pytest.fixture
def ties(tmp_path: Path) -> tuple[object, ...]:
    """The arguments of a comparison on numbers of which two lie half between two steps."""
    np.save(tmp_path / "x.npy", np.array([0.5, 1.2, 2.5, -3.1], np.float32))
    return ("--bisect", "--absolute", "0.01", "--input", f"x={tmp_path / 'x.npy'}")


def test_a_first_difference_of_one_quantisation_step_is_called_a_tie(tmp_path: Path, ties: tuple[object, ...]) -> None:
    pair = quantised(tmp_path / "a.onnx", moved=False), quantised(tmp_path / "b.onnx", moved=True)
    result = run(*pair, *ties)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[2:] == [
        "the first value that differs is 'q', of QuantizeLinear: 2 elements by one quantisation step",
        "that is how a tie rounds; what follows from it cannot be compared",
        "besides what follows from it, no value that both have differs",
    ]


def test_a_difference_that_does_not_follow_from_a_tie_is_named_too(tmp_path: Path, ties: tuple[object, ...]) -> None:
    pair = quantised(tmp_path / "a.onnx", moved=False), quantised(tmp_path / "b.onnx", moved=True, factor=3.0)
    assert "besides what follows from it, the first value that differs is 'z', of Mul: " in run(*pair, *ties).stdout


ROUNDING = """<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y)
<float half = {0.5}, float step = {0.001}, float ten = {10.0}>
{ v = AFTER w = Add (v, half) r = ROUND y = Mul (r, ten) }"""


@pytest.mark.parametrize("rounding", ["Floor (w)", "Ceil (w)", "Cast <to = 6> (w)"])
def test_whole_numbers_that_differ_by_one_are_a_tie(rounding: str, tmp_path: Path, ties: tuple[object, ...]) -> None:
    text = ROUNDING.replace("r = ROUND", f"i = {rounding} r = Cast <to = 1> (i)")
    for name, before in (("a", "Identity (x)"), ("b", "Add (x, step)" if "Ceil" in rounding else "Sub (x, step)")):
        ingot.save(parse_model(text.replace("AFTER", before)), tmp_path / f"{name}.onnx")
    lines = run(tmp_path / "a.onnx", tmp_path / "b.onnx", *ties).stdout.splitlines()
    assert lines[1:] == [
        f"the first value that differs is 'i', of {rounding.split()[0]}: 2 elements by one",
        "that is how a tie rounds; what follows from it cannot be compared",
        "besides what follows from it, no value that both have differs",
    ]


def test_the_order_of_a_topk_that_does_not_sort_is_left_open() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[3] y)
    <int64[1] k = {3}> { v, i = TopK <sorted = SORTED> (x, k) y = Neg (v) }"""
    one = {"v": np.array([3, 2, 1], np.float32), "i": np.array([0, 1, 2]), "y": np.array([-3, -2, -1], np.float32)}
    other = {name: array[[2, 0, 1]] for name, array in one.items()}
    for is_sorted, excuses in ((0, ["sorted=0 leaves the order open"] * 2), (1, [None])):
        graph = parse_model(text.replace("SORTED", str(is_sorted))).graph
        assert [each.excuse for each in differences(graph, one, one, other, Tolerance())] == excuses
    less = {**other, "v": np.array([1, 3, 0], np.float32)}
    graph = parse_model(text.replace("SORTED", "0")).graph
    assert [each.excuse for each in differences(graph, one, one, less, Tolerance())] == [None]


def test_labels_that_differ_by_one_are_no_tie() -> None:
    assert quantisation_ties(np.array([1, 2], np.int8), np.array([1, 3], np.int8)) == 1
    assert quantisation_ties(np.array([1, 2], np.int8), np.array([1, 4], np.int8)) == 0
    assert quantisation_ties(np.array([0, 255], np.uint8), np.array([1, 254], np.uint8)) == 2
    assert quantisation_ties(np.array([1, 2], np.int64), np.array([1, 3], np.int64)) == 0
    assert quantisation_ties(np.array([1.0]), np.array([2.0])) == 0


def test_the_answer_is_on_stdout_and_onnxruntime_says_nothing(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = quantised(tmp_path / "a.onnx", moved=False)
    model = ingot.load(path)
    for index in range(20):  # each is a warning of onnxruntime
        model.graph.add_initializer(f"unused{index}", np.zeros(3, np.float32))
    ingot.save(model, path)
    other = quantised(tmp_path / "b.onnx", moved=False, factor=3.0)
    command = [
        sys.executable,
        "-m",
        "ingot",
        "compare",
        str(path),
        str(other),
        "--engine",
        "onnxruntime",
        "--bisect",
        "--shape",
    ]
    result = subprocess.run([*command, "n=3"], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert "the first value that differs is 'z', of Mul: " in result.stdout
    assert [line for line in result.stderr.splitlines() if not line.startswith(" ")] == [
        "random: x: float32[3]",
        "error: 1 output of 2 differ",
    ]


def test_ingot_is_not_compared_with_itself_under_the_name_of_onnxruntime(files: tuple[Path, Path]) -> None:
    path = os.pathsep.join(filter(None, [SHADOW, os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "ingot", "compare", str(files[0]), "--shape", "n=3"]
    result = subprocess.run(
        [*command, "--engine", "cpu", "--engine", "onnxruntime"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert result.returncode == 1
    assert "error: the package 'onnxruntime' of this process is ingot's own" in result.stderr


def test_ingot_is_not_measured_under_the_name_of_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", ingot.compat.onnxruntime)
    with pytest.raises(SystemExit, match="ingot's own"):
        opener("onnxruntime")
    with pytest.raises(RuntimeError, match="ingot's own"):
        prepared("onnxruntime")


def test_a_model_that_onnxruntime_refuses_is_no_defect_of_ingot(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    text = '<ir_version: 8, opset_import: ["": 22]> g (bfloat16[n] x) => (bfloat16[n] y) { y = Acos (x) }'
    ingot.save(ingot.parse_model(text), tmp_path / "m.onnx")
    result = run(tmp_path / "m.onnx", "--engine", "reference", "--engine", "onnxruntime", "--shape", "n=3")
    assert result.exit_code == 1
    assert "error: onnxruntime refuses the model: " in result.stderr
    assert "NOT_IMPLEMENTED" in result.stderr
