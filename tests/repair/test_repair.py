from __future__ import annotations

import importlib
import logging
import pickle
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import ingot
from ingot.repair import RULES
from repair.untidy import (
    BROKEN,
    CASES,
    LEGAL,
    RUN_AS_THEY_ARE,
    Untidy,
    X,
    declared,
    floats,
    info,
    model,
    node,
    returned_as_read,
)

onnxruntime.set_default_logger_severity(4)

REPAIRED = {f"{rule}: {name}": (rule, case) for rule, cases in CASES.items() for name, case in cases.items()}
ALL = {name: case for name, (_, case) in REPAIRED.items()} | LEGAL


def errors(model: ingot.Model) -> list[str]:
    return [str(problem) for problem in ingot.check(model) if problem.severity == "error"]


def expected(case: Untidy) -> list[Any]:
    """What onnxruntime computes of a model; where it refuses it, of the repaired one."""
    data = case.model.SerializeToString()
    if not case.peer:
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            onnxruntime.InferenceSession(data).run(None, case.feeds)
        model = ingot.from_onnx(case.model)
        assert ingot.repair(model)
        data = ingot.encode(model)
    return list(onnxruntime.InferenceSession(data).run(None, case.feeds))


def test_every_rule_has_a_case() -> None:
    in_tests = {*CASES, "imported-twice", *(rule for rule, _ in RUN_AS_THEY_ARE.values())}
    assert {rule.name for rule in RULES} == in_tests


