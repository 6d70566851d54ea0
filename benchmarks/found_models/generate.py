"""Models that exporters write: estimators of scikit-learn by skl2onnx, boosters by onnxmltools, networks by torch.

    python -m benchmarks.found_models.generate [NAME...]

A model is written to `generated/EXPORTER/NAME.onnx` unless it is there; what an exporter refuses is reported on stderr.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.found_models import FOLDER
from benchmarks.found_models.estimators import ESTIMATORS
from benchmarks.found_models.networks import NETWORKS, exported
from benchmarks.found_models.package_networks import PACKAGE_NETWORKS, exported_from_package
from benchmarks.found_models.pipelines import PIPELINES, written

FEATURES = 10
_ROWS = 200


def generate(folder: Path, names: list[str]) -> None:
    """Write the models that are not there; all, or those named."""
    jobs: dict[str, Callable[[], bytes]] = {}
    for name, estimator in ESTIMATORS.items():
        jobs[f"skl2onnx/{name}"] = partial(by_skl2onnx, estimator)
        jobs[f"ingot-sklearn/{name}"] = partial(by_ingot, estimator)
    for name, pipeline in PIPELINES.items():
        jobs[f"skl2onnx/{name}"] = partial(written, pipeline)
    for name in BOOSTERS:
        jobs[f"onnxmltools/{name}"] = partial(by_onnxmltools, name)
    for name, network in NETWORKS.items():
        jobs[f"torch/{name}"] = partial(exported, network)
        jobs[f"torch-traced/{name}"] = partial(exported, network, dynamo=False)
    for name, packaged in PACKAGE_NETWORKS.items():
        jobs[f"packages/{name}"] = partial(exported_from_package, packaged)
        jobs[f"packages-traced/{name}"] = partial(exported_from_package, packaged, dynamo=False)
    for name, job in jobs.items():
        path = folder / f"{name}.onnx"
        if path.exists() or path.with_suffix(".refused").exists() or (names and not any(n in name for n in names)):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                path.write_bytes(job())
        except ImportError as error:  # what is installed later is written then
            print(f"{name}: {error}", file=sys.stderr, flush=True)
        except Exception as error:  # of the exporter's own
            path.with_suffix(".refused").write_text(str(error)[:500], "utf-8")
            print(f"{name}: {type(error).__name__} {' '.join(str(error).split())[:160]}", file=sys.stderr, flush=True)


def data() -> tuple[Any, Any, Any]:
    """Rows of features, two classes that depend on them, and numbers that do."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((_ROWS, FEATURES)).astype(np.float32)
    numbers = x[:, 0] * 2 + np.abs(x[:, 1]) + rng.standard_normal(_ROWS) / 10
    return x, (numbers > np.median(numbers)).astype(np.int64) + (numbers > np.quantile(numbers, 0.8)), numbers


def fitted(estimator: Any) -> Any:
    """An estimator that has seen the data; one of words sees names of the first feature's tenths."""
    x, classes, numbers = data()
    base: Any = import_module("sklearn.base")
    if getattr(estimator, "positive", False):
        x = np.abs(x)
    return estimator.fit(x, numbers if base.is_regressor(estimator) else classes)


def by_skl2onnx(estimator: Callable[[], Any]) -> bytes:
    """As skl2onnx writes it, probabilities without maps."""
    skl2onnx: Any = import_module("skl2onnx")
    base: Any = import_module("sklearn.base")
    model = fitted(estimator())
    options = {id(model): {"zipmap": False}} if base.is_classifier(model) else None
    x, _, _ = data()
    written = skl2onnx.to_onnx(model, x[:1], options=options, target_opset=18)
    return bytes(written.SerializeToString())


def by_ingot(estimator: Callable[[], Any]) -> bytes:
    """As ingot's converter writes it."""
    ingot: Any = import_module("ingot")
    x, _, _ = data()
    return bytes(ingot.to_onnx(ingot.convert(fitted(estimator()), x[:1])).SerializeToString())


def by_onnxmltools(name: str) -> bytes:
    """A booster as onnxmltools writes it."""
    tools: Any = import_module("onnxmltools")
    types: Any = import_module("onnxmltools.convert.common.data_types")
    inputs = [("x", types.FloatTensorType([None, FEATURES]))]
    x, classes, numbers = data()
    make, convert = BOOSTERS[name]
    model = make().fit(x, numbers if "regressor" in name else classes)
    options = {"zipmap": False} if convert == "convert_lightgbm" else {}
    if convert == "convert_catboost":
        return bytes(tools.convert_catboost(model, initial_types=inputs).SerializeToString())
    return bytes(getattr(tools, convert)(model, initial_types=inputs, **options).SerializeToString())


def _make(module: str, name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)(**options)


BOOSTERS: dict[str, tuple[Callable[[], Any], str]] = {
    "lightgbm_classifier": (_make("lightgbm", "LGBMClassifier", n_estimators=50, verbose=-1), "convert_lightgbm"),
    "lightgbm_regressor": (_make("lightgbm", "LGBMRegressor", n_estimators=100, verbose=-1), "convert_lightgbm"),
    "lightgbm_dart": (
        _make("lightgbm", "LGBMClassifier", boosting_type="dart", n_estimators=20, verbose=-1),
        "convert_lightgbm",
    ),
    "xgboost_classifier": (_make("xgboost", "XGBClassifier", n_estimators=50), "convert_xgboost"),
    "xgboost_regressor": (_make("xgboost", "XGBRegressor", n_estimators=100), "convert_xgboost"),
    "xgboost_poisson_regressor": (
        _make("xgboost", "XGBRegressor", objective="reg:gamma", base_score=0.5, n_estimators=10),
        "convert_xgboost",
    ),
    "xgboost_forest_classifier": (_make("xgboost", "XGBRFClassifier", n_estimators=30), "convert_xgboost"),
}


if __name__ == "__main__":
    generate(FOLDER / "generated", sys.argv[1:])
