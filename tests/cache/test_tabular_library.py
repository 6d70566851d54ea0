"""Models of tables find their kernels among those that are compiled ahead for others, of other sizes."""

from __future__ import annotations

import pytest
from benchmarks.found_models.estimators import ESTIMATORS
from release.kernel_library import SCHEDULED_FOR, templates_of
from release.tabular import CLASSES, converted, tabular_models

pytest.importorskip("skl2onnx")

NAMES = ("scaled_logistic", "decision_tree_classifier")


@pytest.mark.parametrize("name", NAMES)
def test_an_estimator_for_other_columns_has_no_kernels_of_its_own(name: str) -> None:
    targets = SCHEDULED_FOR["x86-64-v4"]
    ahead = {key for _, model in tabular_models([name]) for key, _ in templates_of(model, targets)}
    for classes in CLASSES[:2]:
        own = {key for key, _ in templates_of(converted(ESTIMATORS[name](), classes, columns=29), targets[:1])}
        assert own
        assert own <= ahead


def test_what_no_exporter_writes_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert [name for name, _ in tabular_models(["poisson_regressor", "elastic_net"])] == ["elastic_net, 2 classes"]
    assert capsys.readouterr().err.startswith("poisson_regressor: ")
