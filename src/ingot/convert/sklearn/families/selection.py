"""Feature selection: some columns are kept, others left."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var
from ingot.convert.sklearn.conversion import Columns, Conversion, Rows
from ingot.convert.sklearn.families.composition import joined
from ingot.convert.sklearn.rule import METHODS, rule


@rule("transform", "SelectorMixin")
def selected(c: Conversion, estimator: Any, x: Rows) -> Var:
    chosen = c.select(x, np.flatnonzero(estimator.get_support()).tolist())
    return joined(c, list(chosen.values)) if isinstance(chosen, Columns) else chosen


def _on_selected(method: str) -> Any:
    def written(c: Conversion, estimator: Any, x: Rows) -> Var:
        return c.call(method, estimator.estimator_, selected(c, estimator, x))

    return written


eliminations = [rule(method, "RFE", "RFECV")(_on_selected(method)) for method in METHODS if method != "transform"]
