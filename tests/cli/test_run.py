from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import ingot
from cli.samples import Run
from ingot.dtypes import Array, DType
from ingot.format import save
from ingot.format.values import encode_value
from ingot.ir import Graph, Model, Node, Tensor, TensorType, Value

X = np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32)


def expected(x: Array) -> Array:
    weights = np.arange(1024, dtype=np.float32).reshape(32, 32)
    return np.asarray(np.maximum(x @ weights + 1, 0))


def identity(type_: TensorType) -> None:
    """`identity.onnx`: gives back what it takes."""
    x = Value("x", type_)
    node = Node("Identity", [x], [Value("y", type_)])
    save(Model(Graph([x], [node.output], [node], name="g"), 21, ir_version=10), "identity.onnx", durable=False)


def write(kind: str) -> str:
    """`x.<kind>` with the array X."""
    path = Path(f"x.{kind}")
    match kind:
        case "npy":
            np.save(path, X)
        case "npz":
            np.savez(path, x=X, other=X)
        case "pb":
            tensor = Tensor(X)
            path.write_bytes(encode_value(tensor, tensor.type))
        case "json":
            path.write_text(json.dumps(X.tolist()))
    return path.name


@pytest.mark.parametrize("kind", ["npy", "npz", "pb", "json"])
def test_inputs_are_read_from_files(run: Run, model_file: Path, kind: str) -> None:
    result = run("run", model_file.name, "--input", f"x={write(kind)}", "--output", "y=y.npy")
    assert (result.exit_code, result.stderr) == (0, "")
    np.testing.assert_allclose(np.load("y.npy"), expected(X), rtol=1e-5)
    assert result.stdout.startswith("y: float32[2, 32]\n  min 0, mean ")


def test_a_file_without_a_name_gives_inputs_by_name(run: Run, model_file: Path) -> None:
    result = run("run", model_file.name, "--input", write("npz"), "--output", "all.npz")
    assert result.exit_code == 0
    assert list(np.load("all.npz")) == ["y"]


@pytest.mark.parametrize("kind", ["npy", "npz", "json", "pb"])
def test_results_are_saved(run: Run, model_file: Path, kind: str) -> None:
    assert run("run", model_file.name, "--input", f"x={write('npy')}", "--output", f"y.{kind}").exit_code == 0
    again = run("run", model_file.name, "--input", f"x=y.{kind}")
    assert again.exit_code == 0
    assert "float32[2, 32]" in again.stdout


def test_random_inputs_follow_from_the_seed_and_open_sizes_are_1(run: Run, model_file: Path) -> None:
    first, second = run("run", model_file.name), run("run", model_file.name, "--input", "x=random")
    assert first.stdout == second.stdout
    assert first.stderr == "assumed to be 1: batch (give --shape batch=N)\nrandom: x: float32[1, 32]\n"
    seeds = [run("run", model_file.name, "--fetch", "product", "--seed", seed).stdout for seed in "01"]
    assert seeds[0] != seeds[1]


@pytest.mark.parametrize("shape", ["batch=3", "x=3,32"])
def test_sizes_are_given(run: Run, model_file: Path, shape: str) -> None:
    result = run("run", model_file.name, "--shape", shape)
    assert result.stderr == "random: x: float32[3, 32]\n"
    assert result.stdout.startswith("y: float32[3, 32]\n")


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ("x=3", "1 sizes are given"),
        ("x=3,33", "its size 32 cannot be 33"),
        ("bach=3", "did you mean 'batch'?"),
        ("batch=-1", "is not a size"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(run: Run, model_file: Path, shape: str, says: str) -> None:
    result = run("run", model_file.name, "--shape", shape)
    assert result.exit_code == 1
    assert says in result.stderr


def test_values_inside_can_be_fetched(run: Run, model_file: Path) -> None:
    result = run("run", model_file.name, "--fetch", "product", "--fetch", "y", "--json")
    assert [entry["name"] for entry in json.loads(result.stdout)] == ["product", "y"]


def test_an_image_is_brought_to_the_size_and_order_of_the_input(run: Run) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (10, 6), (255, 0, 51)).save("red.png")
    for shape, ends in (((1, 3, 4, 5), (1.0, 0.2)), ((1, 4, 5, 3), (1.0, 0.2))):
        identity(TensorType(DType.FLOAT32, shape))
        assert run("run", "identity.onnx", "--input", "x=red.png", "--output", "y.npy").exit_code == 0
        found = np.load("y.npy")
        assert found.shape == shape
        np.testing.assert_allclose((found.reshape(-1)[0], found.reshape(-1)[-1]), ends, rtol=1e-6)
    identity(TensorType(DType.UINT8, (6, 10)))
    assert run("run", "identity.onnx", "--input", "x=red.png").exit_code == 0


