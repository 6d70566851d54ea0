"""`ingot convert` of each kind of file that models are saved to, and what it says about input that does not fit."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ingot
from ingot.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
CLASSES = (ROWS[:, 0] > ROWS[:, 1]).astype(np.int64)


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["convert", *map(str, arguments)])
    return result.exit_code, result.output


def logistic(path: Path) -> Path:
    model = pytest.importorskip("sklearn.linear_model").LogisticRegression().fit(ROWS, CLASSES)
    if path.suffix == ".joblib":
        pytest.importorskip("joblib").dump(model, path)
    else:
        path.write_bytes(pickle.dumps(model))
    return path


def program(path: Path) -> Path:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(-1)).eval()
    open_axis = ({0: torch.export.Dim("n")},)
    torch.export.save(torch.export.export(model, (torch.tensor(ROWS[:2]),), dynamic_shapes=open_axis), path)
    return path


def boosted(path: Path) -> Path:
    if path.suffix in (".json", ".ubj"):
        pytest.importorskip("xgboost").XGBClassifier(n_estimators=3).fit(ROWS, CLASSES).save_model(path)
    elif path.suffix == ".txt":
        model = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=3, verbose=-1).fit(ROWS, CLASSES)
        model.booster_.save_model(path)
    else:
        catboost = pytest.importorskip("catboost")
        model = catboost.CatBoostClassifier(iterations=3, verbose=0, allow_writing_files=False).fit(ROWS, CLASSES)
        model.save_model(str(path))
    return path


@pytest.mark.parametrize("suffix", [".json", ".ubj", ".txt", ".cbm", ".pkl", ".joblib"])
def test_a_classifier_is_written_with_what_was_compared(suffix: str, tmp_path: Path) -> None:
    pickled = suffix in (".pkl", ".joblib")
    source = (logistic if pickled else boosted)(tmp_path / f"m{suffix}")
    np.save(tmp_path / "rows.npy", ROWS)
    target = tmp_path / "m.onnx"
    trust = ["--trust-pickle"] if pickled else []
    code, text = run(source, "--example", tmp_path / "rows.npy", "-o", target, *trust)
    assert code == 0, text
    first, labels, chances, written, takes, gives = text.splitlines()
    assert first == "ran both on 4 examples"
    assert labels == "  label: 108 of 108 equal"
    assert chances.startswith("  probabilities: at most ")
    assert written.startswith(f"wrote {target} (")
    assert written.endswith(" nodes, opset 21")
    assert takes == "  takes X: float32[batch, 4]"
    assert gives == "  gives label: int64[batch], probabilities: float32[batch, 2]"
    label = ingot.Session(target)(ROWS)[0]
    assert np.mean(label == CLASSES) > 0.7


def test_a_program_of_torch_is_compared_in_other_sizes_of_its_open_axes(tmp_path: Path) -> None:
    source, target = program(tmp_path / "m.pt2"), tmp_path / "m.onnx"
    code, text = run(source, "-o", target, "--trust-pickle", "--opset", 18)
    assert code == 0, text
    assert text.startswith("ran both on 3 examples\n")
    assert "opset 18\n  takes input: float32[input_dim_0, 4]\n" in text
    np.save(tmp_path / "rows.npy", ROWS)
    np.savez(tmp_path / "rows.npz", input=ROWS)
    for example in "rows.npy", "rows.npz":
        assert run(source, "--example", tmp_path / example, "-o", target, "--trust-pickle")[0] == 0


@pytest.mark.parametrize("suffix", [".pt2", ".pkl", ".joblib"])
def test_no_pickle_is_loaded_without_trust(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"m{suffix}").write_bytes(b"cos\nabort\n(tR.")
    code, text = run(tmp_path / f"m{suffix}", "-o", tmp_path / "m.onnx")
    assert code == 1
    assert "is a pickle, which runs whatever code is in it as it is loaded" in text
    assert "hint: where you trust who made it: --trust-pickle\n" in text


@pytest.mark.parametrize("suffix", [".pt2", ".pkl", ".joblib", ".json", ".ubj", ".txt", ".cbm"])
def test_a_file_that_is_missing_or_something_else_is_refused_in_one_line(suffix: str, tmp_path: Path) -> None:
    packages = {".pt2": "torch", ".joblib": "joblib", ".txt": "lightgbm", ".cbm": "catboost"}
    pytest.importorskip(packages.get(suffix, "xgboost"))
    source, target = tmp_path / f"m{suffix}", tmp_path / "m.onnx"
    assert run(source, "-o", target, "--trust-pickle") == (1, f"error: there is no file '{source}'\n")
    source.write_bytes(b"nothing of the kind")
    code, text = run(source, "-o", target, "--trust-pickle")
    assert code == 1
    assert f"'{source}' is no model of" in text or f"'{source}' cannot be unpickled" in text
    assert len(text.splitlines()) <= 2
    assert not target.exists()


def test_an_example_of_other_columns_or_types_is_refused(tmp_path: Path) -> None:
    source, target = logistic(tmp_path / "m.pkl"), tmp_path / "m.onnx"
    trusted = (source, "-o", target, "--trust-pickle", "--example")
    np.save(tmp_path / "few.npy", ROWS[:, :3])
    assert "the example has 3 features, the model was fitted to 4" in run(*trusted, tmp_path / "few.npy")[1]
    np.save(tmp_path / "words.npy", np.array([["a", "b", "c", "d"]]))
    code, text = run(*trusted, tmp_path / "words.npy")
    assert code == 1
    assert "the original does not run on the example: could not convert string to float: 'a'" in text
    (tmp_path / "few.csv").write_text("a,b,c\n1,2,3\n")
    assert "the example has 3 columns, the model was fitted to 4" in run(*trusted, tmp_path / "few.csv")[1]
    (tmp_path / "rows.npy").write_bytes(b"no array")
    assert "cannot be read" in run(*trusted, tmp_path / "rows.npy")[1]
    assert "is no kind of file to read examples from" in run(*trusted, tmp_path / "rows.xlsx")[1]
    assert not target.exists()


def test_an_example_that_a_program_of_torch_does_not_take_is_refused(tmp_path: Path) -> None:
    source = program(tmp_path / "m.pt2")
    trusted = (source, "-o", tmp_path / "m.onnx", "--trust-pickle", "--example")
    np.save(tmp_path / "wide.npy", ROWS.astype(np.float64))
    text = run(*trusted, tmp_path / "wide.npy")[1]
    assert "the example of 'input' is float64[60, 4], the program takes float32[" in text
    np.savez(tmp_path / "two.npz", input=ROWS, more=ROWS)
    assert "the example has 2 tensors, the program takes 1: input" in run(*trusted, tmp_path / "two.npz")[1]
    np.save(tmp_path / "few.npy", ROWS[:, :3])
    assert "the original does not run on the example" in run(*trusted, tmp_path / "few.npy")[1]
    np.save(tmp_path / "words.npy", np.array([["a"]]))
    assert "PyTorch has no tensors of strings" in run(*trusted, tmp_path / "words.npy")[1]


def test_an_estimator_that_is_not_fitted_and_names_that_clash_are_refused(tmp_path: Path) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    (tmp_path / "new.pkl").write_bytes(pickle.dumps(linear_model.LogisticRegression()))
    target = ("-o", tmp_path / "m.onnx", "--trust-pickle")
    assert "error: the LogisticRegression is not fitted\n  hint: call fit" in run(tmp_path / "new.pkl", *target)[1]
    source = logistic(tmp_path / "m.pkl")
    clash = run(source, *target, "--input-name", "label")[1]
    assert "'label' is the name of an input and of an output\n  hint: --output-name NAME for each output" in clash
    twice = run(source, *target, "--input-name", "a", "--input-name", "b")[1]
    assert "2 input names are given, the model has 1 input\n" in twice
    assert "takes no option 'zipmop'" in run(source, *target, "--option", "zipmop=true")[1]


@pytest.mark.parametrize(
    ("suffix", "package", "extra"),
    [
        (".ubj", "xgboost", "boosters"),
        (".txt", "lightgbm", "boosters"),
        (".cbm", "catboost", "boosters"),
        (".pt2", "torch", "torch"),
        (".pkl", "sklearn", "sklearn"),
        (".joblib", "joblib", "sklearn"),
    ],
)
def test_a_missing_framework_is_named_with_the_extra_to_install(
    suffix: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / f"m{suffix}"
    source.write_bytes(b"tree\nversion=v4" if suffix != ".pkl" else b"csklearn.linear_model\nRidge\n.")
    for name in [name for name in sys.modules if name.startswith(("ingot.convert.torch", f"{package}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    code, text = run(source, "-o", tmp_path / "m.onnx", "--trust-pickle")
    assert code == 1
    assert f"needs the package '{package}'\n  hint: pip install 'ingot[{extra}]'" in text
