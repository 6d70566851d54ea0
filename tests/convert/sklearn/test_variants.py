"""Estimators in settings that take another way through their rules than the default does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, RandomForestRegressor, VotingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.mixture import GaussianMixture
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import QuantileTransformer, SplineTransformer
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from convert.sklearn.cases import flowers, target
from ingot.convert import Request, converted

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS, CLASSES = flowers()
TWO = (CLASSES > 0).astype(np.int64)
NAMES = np.array(["a", "b", "c"])[CLASSES]
SEVERAL = np.stack([CLASSES > 0, CLASSES == 1], axis=1).astype(np.int64)


def _splines(kind: str) -> Any:
    return SplineTransformer(extrapolation=kind, degree=2, include_bias=False).fit(ROWS[:60])


VARIANTS: dict[str, Callable[[], Any]] = {
    "SVC, probabilities of two classes": lambda: SVC(probability=True, random_state=0).fit(ROWS, TWO),
    "SVC, probabilities of three classes": lambda: SVC(probability=True, random_state=0).fit(ROWS, NAMES),
    "SVC, pairs": lambda: SVC(kernel="poly", decision_function_shape="ovo").fit(ROWS, CLASSES),
    "neighbours by distance": lambda: KNeighborsClassifier(weights="distance").fit(ROWS, NAMES),
    "neighbours by p=3": lambda: KNeighborsRegressor(p=3, weights="distance").fit(ROWS, target()),
    "a tree of two targets": lambda: DecisionTreeClassifier(max_depth=4).fit(ROWS, np.stack([CLASSES, TWO], axis=1)),
    "a forest of two targets": lambda: RandomForestRegressor(5).fit(ROWS, np.stack([target(), -target()], axis=1)),
    "boosting from a model": lambda: GradientBoostingClassifier(init=GaussianNB(), n_estimators=5).fit(ROWS, NAMES),
    "exponential loss": lambda: GradientBoostingClassifier(loss="exponential", n_estimators=5).fit(ROWS, TWO),
    "isotonic calibration": lambda: CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=3).fit(ROWS, NAMES),
    "one against the rest, several labels": lambda: OneVsRestClassifier(LogisticRegression()).fit(ROWS, SEVERAL),
    "one against one, two classes": lambda: OneVsOneClassifier(LinearSVC()).fit(ROWS, TWO),
    "ridge, several labels": lambda: RidgeClassifier().fit(ROWS, SEVERAL),
    "modified Huber": lambda: SGDClassifier(loss="modified_huber", random_state=0).fit(ROWS, CLASSES),
    "tied mixture": lambda: GaussianMixture(3, covariance_type="tied", random_state=0).fit(ROWS),
    "normal quantiles": lambda: QuantileTransformer(n_quantiles=20, output_distribution="normal").fit(ROWS),
    "bags of features": lambda: BaggingClassifier(SVC(), 5, max_features=0.5, random_state=0).fit(ROWS, NAMES),
    "hard votes": lambda: VotingClassifier([("a", LinearSVC()), ("b", GaussianNB())]).fit(ROWS, NAMES),
    "process, two classes": lambda: GaussianProcessClassifier().fit(ROWS[:60], TWO[:60]),
    **{f"splines, {kind}": partial(_splines, kind) for kind in ("constant", "linear", "continue", "periodic")},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_gives_what_scikit_learn_gives(name: str) -> None:
    _, report = converted(VARIANTS[name](), ROWS, Request())
    assert report is not None