def test_the_guide_has_the_table_of_rules() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "repairing.md").read_text("utf-8")
    rows = [line for line in guide.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{rule.name}` | {rule.what} |" for rule in RULES]


@pytest.mark.parametrize("name", REPAIRED)
def test_what_is_repaired_is_refused_by_check_and_a_strict_session(name: str) -> None:
    rule, case = REPAIRED[name]
    model = ingot.from_onnx(case.model)
    assert errors(model)
    with pytest.raises(ingot.CheckError):
        ingot.Session(model, strict=True)
    assert rule in {done.rule for done in ingot.repair(model)}


@pytest.mark.parametrize("name", REPAIRED)
def test_a_repaired_model_passes_the_checker_of_the_standard_and_ours(name: str) -> None:
    model = ingot.from_onnx(REPAIRED[name][1].model)
    ingot.repair(model)
    assert errors(model) == []
    assert ingot.repair(model) == []
    onnx.checker.check_model(ingot.to_onnx(model), full_check="com.microsoft" not in model.opset_imports)


@pytest.mark.parametrize("providers", [("reference",), ("cpu", "reference")], ids="/".join)
@pytest.mark.parametrize("name", ALL)
def test_a_session_runs_an_untidy_model_as_onnxruntime_does(name: str, providers: tuple[str, ...]) -> None:
    case = ALL[name]
    session = ingot.Session(ingot.from_onnx(case.model), providers=providers, fallback=False)
    for got, wanted in zip(session.run(None, case.feeds), expected(case), strict=True):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", LEGAL)
def test_check_takes_what_the_checker_of_the_standard_takes(name: str) -> None:
    case = LEGAL[name]
    onnx.checker.check_model(case.model, full_check=True)
    model = ingot.from_onnx(case.model)
    assert errors(model) == []
    session = ingot.Session(model, strict=True)
    assert session.repairs == ()
    assert ingot.encode(model) == case.model.SerializeToString()


@pytest.mark.parametrize("name", BROKEN)
def test_what_has_no_one_meaning_stays_an_error(name: str) -> None:
    make, message = BROKEN[name]
    with pytest.raises(ingot.CheckError) as caught:
        ingot.Session(ingot.from_onnx(make()))
    assert message in str(caught.value)


def test_what_a_branch_reads_too_early_is_called_so() -> None:
    model = ingot.from_onnx(CASES["order"]["a branch that reads what is computed later"].model)
    assert errors(model) == ["error: node 'then_out' reads 'a', which is defined only later"]


def test_a_domain_imported_twice_is_imported_once_after_a_repair() -> None:
    model = ingot.from_onnx(LEGAL["a domain imported twice"].model)
    assert [str(done) for done in ingot.repair(model)] == [
        "imported-twice: the model: imports each domain once: ai.onnx 11"
    ]
    assert [(each.domain, each.version) for each in ingot.to_onnx(model).opset_import] == [("", 11)]


@pytest.mark.parametrize("name", RUN_AS_THEY_ARE)
def test_what_runs_as_it_is_can_be_repaired_too(name: str) -> None:
    rule, untidy = RUN_AS_THEY_ARE[name]
    model = ingot.from_onnx(untidy)
    assert errors(model)
    session = ingot.Session(model, strict=True)
    np.testing.assert_array_equal(
        session(X), onnxruntime.InferenceSession(untidy.SerializeToString()).run(None, {"x": X})[0]
    )
    assert [done.rule for done in ingot.repair(model)] == [rule]
    assert errors(model) == []
    onnx.checker.check_model(ingot.to_onnx(model), full_check=True)
    np.testing.assert_array_equal(ingot.Session(model)(X), session(X))


def test_an_output_without_a_type_gets_the_one_that_is_inferred() -> None:
    model = ingot.from_onnx(declared(("n", 1, 3)))
    model.graph.outputs[0].type = None
    assert errors(model)
    assert [done.rule for done in ingot.repair(model)] == ["untyped"]
    assert str(model.graph.outputs[0].type) == "float32[n, 1, 3]"
    onnx.checker.check_model(ingot.to_onnx(model), full_check=True)


@pytest.mark.parametrize("providers", [("reference",), ("cpu", "reference")], ids="/".join)
def test_a_loop_without_nodes_collects_its_count_as_declared(providers: tuple[str, ...]) -> None:
    session = ingot.Session(ingot.from_onnx(returned_as_read()), providers=providers)
    assert session.run(None, {"x": X})[0].tolist() == [[0], [1], [2]]


def test_a_constant_that_another_stands_in_for_goes_with_its_last_reader() -> None:
    clips = [node("Clip", "x low", "y"), node("Clip", "x low", "z")]
    untidy = model(clips, outputs=[info("y"), info("z")], constants=[floats("low", [0])])
    repaired = ingot.from_onnx(untidy)
    assert [done.rule for done in ingot.repair(repaired)] == ["rank", "rank"]
    assert list(repaired.graph.initializers) == ["low_1", "low_2"]

    returned = model([clips[0], node("Identity", "low", "z")], constants=[floats("low", [0])])
    returned.graph.output.append(info("z", [1]))
    repaired = ingot.from_onnx(returned)
    ingot.repair(repaired)
    assert list(repaired.graph.initializers) == ["low", "low_1"]


def test_a_session_lists_its_repairs_and_logs_them_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "ingot"):
        session = ingot.Session(ingot.from_onnx(declared(("n", 1, 4))), providers=("cpu", "reference"))
        session.run(None, {"x": X})
    line = "declared: the main graph: 'y' is float32[n, 1, 3], not float32[n, 1, 4] as declared"
    assert [str(done) for done in session.repairs] == [line]
    assert [record.getMessage() for record in caplog.records] == [f"repaired {line}"]
    assert str(session.outputs["y"]) == "float32[n, 1, 3]"


def test_a_model_given_to_a_session_stays_as_it_is() -> None:
    model = ingot.from_onnx(declared(("n", 1, 4)))
    before = ingot.encode(model)
    ingot.Session(model)
    assert ingot.encode(model) == before


def test_a_repaired_session_can_be_pickled() -> None:
    case = CASES["names"]["a branch that hides a value"]
    session = pickle.loads(pickle.dumps(ingot.Session(case.model.SerializeToString(), providers=("reference",))))
    np.testing.assert_array_equal(session.run(None, case.feeds)[0], np.maximum(X, 0))


def test_a_strict_session_refuses_what_a_forgiving_one_has_in_the_cache(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    data = declared(("n", 1, 4)).SerializeToString()
    for _ in range(2):
        np.testing.assert_array_equal(ingot.Session(data).run(None, {"x": X})[0][:, 0], np.maximum(X, 0))
    with pytest.raises(ingot.CheckError):
        ingot.Session(data, strict=True)


def test_no_name_of_the_package_hides_a_module_of_it() -> None:
    package = importlib.import_module("ingot.repair")
    assert callable(package)
    for module in pkgutil.iter_modules(package.__path__, "ingot.repair."):
        imported = importlib.import_module(module.name)
        assert getattr(package, module.name.rpartition(".")[2]) is imported
