"""What transforms rows step by step, stopping where scikit-learn stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.decomposition import NMF, LatentDirichletAllocation, MiniBatchNMF
from sklearn.manifold import LocallyLinearEmbedding

import ingot
from ingot.convert import Request, converted
from ingot.errors import ConvertError

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = np.abs(np.random.default_rng(0).normal(size=(80, 5)))
COUNTS = np.random.default_rng(1).integers(0, 6, size=(60, 7)).astype(np.float64)


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (NMF(3, max_iter=400), ROWS),
        (NMF(2, max_iter=3, alpha_W=0.01, l1_ratio=0.5), ROWS),
        (MiniBatchNMF(3, alpha_W=0.01), ROWS),
        (LatentDirichletAllocation(3, random_state=0, max_iter=3), COUNTS),
        (LatentDirichletAllocation(3, random_state=0, max_iter=3, max_doc_update_iter=2), COUNTS),
        (LocallyLinearEmbedding(n_neighbors=6), ROWS),
    ],
    ids=lambda item: type(item).__name__,
)
def test_steps_end_where_those_of_scikit_learn_do(model: Any, rows: Any) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    made, report = converted(model.fit(rows), rows, Request())
    assert report is not None
    assert report.outputs[0].absolute < 1e-12
    [found] = onnxruntime.InferenceSession(ingot.encode(made)).run(None, {"X": rows})
    np.testing.assert_allclose(found, model.transform(rows), rtol=1e-9, atol=1e-12)


def test_what_draws_an_order_or_minimises_something_else_is_refused() -> None:
    with pytest.raises(ConvertError, match="shuffle draws the order of components"):
        ingot.convert(NMF(2, shuffle=True, max_iter=400).fit(ROWS), ROWS)
    with pytest.raises(ConvertError, match="beta_loss 'kullback-leibler' has no rule"):
        ingot.convert(MiniBatchNMF(2, beta_loss="kullback-leibler").fit(ROWS), ROWS)