def test_a_size_declared_as_minus_one_is_taken_to_be_1(run: Run) -> None:
    identity(TensorType(DType.FLOAT32, (-1, 3)))
    result = run("run", "identity.onnx")
    assert result.exit_code == 0, result.stderr
    assert "[1, 3]" in result.stdout


@pytest.mark.parametrize("dtype", [d for d in DType if d is not DType.UNDEFINED], ids=str)
def test_every_element_type_has_random_inputs(run: Run, dtype: DType) -> None:
    identity(TensorType(dtype, (2, 3)))
    result = run("run", "identity.onnx")
    if dtype in (DType.FLOAT6E2M3, DType.FLOAT6E3M2):
        assert result.exit_code in (0, 1)  # Identity-25 knows no float6
    else:
        assert result.exit_code == 0, result.stderr
        assert result.stdout.startswith(f"y: {dtype}[2, 3]\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--input", "z=random"], "the model has no input 'z'"),
        (["--input", "x=nope.npy"], "no such file or directory: 'nope.npy'"),
        (["--input", "x=model.onnx"], "no kind of file that inputs are read from"),
        (["--input", "ints.npy"], "given for no input"),
        (["--output", "y=y.txt"], "no kind of file to write"),
        (["--fetch", "sun"], "did you mean 'sum'"),
        (["--input", "x=words.json"], "makes no float32"),
    ],
)
def test_wrong_arguments_are_refused(run: Run, model_file: Path, arguments: list[str], says: str) -> None:
    np.save("ints.npy", np.zeros((1, 32), np.complex64))
    Path("words.json").write_text('["a"]')
    result = run("run", model_file.name, *arguments)
    assert result.exit_code == 1
    assert says in result.stderr


def test_an_array_of_another_kind_is_refused(run: Run, model_file: Path) -> None:
    np.save("complex.npy", np.zeros((1, 32), np.complex64))
    result = run("run", model_file.name, "--input", "x=complex.npy")
    assert (result.exit_code, result.stderr) == (
        1,
        "error: input 'x' is float32[batch, 32], 'complex.npy' holds complex64[1, 32]\n",
    )


def bomb(count: int) -> None:
    """`bomb.onnx`: as many zeros as its input says, with a default of `count`."""
    graph = Graph([], name="g")
    size = graph.add_initializer("size", np.array([count], np.int64))
    graph.outputs.append(graph.append(Node("ConstantOfShape", [size], ["y"], name="zeros")).output)
    save(Model(graph, 21, ir_version=10), "bomb.onnx", durable=False)


def test_the_memory_of_a_run_can_be_limited(run: Run) -> None:
    bomb(2**19)
    result = run("run", "bomb.onnx", "--memory-limit", "1MiB")
    assert result.exit_code == 1
    assert "the limit is 1,048,576" in result.stderr
    assert "in node 'zeros' (ConstantOfShape)" in result.stderr
    assert "hint: allow more: --memory-limit 2097152" in result.stderr
    assert run("run", "bomb.onnx", "--memory-limit", "2097152").exit_code == 0
    assert run("run", "bomb.onnx", "--memory-limit", "much").exit_code == 2


def test_a_run_can_have_a_deadline(run: Run) -> None:
    bomb(1)
    result = run("run", "bomb.onnx", "--deadline", "0")
    assert (result.exit_code, result.stderr) == (
        1,
        "error: the run took longer than 0.0 s\n  in node 'zeros' (ConstantOfShape)\n  size: int64[1]\n",
    )
    assert run("run", "bomb.onnx", "--deadline", "60").exit_code == 0
    assert run("run", "bomb.onnx", "--deadline", "-1").exit_code == 2


def test_a_model_runs_as_machine_code(
    run: Run, model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = ingot.load(model_file).graph.outputs.names[0]
    monkeypatch.setenv("INGOT_PROVIDERS", "cpu,reference")
    for file, more in (("slow.npy", ("--reference",)), ("fast.npy", ())):
        assert run("run", str(model_file), "--output", f"{name}={file}", *more).exit_code == 0
    np.testing.assert_allclose(np.load(tmp_path / "fast.npy"), np.load(tmp_path / "slow.npy"), rtol=1e-5, atol=1e-6)


def test_the_second_run_of_a_model_finds_what_the_first_has_compiled(
    run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("INGOT_PROVIDERS", "cpu,reference")
    arguments = ("run", model_file.name, "--input", f"x={write('npy')}", "--output", "y=y.npy")
    assert run(*arguments).exit_code == 0
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    monkeypatch.setattr("ingot.session_model.load_source", lambda *_: pytest.fail("the model is loaded"))
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    np.testing.assert_allclose(np.load("y.npy"), expected(X), rtol=1e-5)
