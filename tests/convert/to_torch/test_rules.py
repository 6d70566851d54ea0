"""Rules that no case of the standard's suite reaches, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import ingot
from convert.to_torch.cases import array, tensor

pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0], [3.0, 0.25, -1.5]], np.float32)
LINEAR = "coefficients: floats = [0.5, -1.0, 2.0"
MODELS: dict[str, str] = {
    "a linear regressor": f"y = ai.onnx.ml.LinearRegressor<{LINEAR}], intercepts: floats = [0.25]>(x)",
    "a logistic regressor": f'y = ai.onnx.ml.LinearRegressor<{LINEAR}], post_transform: string = "LOGISTIC">(x)',
    "two classes": (
        f"l, y = ai.onnx.ml.LinearClassifier<{LINEAR}], intercepts: floats = [0.1], classlabels_ints: ints = [3, 7], "
        'post_transform: string = "LOGISTIC">(x)'
    ),
    "three classes": (
        f"l, y = ai.onnx.ml.LinearClassifier<{LINEAR}, 1.0, 1.0, 0.0, -1.0, 0.0, 1.0], "
        "intercepts: floats = [0.1, 0.2, 0.3], "
        'classlabels_ints: ints = [3, 7, 9], post_transform: string = "SOFTMAX">(x)'
    ),
    "a scaler": "y = ai.onnx.ml.Scaler<offset: floats = [1.0, 2.0, 3.0], scale: floats = [2.0]>(x)",
    "rows over their greatest": 'y = ai.onnx.ml.Normalizer<norm: string = "MAX">(x)',
    "rows over their sum": 'y = ai.onnx.ml.Normalizer<norm: string = "L1">(x)',
    "rows over their length": 'y = ai.onnx.ml.Normalizer<norm: string = "L2">(x)',
    "missing values": "y = ai.onnx.ml.Imputer<imputed_value_floats: floats = [7.0, 8.0, 9.0]>(x)",
    "joined features": "y = ai.onnx.ml.FeatureVectorizer<inputdimensions: ints = [2, 4]>(x, x)",
    "hot categories": "y = ai.onnx.ml.OneHotEncoder<cats_int64s: ints = [0, 3, 1]>(x)",
    "labels": (
        "i = Cast<to: int = 7>(x)\n"
        "y = ai.onnx.ml.LabelEncoder<keys_int64s: ints = [0, 1, 1], values_floats: floats = [0.5, 2.0, 4.0]>(i)"
    ),
    "a machine of support vectors": (
        'y = ai.onnx.ml.SVMRegressor<kernel_type: string = "RBF", kernel_params: floats = [0.5, 0.0, 3.0], '
        "n_supports: int = 2, support_vectors: floats = [1.0, 2.0, 3.0, 0.0, 1.0, -1.0], "
        "coefficients: floats = [0.5, -2.0], rho: floats = [0.25]>(x)"
    ),
    "trees whose leaves vote more than once": (
        "l, y = ai.onnx.ml.TreeEnsembleClassifier<nodes_treeids: ints = [0, 0, 0], nodes_nodeids: ints = [0, 1, 2], "
        "nodes_featureids: ints = [0, 0, 0], nodes_values: floats = [0.5, 0.0, 0.0], "
        'nodes_modes: strings = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids: ints = [1, 0, 0], '
        "nodes_falsenodeids: ints = [2, 0, 0], class_treeids: ints = [0, 0, 0], class_nodeids: ints = [1, 1, 2], "
        "class_ids: ints = [0, 1, 2], class_weights: floats = [0.25, 0.75, 1.0], "
        "classlabels_int64s: ints = [4, 5, 6]>(x)"
    ),
    "the power of all that is spatial": "a = Unsqueeze(x, n)\n y = GlobalLpPool<p: int = 3>(a)",
    "a sequence with one less": (
        "s = SequenceConstruct(x, x, x)\n e = SequenceErase(s)\n y = ConcatFromSequence<axis: int = 1>(e)"
    ),
}


FUSED: dict[str, str] = {
    "gelu": "y = com.microsoft.Gelu(x)",
    "gelu of a sum": "y = com.microsoft.BiasGelu(x, b)",
    "fast gelu of a sum": "y = com.microsoft.FastGelu(x, b)",
    "quick gelu": "y = com.microsoft.QuickGelu(x)",
    "a product": "y = com.microsoft.FusedMatMul<alpha: float = 0.5, transB: int = 1>(x, x)",
    "an activated product": (
        'y = com.microsoft.FusedGemm<transB: int = 1, activation: string = "LeakyRelu", '
        "activation_alpha: float = 0.25>(x, x, b)"
    ),
    "an activated convolution": (
        'i = Unsqueeze(x, n)\n c = com.microsoft.FusedConv<activation: string = "Clip", '
        "activation_params: floats = [-0.5, 2.0]>(i, w, b)\n y = Squeeze(c, n)"
    ),
    "a normalised sum": "y = com.microsoft.SkipLayerNormalization(x, x, b, b, b)",
    "a sum by its root": "y, _, _, s = com.microsoft.SkipSimplifiedLayerNormalization(x, x, b)",
}


@pytest.mark.parametrize("name", FUSED)
def test_what_onnxruntime_fuses_gives_what_the_reference_gives(name: str) -> None:
    weights = "float[3] b = {0.5, -1, 2}, float[3, 3, 1] w = {1, 0, 2, 0, 1, 0, -1, 0, 1}, int64[1] n = {2}"
    head = '<ir_version: 10, opset_import: ["": 22, "com.microsoft": 1]>\ng (float[3, 3] x) => (float[3, 3] y) '
    text = FUSED[name].replace("y, _, _, s", 'y, "", "", s')
    check(f"{head} <{weights}> {{ {text} }}", ROWS)


@pytest.mark.parametrize("name", MODELS)
def test_a_rule_gives_what_the_reference_gives(name: str) -> None:
    head = '<ir_version: 10, opset_import: ["": 22, "ai.onnx.ml": 3]>\ng (float[3, 3] x) => ('
    outputs = "int64[3] l, float[a, b] y" if "l, y" in MODELS[name] else "y"
    check(f"{head}{outputs}) <int64[1] n = {{2}}> {{ {MODELS[name]} }}", ROWS)


def test_regions_are_pooled() -> None:
    rng = np.random.default_rng(0)
    regions = np.array([[0, 0, 0, 3, 5], [1, 1, 2, 9, 9], [1, 4, 4, 4, 4]], np.float32)
    check(
        '<ir_version: 10, opset_import: ["": 22]>\ng (float[2, 3, 8, 8] x, float[3, 5] r) => (float[3, 3, 2, 3] y) '
        "{ y = MaxRoiPool<pooled_shape: ints = [2, 3], spatial_scale: float = 0.75>(x, r) }",
        rng.normal(size=(2, 3, 8, 8)).astype(np.float32),
        regions,
    )


def test_numbers_are_drawn_in_their_shape_and_type() -> None:
    text = """<ir_version: 10, opset_import: ["": 22]>
        g (float[2, 5] x) => (double[3, 4] a, float[2, 3] b, int64[2, 6] c, float[2, 5] d) {
            a = RandomNormal<shape: ints = [3, 4], dtype: int = 11, mean: float = 5.0>()
            b = RandomUniform<shape: ints = [2, 3], low: float = 2.0, high: float = 3.0, seed: float = 1.0>()
            c = Multinomial<sample_size: int = 6, dtype: int = 7>(x)
            d = RandomNormalLike(x)
        }"""
    a, b, c, d = ingot.to_torch(ingot.parse_model(text))(torch.zeros(2, 5))
    assert (a.dtype, a.shape, b.shape, c.dtype, c.shape, d.shape) == (
        *(torch.float64, (3, 4), (2, 3), torch.int64),
        *((2, 6), (2, 5)),
    )
    assert bool(((b >= 2) & (b < 3)).all())


def check(text: str, *inputs: Any) -> None:
    model = ingot.parse_model(text)
    feeds = {value.name: given for value, given in zip(model.inputs, inputs, strict=True)}
    expected = ingot.Session(model, providers=("reference",)).run(None, feeds)
    with torch.no_grad():
        found = ingot.to_torch(model)(*map(tensor, inputs))
    for got, wanted in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        assert array(got).dtype == wanted.dtype
        np.testing.assert_allclose(array(got), wanted, rtol=1e-5, atol=1e-6)
