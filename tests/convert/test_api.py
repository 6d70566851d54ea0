"""`convert`: what it recognises, what it refuses, and how."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot.builder import Float32, build, op
from ingot.convert import Request, Source, Tolerance, Unsupported
from ingot.convert.api import framework_of, framework_of_file, in_versions
from ingot.convert.verify import compare, verify
from ingot.errors import ConvertError, InputError, VerifyError


def source(factor: float = 2.0, inside: float | None = None) -> Source:
    def fn(x: object) -> object:
        twice = op.Mul(x, np.float32(2), name="twice")
        return op.Relu(twice, name="y")

    return Source(
        build(fn, inputs={"x": Float32["n"]}),
        lambda feeds: [np.maximum(feeds["x"] * factor, 0)],
        [{"x": np.arange(-3, 3, dtype=np.float32)}],
        None if inside is None else lambda feeds: {"twice": feeds["x"] * inside},
    )


def test_an_equal_model_has_a_report_of_no_difference() -> None:
    report = verify(source(), providers=("reference",))
    assert report.outputs[0].absolute == 0
    assert report.examples == 1
    assert "at most 0.0e+00 apart" in str(report)


def test_a_model_that_differs_is_refused_with_the_first_value_that_does() -> None:
    with pytest.raises(VerifyError, match=r"the first value that differs is 'twice' of Mul"):
        verify(source(3.0, 3.0), providers=("reference",))
    with pytest.raises(VerifyError, match=r"output 'y' is not the original's") as caught:
        verify(source(3.0), providers=("reference",))
    assert "first value" not in str(caught.value)


def test_labels_must_be_equal_and_numbers_near() -> None:
    near = Tolerance(1e-3, 0)
    assert compare("y", np.array([1.0, np.nan]), np.array([1.0005, np.nan]), near)[1] is None
    assert "1 of 2 values differ" in str(compare("y", np.array([1.0, 2.0]), np.array([1.0, 2.1]), near)[1])
    assert "1 of 2 labels differ" in str(compare("y", np.array(["a", "b"]), np.array(["a", "c"], object), near)[1])
    assert "shape [2]" in str(compare("y", np.zeros(3), np.zeros(2), near)[1])
    assert compare("y", [{"a": 1.0}], [{"a": 1.0}], near)[1] is None
    assert "keys" in str(compare("y", [{"a": 1.0}], [{"b": 1.0}], near)[1])


def test_an_infinity_is_near_itself_alone() -> None:
    near = Tolerance(1.0, 1.0)
    assert compare("y", np.array([np.inf]), np.array([np.inf]), near)[1] is None
    assert compare("y", np.array([np.inf]), np.array([1.0]), near)[1] is not None


def test_every_unsupported_piece_is_said_at_once() -> None:
    unsupported = Unsupported()
    unsupported.refuse("toy")
    unsupported.add("step 'a'", reason="no rule", hint="register one")
    unsupported.add("step 'a'", reason="no rule", hint="register one")
    unsupported.add("step 'b'", place="the pipeline")
    with pytest.raises(ConvertError, match="2 pieces of the toy model cannot be converted") as caught:
        unsupported.refuse("toy")
    assert caught.value.where == ("step 'a': no rule", "step 'b' (in the pipeline)")
    assert caught.value.hint == "register one"


def test_what_nobody_knows_is_refused() -> None:
    with pytest.raises(ConvertError, match=r"a builtins\.object is nothing we convert from"):
        framework_of(object())


def test_files_are_told_by_their_endings(tmp_path: Path) -> None:
    for name, framework in (("m.ubj", "XGBoost"), ("m.txt", "LightGBM"), ("m.cbm", "CatBoost"), ("m.pt2", "PyTorch")):
        (tmp_path / name).touch()
        assert framework_of_file(tmp_path / name).name == framework
    (tmp_path / "m.xyz").touch()
    with pytest.raises(ConvertError, match="no kind of file"):
        framework_of_file(tmp_path / "m.xyz")
    with pytest.raises(InputError, match="there is no file"):
        framework_of_file(tmp_path / "none.ubj")


@pytest.mark.parametrize("name", ["m.pkl", "m.pickle", "m.joblib", "m.pt", "m.pth"])
def test_a_pickle_is_not_loaded_without_trust(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ConvertError, match=r"runs .*code"):
        ingot.convert(path)


def test_names_that_clash_are_refused() -> None:
    with pytest.raises(InputError, match="two inputs are to be called 'x'"):
        Request(input_names=("x", "x"))
    with pytest.raises(InputError, match="an input and of an output"):
        Request(input_names=("x",), output_names=("x",))


def test_an_option_that_a_framework_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="takes no option 'zipmop'"):
        Request(options={"zipmop": True}).only("toy", "zipmap")


def test_models_come_in_the_versions_asked_for() -> None:
    model = source().model
    assert in_versions(model, None).opset == 21
    assert in_versions(model, 17).opset == 17
    assert in_versions(model, 17).ir_version == 8
    assert model.opset == 28
    with pytest.raises(InputError, match="opset 99 is not known"):
        in_versions(model, 99)


def test_convert_can_be_called_however_it_was_imported() -> None:
    script = (
        "import ingot, sys\nassert 'ingot.convert' not in sys.modules\n"
        "assert callable(ingot.convert)\nfrom ingot.convert import api\n"
        "assert callable(ingot.convert) and ingot.convert.Report is api.Report\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
