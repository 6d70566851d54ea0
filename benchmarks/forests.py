"""Forests of scikit-learn, XGBoost and LightGBM, converted: how long a call takes beside onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import ingot
from benchmarks.timing import duel, machine

ROWS = (1, 100, 10_000)
FEATURES, TRAINED_ON = 20, 5_000
OPSETS = {"": 21, "ai.onnx.ml": 3}
"""The last in which trees are said as all engines read them."""


def table() -> str:
    lines = [
        "# Forests, converted",
        "",
        f"{machine()}. Models fitted to {TRAINED_ON:,} random rows of {FEATURES} features, converted by",
        "`ingot.convert`, run by both engines with one thread, in turns; medians. Written by",
        "`python -m benchmarks forests`.",
        "",
        "| model | rows | ingot | onnxruntime | times as fast |",
        "|---|---:|---:|---:|---:|",
        *_lines(),
        "",
    ]
    return "\n".join(lines)


def _lines() -> Iterator[str]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    random = np.random.default_rng(0)
    x = random.normal(size=(max(ROWS), FEATURES)).astype(np.float32)
    for name, model in _fitted(x[:TRAINED_ON]):
        try:
            converted = ingot.convert(model, x[:16], opset_version=OPSETS, verify=False)
        except ingot.IngotError:  # thresholds that only doubles can say
            converted = ingot.convert(model, x[:16], verify=False)
        data = ingot.encode(converted)
        ours = ingot.Session(data, providers=("cpu", "reference"), threads=1)
        theirs = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        (given,) = ours.inputs
        for rows in ROWS:
            feeds = {given: x[:rows]}
            found = duel(partial(ours.run, None, feeds), partial(theirs.run, None, feeds), 21)
            times = f"{1e6 * found.ours:,.0f} µs | {1e6 * found.theirs:,.0f} µs"
            yield f"| {name} | {rows:,} | {times} | {1 / found.ratio:.2f} |"


def _fitted(x: Any) -> Iterator[tuple[str, Any]]:
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
    from xgboost import XGBClassifier, XGBRegressor

    target = x[:, 0] * x[:, 1] + x[:, 2]
    classes = np.digitize(target, [-1, 0, 1])
    yield "GradientBoostingRegressor, 100 trees of depth 3", GradientBoostingRegressor(random_state=0).fit(x, target)
    yield "RandomForestRegressor, 100 trees", RandomForestRegressor(random_state=0).fit(x, target)
    yield "RandomForestClassifier, 100 trees, 4 classes", RandomForestClassifier(random_state=0).fit(x, classes)
    yield "XGBRegressor, 500 trees of depth 6", XGBRegressor(n_estimators=500).fit(x, target)
    yield "XGBClassifier, 4 × 100 trees of depth 6", XGBClassifier().fit(x, classes)
    yield "LGBMClassifier, 4 × 100 trees of 31 leaves", LGBMClassifier(verbose=-1).fit(x, classes)
