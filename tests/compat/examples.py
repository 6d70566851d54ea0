"""The example models of `datasets.get_example`: `python tests/compat/examples.py` writes their files."""

from __future__ import annotations

from pathlib import Path

import ingot
from ingot.compat.onnxruntime import datasets

MODELS = {
    "mul_1.onnx": """<ir_version: 4, opset_import: ["" : 13], producer_name: "ingot">
        "mul test" (float[3, 2] X) => (float[3, 2] Y) <float[3, 2] W = {1, 2, 3, 4, 5, 6}> {
            [mul_1] Y = Mul (X, W)
        }""",
    "sigmoid.onnx": """<ir_version: 4, opset_import: ["" : 13], producer_name: "ingot">
        test_sigmoid (float[3, 4, 5] x) => (float[3, 4, 5] y) {
            y = Sigmoid (x)
        }""",
    # A logistic regression of length and width of the sepals, one class against the others, by scikit-learn; the
    # coefficients have two decimals.
    "logreg_iris.onnx": """<ir_version: 4, opset_import: ["" : 13, "ai.onnx.ml" : 1], producer_name: "ingot">
        logreg_iris (float[3, 2] float_input) => (int64[3] label, seq(map(int64, float)) probabilities) {
            label, scores = ai.onnx.ml.LinearClassifier <
                classlabels_ints = [0, 1, 2],
                coefficients = [-3.39, 3.16, 0.13, -2.39, 2.22, -0.51],
                intercepts = [8.32, 5.69, -12.53],
                post_transform = "LOGISTIC"
            > (float_input)
            normalised = ai.onnx.ml.Normalizer <norm = "L1"> (scores)
            probabilities = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1, 2]> (normalised)
        }""",
}


if __name__ == "__main__":
    for name, text in MODELS.items():
        ingot.save(ingot.parse_model(text), Path(datasets.__file__).with_name(name))
